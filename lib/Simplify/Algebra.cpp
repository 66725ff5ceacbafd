//===- Algebra.cpp - Arithmetic that is known beforehand ------------------===//
//
//   x*2 + 3 - 1   becomes   x*2 + 2
//
// Integers wrap, so every identity of a ring holds. Floats are rewritten where the
// result is the same for every x, NaN and the sign of zero included:
//
//   x * 1, x / 1, x - 0, x + -0     x               x + 0 is not: -0 + 0 is 0
//   x * -1                          -x
//   -(-x), x - (-y), x + (-y)       x, x + y, x - y
//   x / c                           x * (1/c)       c a power of two, 1/c normal
//   max(max(x, a), b)               max(x, max(a, b)), and the same for min
//   pow(x, 1), pow(x, 0)            x, 1
//
// and, on purpose, where one rounding falls away and the value can only get closer
// to the exact one:
//
//   (x + a) + b                     x + (a + b)     a + b exact, and a and b do not
//                                                   cancel: (x + 2^23) - 2^23 rounds x
//                                                   and stays
//   (x * a) * b                     x * (a * b)     a * b exact, |a| and |b| both at
//                                                   least 1 or both at most 1, so that
//                                                   no overflow comes or goes
//   pow(x, 2), pow(x, 3), pow(x, -1)  x * x, x * x * x, 1 / x: as PyTorch computes them
//
//===----------------------------------------------------------------------===//
#include "Simplify/Cancellation.h"
#include "Simplify/Patterns.h"
#include "Simplify/Splat.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_ALGEBRAPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

template <typename Op> Value make(PatternRewriter &b, Operation *at, Value x, Value y) {
  return Op::create(b, at->getLoc(), x.getType(), x, y);
}

Attribute numberAttr(Value like, const APFloat &v) { return FloatAttr::get(elementOf(like), v); }
Attribute numberAttr(Value like, const APInt &v) { return IntegerAttr::get(elementOf(like), v); }

/// A commutative operator's constant comes second.
template <typename Op> struct ConstantSecond : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!splatOf(op.getLhs()) || splatOf(op.getRhs()))
      return b.notifyMatchFailure(op, "no constant on the left alone");
    b.replaceOpWithNewOp<Op>(op, op.getType(), op.getRhs(), op.getLhs());
    return success();
  }
};

bool isNegativeZero(Value v) {
  auto f = floatSplat(v);
  return f && f->isZero() && f->isNegative();
}

struct NeutralOperand : RewritePattern {
  NeutralOperand(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  static bool isNeutral(Operation *op, Value y) {
    if (isa<prim::AddOp>(op))
      return isFloat(y) ? isNegativeZero(y) : isInteger(y) && isSplat(y, 0);
    if (isa<prim::SubOp>(op))
      return (isFloat(y) || isInteger(y)) && isSplat(y, 0);
    if (isa<prim::MulOp, prim::DivOp>(op))
      return (isFloat(y) || isInteger(y)) && isSplat(y, 1);
    if (isa<prim::PowOp>(op))
      return isSplat(y, 1);
    if (isa<prim::OrOp, prim::XorOp, prim::ShiftLeftOp, prim::ShiftRightOp>(op))
      return isSplat(y, 0);
    if (isa<prim::AndOp>(op))
      return elementOf(y).isInteger(1) ? isSplat(y, 1) : isSplat(y, -1);
    return false;
  }
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (op->getNumOperands() != 2 || !prim::isElementwise(op) || !isNeutral(op, op->getOperand(1)))
      return b.notifyMatchFailure(op, "no neutral operand");
    if (op->getOperand(0).getType() != op->getResult(0).getType())
      return b.notifyMatchFailure(op, "the operand's type says less");
    b.replaceOp(op, op->getOperand(0));
    return success();
  }
};

