//===- Selects.cpp - Choices that are made already ------------------------===//
//
//   select(true, x, y), select(c, x, x)       x
//   select(!c, x, y)                          select(c, y, x)
//   select(c, true, false)                    c
//   !(!c), !(x == y)                          c, x != y
//   x == x, x < x of integers                 true, false
//
// Of floats x == x is whether x is a number, and !(x < y) is not x >= y; both stay.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_SELECTSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

struct KnownChoice : OpRewritePattern<prim::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::SelectOp op, PatternRewriter &b) const override {
    Value chosen;
    if (op.getOnTrue() == op.getOnFalse() || isSplat(op.getCondition(), 1))
      chosen = op.getOnTrue();
    else if (isSplat(op.getCondition(), 0))
      chosen = op.getOnFalse();
    if (!chosen || chosen.getType() != op.getType())
      return b.notifyMatchFailure(op, "depends on the condition");
    b.replaceOp(op, chosen);
    return success();
  }
};

struct ChoiceOfBools : OpRewritePattern<prim::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::SelectOp op, PatternRewriter &b) const override {
    if (!elementOf(op).isInteger(1) || op.getCondition().getType() != op.getType())
      return failure();
    if (isSplat(op.getOnTrue(), 1) && isSplat(op.getOnFalse(), 0)) {
      b.replaceOp(op, op.getCondition());
      return success();
    }
    if (!isSplat(op.getOnTrue(), 0) || !isSplat(op.getOnFalse(), 1))
      return b.notifyMatchFailure(op, "not a choice of true and false");
    b.replaceOpWithNewOp<prim::NotOp>(op, op.getType(), op.getCondition());
    return success();
  }
};

struct ChoiceByNot : OpRewritePattern<prim::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::SelectOp op, PatternRewriter &b) const override {
    auto inverse = op.getCondition().getDefiningOp<prim::NotOp>();
    if (!inverse)
      return failure();
    b.replaceOpWithNewOp<prim::SelectOp>(op, op.getType(), inverse.getX(), op.getOnFalse(),
                                         op.getOnTrue());
    return success();
  }
};

static std::optional<prim::ComparePredicate> inverseOf(prim::ComparePredicate p, bool ordered) {
  using P = prim::ComparePredicate;
  switch (p) {
  case P::eq:
    return P::ne;
  case P::ne:
    return P::eq;
  case P::lt:
    return ordered ? std::optional(P::ge) : std::nullopt;
  case P::le:
    return ordered ? std::optional(P::gt) : std::nullopt;
  case P::gt:
    return ordered ? std::optional(P::le) : std::nullopt;
  case P::ge:
    return ordered ? std::optional(P::lt) : std::nullopt;
  }
  llvm_unreachable("all predicates are handled above");
}

struct NotOfCondition : OpRewritePattern<prim::NotOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::NotOp op, PatternRewriter &b) const override {
    if (auto inner = op.getX().getDefiningOp<prim::NotOp>();
        inner && inner.getX().getType() == op.getType()) {
      b.replaceOp(op, inner.getX());
      return success();
    }
    auto compare = op.getX().getDefiningOp<prim::CompareOp>();
    if (!compare)
      return failure();
    auto inverse = inverseOf(compare.getPredicate(), isa<IntegerType>(elementOf(compare.getLhs())));
    if (!inverse)
      return b.notifyMatchFailure(op, "NaN makes both comparisons false");
    b.replaceOpWithNewOp<prim::CompareOp>(op, op.getType(), *inverse, compare.getLhs(),
                                          compare.getRhs());
    return success();
  }
};

struct CompareWithItself : OpRewritePattern<prim::CompareOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::CompareOp op, PatternRewriter &b) const override {
    using P = prim::ComparePredicate;
    if (op.getLhs() != op.getRhs() || !isa<IntegerType>(elementOf(op.getLhs())))
      return b.notifyMatchFailure(op, "not an integer and itself");
    P p = op.getPredicate();
    bool holds = p == P::eq || p == P::le || p == P::ge;
    if (!op.getType().hasStaticShape())
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, splatLike(b, op.getLoc(), op.getResult(), b.getBoolAttr(holds)));
    return success();
  }
};

class SelectsPass : public tcc::impl::SelectsPassBase<SelectsPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateSelectPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateSelectPatterns(RewritePatternSet &patterns) {
  patterns.add<KnownChoice, ChoiceOfBools, ChoiceByNot, NotOfCondition, CompareWithItself>(
      patterns.getContext());
}

std::unique_ptr<Pass> tcc::createSelectsPass() { return std::make_unique<SelectsPass>(); }
