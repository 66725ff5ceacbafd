//===- CastChains.cpp - One cast where several were -----------------------===//
//
// Exporters cast to compute in f32 and cast back, and cast again.
//
//   cast(x : T to T)                        x
//   cast(cast(x : A to B) : B to C)         cast(x : A to C)   B holds every value of A
//   cast(cast(x : i64 to i32) : i32 to i8)  cast(x : i64 to i8), since integers wrap
//
// A chain through a type that rounds (f32 to f16 to f32) changes values and stays, and so does
// one from integers through floats to integers that do not hold them all.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_CASTCHAINSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

/// Bits of a number's magnitude that the type holds exactly.
static unsigned magnitudeBits(IntegerType type) {
  return type.getWidth() - (prim::isUnsigned(type) ? 0 : 1);
}

/// Whether every value of `from` is one of `to`.
static bool holdsAll(Type from, Type to) {
  auto fi = dyn_cast<IntegerType>(from), ti = dyn_cast<IntegerType>(to);
  auto ff = dyn_cast<FloatType>(from), tf = dyn_cast<FloatType>(to);
  if (from == to)
    return true;
  if (fi && ti) {
    bool signFits = prim::isUnsigned(fi) || !prim::isUnsigned(ti);
    return ti.getWidth() > 1 && signFits && magnitudeBits(ti) >= magnitudeBits(fi);
  }
  if (fi && tf)
    return (tf.isF16() || tf.isBF16() || tf.isF32() || tf.isF64()) &&
           APFloat::semanticsPrecision(tf.getFloatSemantics()) >= magnitudeBits(fi) &&
           (fi.getWidth() <= 8 || !tf.isF16());
  if (ff && tf) {
    bool small = ff.isF16() || ff.isBF16() || ff.getWidth() <= 8;
    return (tf.isF64() && (small || ff.isF32())) || (tf.isF32() && small);
  }
  return false;
}

namespace {

struct SameType : OpRewritePattern<prim::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::CastOp op, PatternRewriter &b) const override {
    if (op.getX().getType() != op.getType())
      return b.notifyMatchFailure(op, "the types differ");
    b.replaceOp(op, op.getX());
    return success();
  }
};

struct CastOfCast : OpRewritePattern<prim::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::CastOp op, PatternRewriter &b) const override {
    auto inner = op.getX().getDefiningOp<prim::CastOp>();
    if (!inner)
      return failure();
    Type from = elementOf(inner.getX()), by = elementOf(op.getX()), to = elementOf(op);
    auto plain = [](Type t) { return isa<IntegerType>(t) && !t.isInteger(1); };
    bool wraps = plain(from) && plain(by) && plain(to) &&
                 to.getIntOrFloatBitWidth() <= by.getIntOrFloatBitWidth();
    if (!holdsAll(from, by) && !wraps)
      return b.notifyMatchFailure(op, "the type between changes values");
    // A float out of range becomes the nearest integer, an integer wraps.
    if (plain(from) && isa<FloatType>(by) && plain(to) && !holdsAll(from, to))
      return b.notifyMatchFailure(op, "the last type does not hold all values of the first");
    if (from == to && isa<Float8E5M2Type>(to) && op.getSaturate())
      return b.notifyMatchFailure(op, "infinities are clamped on the way back");
    b.replaceOpWithNewOp<prim::CastOp>(op, op.getType(), inner.getX(), op.getSaturate());
    return success();
  }
};

class CastChainsPass : public tcc::impl::CastChainsPassBase<CastChainsPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateCastPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateCastPatterns(RewritePatternSet &patterns) {
  patterns.add<SameType, CastOfCast>(patterns.getContext());
}

std::unique_ptr<Pass> tcc::createCastChainsPass() { return std::make_unique<CastChainsPass>(); }