/// x - x, x * 0, x & 0 of integers; pow(x, 0) of anything is 1.
struct KnownResult : RewritePattern {
  KnownResult(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (op->getNumOperands() != 2 || !prim::isElementwise(op) || op->getNumResults() != 1)
      return failure();
    Value x = op->getOperand(0), y = op->getOperand(1);
    std::optional<int64_t> known;
    if (isInteger(x) && isa<prim::MulOp, prim::AndOp>(op) && isSplat(y, 0))
      known = 0;
    if (isInteger(x) && isa<prim::SubOp, prim::XorOp>(op) && x == y)
      known = 0;
    if (isa<prim::PowOp>(op) && isSplat(y, 0))
      known = 1;
    if (!known)
      return b.notifyMatchFailure(op, "depends on its operands");
    Type e = elementOf(op->getResult(0));
    Attribute number = isa<FloatType>(e) ? Attribute(b.getFloatAttr(e, static_cast<double>(*known)))
                                         : Attribute(IntegerAttr::get(e, *known));
    Value v = splatLike(b, op->getLoc(), y, number);
    if (!v || v.getType() != op->getResult(0).getType())
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, v);
    return success();
  }
};

/// (x + a) + b and the like, with subtraction as addition of -a.
struct MergeAddends : RewritePattern {
  MergeAddends(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  static bool mayMerge(const APFloat &a, const APFloat &b, APFloat &sum) {
    sum = a;
    return a.isFinite() && b.isFinite() &&
           sum.add(b, APFloat::rmNearestTiesToEven) == APFloat::opOK &&
           !cancel(a.convertToDouble(), b.convertToDouble());
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    Operation *inner = op->getNumOperands() == 2 ? op->getOperand(0).getDefiningOp() : nullptr;
    if (!isa<prim::AddOp, prim::SubOp>(op) || !isa_and_nonnull<prim::AddOp, prim::SubOp>(inner))
      return failure();
    Value x = inner->getOperand(0), a = inner->getOperand(1), c = op->getOperand(1);
    Attribute number;
    if (auto fa = floatSplat(a), fc = floatSplat(c); fa && fc) {
      if (isa<prim::SubOp>(inner))
        fa->changeSign();
      if (isa<prim::SubOp>(op))
        fc->changeSign();
      APFloat sum = *fa;
      if (!mayMerge(*fa, *fc, sum))
        return b.notifyMatchFailure(op, "the constants cancel, or their sum is rounded");
      number = numberAttr(a, sum);
    } else if (auto ia = intSplat(a), ic = intSplat(c); ia && ic && isInteger(a)) {
      APInt sum = isa<prim::SubOp>(inner) ? -*ia : *ia;
      sum = isa<prim::SubOp>(op) ? sum - *ic : sum + *ic;
      number = numberAttr(a, sum);
    } else {
      return b.notifyMatchFailure(op, "not two constants");
    }
    Value sum = splatLike(b, op->getLoc(), c, number);
    if (!sum || x.getType() != op->getResult(0).getType())
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, make<prim::AddOp>(b, op, x, sum));
    return success();
  }
};

/// The same for integers that a constant has for each channel: zero points and biases of integer
/// products.
struct MergeVectors : RewritePattern {
  MergeVectors(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    Operation *inner = op->getNumOperands() == 2 ? op->getOperand(0).getDefiningOp() : nullptr;
    if (!isa<prim::AddOp, prim::SubOp>(op) || !isa_and_nonnull<prim::AddOp, prim::SubOp>(inner) ||
        !inner->hasOneUse())
      return failure();
    auto a = inner->getOperand(1).getDefiningOp<prim::BroadcastOp>(),
         c = op->getOperand(1).getDefiningOp<prim::BroadcastOp>();
    auto isConstant = [](Value v) { return prim::has<prim::ModelConstant>(v.getDefiningOp()); };
    if (!a || !c || !isInteger(a.getX()) || a.getX().getType() != c.getX().getType() ||
        a.getAxes() != c.getAxes() || !isConstant(a.getX()) || !isConstant(c.getX()))
      return b.notifyMatchFailure(op, "not two vectors of integers");
    auto merged = [&](Value x, Value y, bool subtracts) -> Value {
      return subtracts ? make<prim::SubOp>(b, op, x, y) : make<prim::AddOp>(b, op, x, y);
    };
    // x + a + c = x + (c + a), x - a + c = x + (c - a), and the same with c taken off.
    bool takesA = isa<prim::SubOp>(inner), takesC = isa<prim::SubOp>(op);
    Value sum = merged(c.getX(), a.getX(), takesA != takesC);
    Value all =
        prim::BroadcastOp::create(b, op->getLoc(), c.getType(), sum, c.getAxes(), c.getSizes());
    b.replaceOp(op, merged(inner->getOperand(0), all, takesC));
    return success();
  }
};

struct MergeFactors : OpRewritePattern<prim::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  static bool mayMerge(const APFloat &a, const APFloat &b, APFloat &product) {
    product = a;
    if (!a.isFinite() || !b.isFinite() || a.isZero() || b.isZero() ||
        product.multiply(b, APFloat::rmNearestTiesToEven) != APFloat::opOK)
      return false;
    auto exponent = [](const APFloat &v) { return ilogb(v); };
    auto atMostOne = [&](const APFloat &v) {
      APFloat magnitude = v;
      magnitude.clearSign();
      return magnitude.compare(APFloat::getOne(v.getSemantics())) != APFloat::cmpGreaterThan;
    };
    bool grow = exponent(a) >= 0 && exponent(b) >= 0, shrink = atMostOne(a) && atMostOne(b);
    return (grow || shrink) && !product.isDenormal();
  }
  LogicalResult matchAndRewrite(prim::MulOp op, PatternRewriter &b) const override {
    auto inner = op.getLhs().getDefiningOp<prim::MulOp>();
    if (!inner || inner.getLhs().getType() != op.getType())
      return failure();
    Value a = inner.getRhs(), c = op.getRhs();
    Attribute number;
    if (auto fa = floatSplat(a), fc = floatSplat(c); fa && fc) {
      APFloat product = *fa;
      if (!mayMerge(*fa, *fc, product))
        return b.notifyMatchFailure(op, "the product of the constants is rounded or overflows");
      number = numberAttr(a, product);
    } else if (auto ia = intSplat(a), ic = intSplat(c); ia && ic && isInteger(a)) {
      number = numberAttr(a, *ia * *ic);
    } else {
      return b.notifyMatchFailure(op, "not two constants");
    }
    Value product = splatLike(b, op.getLoc(), c, number);
    if (!product)
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, make<prim::MulOp>(b, op, inner.getLhs(), product));
    return success();
  }
};

struct Signs : RewritePattern {
  Signs(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    auto negated = [](Value v) -> Value {
      auto neg = v.getDefiningOp<prim::NegOp>();
      return neg ? neg.getX() : Value();
    };
    if (isa<prim::NegOp>(op))
      if (Value x = negated(op->getOperand(0)); x && x.getType() == op->getResult(0).getType()) {
        b.replaceOp(op, x);
        return success();
      }
    if (isa<prim::AbsOp>(op)) {
      Operation *inner = op->getOperand(0).getDefiningOp();
      if (isa_and_nonnull<prim::AbsOp>(inner) && isFloat(op->getOperand(0))) {
        b.replaceOp(op, op->getOperand(0));
        return success();
      }
      // -x of an unsigned x is another number.
      auto integer = dyn_cast<IntegerType>(elementOf(op->getResult(0)));
      Value x = integer && integer.isUnsigned() ? Value() : negated(op->getOperand(0));
      if (x) {
        b.replaceOpWithNewOp<prim::AbsOp>(op, op->getResult(0).getType(), x);
        return success();
      }
    }
    if (isa<prim::AddOp, prim::SubOp>(op) && !elementOf(op->getResult(0)).isInteger(1))
      if (Value y = negated(op->getOperand(1))) {
        Value x = op->getOperand(0);
        b.replaceOp(op, isa<prim::AddOp>(op) ? make<prim::SubOp>(b, op, x, y)
                                             : make<prim::AddOp>(b, op, x, y));
        return success();
      }
    if (isa<prim::MulOp>(op) && (isFloat(op->getResult(0)) || isInteger(op->getResult(0))) &&
        isSplat(op->getOperand(1), -1)) {
      b.replaceOpWithNewOp<prim::NegOp>(op, op->getResult(0).getType(), op->getOperand(0));
      return success();
    }
    return b.notifyMatchFailure(op, "no sign to move");
  }
};

struct DivideByPowerOfTwo : OpRewritePattern<prim::DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::DivOp op, PatternRewriter &b) const override {
    auto c = floatSplat(op.getRhs());
    APFloat inverse(0.0f);
    if (!c || !c->getExactInverse(&inverse))
      return b.notifyMatchFailure(op, "the inverse is rounded");
    Value factor = splatLike(b, op.getLoc(), op.getRhs(), numberAttr(op.getRhs(), inverse));
    if (!factor)
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, make<prim::MulOp>(b, op, op.getLhs(), factor));
    return success();
  }
};

template <typename Op> struct MergeExtrema : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    auto inner = op.getLhs().template getDefiningOp<Op>();
    if (!inner || inner.getLhs().getType() != op.getType())
      return failure();
    auto x = floatSplat(inner.getRhs()), y = floatSplat(op.getRhs());
    if (!x || !y || x->isNaN() || y->isNaN() || (x->isZero() && y->isZero()))
      return b.notifyMatchFailure(op, "not two numbers");
    bool larger = std::is_same_v<Op, prim::MaximumOp>;
    bool first = (x->compare(*y) == APFloat::cmpGreaterThan) == larger;
    b.replaceOp(op, make<Op>(b, op, inner.getLhs(), first ? inner.getRhs() : op.getRhs()));
    return success();
  }
};

struct SmallPowers : OpRewritePattern<prim::PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(prim::PowOp op, PatternRewriter &b) const override {
    Value x = op.getLhs();
    if (x.getType() != op.getType() || !(isFloat(x) || isInteger(x)))
      return b.notifyMatchFailure(op, "not of real numbers");
    // In narrow floats a second product would round a second time.
    bool wide = isInteger(x) || elementOf(x).getIntOrFloatBitWidth() >= 32;
    for (int64_t n : {2, 3})
      if (isSplat(op.getRhs(), n) && (n == 2 || wide)) {
        Value product = make<prim::MulOp>(b, op, x, x);
        b.replaceOp(op, n == 2 ? product : make<prim::MulOp>(b, op, product, x));
        return success();
      }
    if (!isFloat(x) || !isSplat(op.getRhs(), -1))
      return b.notifyMatchFailure(op, "the exponent is not 2, 3 or -1");
    Value one = splatLike(b, op.getLoc(), op.getRhs(), b.getFloatAttr(elementOf(x), 1));
    if (!one)
      return b.notifyMatchFailure(op, "no constant of this shape");
    b.replaceOp(op, make<prim::DivOp>(b, op, one, x));
    return success();
  }
};

class AlgebraPass : public tcc::impl::AlgebraPassBase<AlgebraPass> {
public:
  void runOnOperation() override {
    if (failed(rewriteAll(getOperation(), populateAlgebraPatterns)))
      signalPassFailure();
  }
};

} // namespace

void tcc::simplify::populateAlgebraPatterns(RewritePatternSet &patterns) {
  patterns.add<ConstantSecond<prim::AddOp>, ConstantSecond<prim::MulOp>,
               ConstantSecond<prim::MaximumOp>, ConstantSecond<prim::MinimumOp>,
               ConstantSecond<prim::AndOp>, ConstantSecond<prim::OrOp>, NeutralOperand, KnownResult,
               MergeAddends, MergeVectors, MergeFactors, Signs, DivideByPowerOfTwo,
               MergeExtrema<prim::MaximumOp>, MergeExtrema<prim::MinimumOp>, SmallPowers>(
      patterns.getContext());
}

std::unique_ptr<Pass> tcc::createAlgebraPass() { return std::make_unique<AlgebraPass>(); }
