//===- ForwardMode.cpp - Derivatives along with values ----------------------===//
//
// Differentiation in forward mode: each primitive has the tangents of its results from those of
// its operands. What moves elements or adds them up is linear, and its tangent is the same
// primitive of the tangents; a product of two operands has a term for each; a function of one
// element has its derivative as a factor, by the value that is there already where one exists. At
// a kink the derivative is that of PyTorch: of equals, both sides of a maximum have half, and what
// does not change has nothing, as relu at 0; of the largest elements of a row, each has its part.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/ForwardMode.h"
#include "Decompose/Idioms/WindowMaxima.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numbers>

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

static bool isReal(Type t) {
  auto tensor = dyn_cast<RankedTensorType>(t);
  return tensor && isa<FloatType>(tensor.getElementType());
}

Value Tangents::orZeros(Value v) {
  Value tangent = of(v);
  return tangent ? tangent : b.full(b.dims(v), 0, b.elem(v));
}

bool Tangents::changes(Operation *op) const {
  return op
      ->walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(), [&](Value v) { return of(v) != nullptr; })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Tangents::follow(Operation *op) {
  if (!changes(op))
    return success();
  bool hostFloat = llvm::any_of(op->getResultTypes(), llvm::IsaPred<FloatType>);
  if (op->getNumRegions() > 0 || hostFloat)
    return failure();
  // What is no real number does not change by little.
  if (llvm::none_of(op->getResultTypes(), isReal))
    return success(llvm::none_of(op->getResultTypes(), [](Type t) {
      auto tensor = dyn_cast<RankedTensorType>(t);
      return tensor && isa<ComplexType>(tensor.getElementType());
    }));
  for (auto follows : {&Tangents::followUnary, &Tangents::followBinary, &Tangents::followProduct,
                       &Tangents::followLinear, &Tangents::followReduction, &Tangents::followOrder})
    if (succeeded((this->*follows)(op)))
      return success();
  return failure();
}

/// The operator on other operands.
Value Tangents::with(Operation *op, ValueRange operands) {
  Operation *copy = op->clone();
  copy->setOperands(operands);
  copy->setLoc(b.location());
  return b.builder().insert(copy)->getResult(0);
}

/// The derivative of a function of one element, x, whose value is y; null for one that is not here.
static Value derivative(PrimBuilder &b, Operation *op, Value x, Value y) {
  Type t = b.elem(x);
  auto one = [&] { return b.scalar(1, t); };
  auto oneLess = [&](Value v) { return b.sub(one(), v); };
  auto inverse = [&](Value v) { return b.div(one(), v); };
  auto square = [&](Value v) { return b.mul(v, v); };
  auto times = [&](Value v, double factor) { return b.mul(v, factor); };
  auto bell = [&](Value v, double factor) { return times(b.exp(b.neg(square(v))), factor); };
  constexpr double kErf = 2 * std::numbers::inv_sqrtpi;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](prim::NegOp) { return b.scalar(-1, t); })
      .Case([&](prim::AbsOp) { return b.unary<prim::SignOp>(x); })
      .Case([&](prim::ExpOp) { return y; })
      .Case([&](prim::Exp2Op) { return times(y, std::numbers::ln2); })
      .Case([&](prim::Expm1Op) { return b.add(y, 1.0); })
      .Case([&](prim::LogOp) { return inverse(x); })
      .Case([&](prim::Log2Op) { return inverse(times(x, std::numbers::ln2)); })
      .Case([&](prim::Log10Op) { return inverse(times(x, std::numbers::ln10)); })
      .Case([&](prim::Log1pOp) { return inverse(b.add(x, 1.0)); })
      .Case([&](prim::SqrtOp) { return inverse(times(y, 2)); })
      .Case([&](prim::RsqrtOp) { return times(b.mul(y, square(y)), -0.5); })
      .Case([&](prim::SinOp) { return b.unary<prim::CosOp>(x); })
      .Case([&](prim::CosOp) { return b.neg(b.unary<prim::SinOp>(x)); })
      .Case([&](prim::TanOp) { return b.add(square(y), 1.0); })
      .Case([&](prim::AsinOp) { return b.rsqrt(oneLess(square(x))); })
      .Case([&](prim::AcosOp) { return b.neg(b.rsqrt(oneLess(square(x)))); })
      .Case([&](prim::AtanOp) { return inverse(b.add(square(x), 1.0)); })
      .Case([&](prim::SinhOp) { return b.unary<prim::CoshOp>(x); })
      .Case([&](prim::CoshOp) { return b.unary<prim::SinhOp>(x); })
      .Case([&](prim::TanhOp) { return oneLess(square(y)); })
      .Case([&](prim::AsinhOp) { return b.rsqrt(b.add(square(x), 1.0)); })
      .Case([&](prim::AcoshOp) { return b.rsqrt(b.sub(square(x), 1.0)); })
      .Case([&](prim::AtanhOp) { return inverse(oneLess(square(x))); })
      .Case([&](prim::LogisticOp) { return b.mul(y, oneLess(y)); })
      .Case([&](prim::ErfOp) { return bell(x, kErf); })
      .Case([&](prim::ErfcOp) { return bell(x, -kErf); })
      .Case([&](prim::ErfinvOp) { return times(b.exp(square(y)), 1 / kErf); })
      .Case([&](prim::LgammaOp) { return b.unary<prim::DigammaOp>(x); })
      .Case([&](prim::BesselI0Op) { return b.unary<prim::BesselI1Op>(x); })
      .Default([](Operation *) { return Value(); });
}

LogicalResult Tangents::followUnary(Operation *op) {
  if (isa<prim::FloorOp, prim::CeilOp, prim::RoundOp, prim::TruncOp, prim::SignOp>(op))
    return success(); // constant between its steps
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 || !isReal(op->getOperandTypes()[0]))
    return failure();
  Value x = op->getOperand(0), y = op->getResult(0);
  if (auto cast = dyn_cast<prim::CastOp>(op)) {
    give(y, b.cast(of(x), b.elem(y)));
    return success();
  }
  Value factor = derivative(b, op, x, y);
  if (!factor)
    return failure();
  give(y, b.mul(of(x), factor));
  return success();
}

LogicalResult Tangents::followBinary(Operation *op) {
  if (op->getNumOperands() != 2 || !prim::isElementwise(op))
    return failure();
  Value x = op->getOperand(0), y = op->getOperand(1), result = op->getResult(0);
  Value dx = of(x), dy = of(y);
  // The sum of two terms of which either may be none.
  auto sum = [&](Value first, Value second) {
    give(result, !first ? second : !second ? first : b.add(first, second));
    return success();
  };
  auto zero = [&] { return b.scalar(0, b.elem(x)); };
  auto larger = [&](P first) {
    // Of equals, half; of one that does not change, nothing.
    Value equal = b.compare(P::eq, x, y), half = b.scalar(dx && dy ? 0.5 : 0, b.elem(x));
    auto part = [&](Value d, Value own) {
      return d ? b.select(equal, b.mul(d, half), b.select(own, d, zero())) : Value();
    };
    P second = first == P::gt ? P::lt : P::gt;
    return sum(part(dx, b.compare(first, x, y)), part(dy, b.compare(second, x, y)));
  };
  auto times = [&](Value d, llvm::function_ref<Value()> factor) {
    return d ? b.mul(d, factor()) : Value();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](prim::AddOp) { return sum(dx, dy); })
      .Case([&](prim::SubOp) { return sum(dx, dy ? b.neg(dy) : Value()); })
      .Case([&](prim::MulOp) {
        return sum(times(dx, [&] { return y; }), times(dy, [&] { return x; }));
      })
      .Case([&](prim::DivOp) {
        return sum(dx ? b.div(dx, y) : Value(), dy ? b.div(b.mul(dy, b.neg(result)), y) : Value());
      })
      .Case([&](prim::PowOp) {
        // x^0 does not change with x, nor 0^y with y > 0.
        auto base = [&] {
          Value power = b.mul(y, b.pow(x, b.sub(y, 1.0)));
          return b.select(b.compare(P::eq, y, 0.0), zero(), power);
        };
        auto exponent = [&] {
          Value grown = b.mul(result, b.log(x));
          Value stays = b.binary<prim::AndOp>(b.compare(P::eq, x, 0.0), b.compare(P::ge, y, 0.0));
          return b.select(stays, zero(), grown);
        };
        return sum(times(dx, base), times(dy, exponent));
      })
      .Case([&](prim::Atan2Op) {
        Value square = b.add(b.mul(x, x), b.mul(y, y));
        return sum(times(dx, [&] { return b.div(y, square); }),
                   times(dy, [&] { return b.div(b.neg(x), square); }));
      })
      .Case<prim::MaximumOp, prim::FmaxOp>([&](Operation *) { return larger(P::gt); })
      .Case<prim::MinimumOp, prim::FminOp>([&](Operation *) { return larger(P::lt); })
      .Case<prim::RemOp, prim::ModOp>([&](Operation *) {
        // x less a whole number of y, which does not change.
        auto whole = [&] { return b.div(b.sub(result, x), y); };
        return sum(dx, times(dy, [&] { return b.unary<prim::RoundOp>(whole()); }));
      })
      .Case([&](prim::CopysignOp) {
        return sum(times(dx,
                         [&] {
                           Value ratio = b.div(result, x);
                           return b.select(b.compare(P::eq, x, 0.0), zero(), ratio);
                         }),
                   Value());
      })
      .Case([&](prim::FloorDivOp) { return success(); })
      .Default([](Operation *) { return failure(); });
}

/// A contraction: a term for each operand.
LogicalResult Tangents::followProduct(Operation *op) {
  if (!op->hasTrait<prim::Contraction>())
    return failure();
  Value all;
  for (unsigned i : {0, 1}) {
    SmallVector<Value> operands(op->getOperands());
    if (!of(operands[i]))
      continue;
    operands[i] = of(operands[i]);
    Value term = with(op, operands);
    all = all ? b.add(all, term) : term;
  }
  give(op->getResult(0), all);
  return success();
}

/// What moves elements, chooses among them by what does not change, or adds them up.
LogicalResult Tangents::followLinear(Operation *op) {
  auto adds = [](prim::ScatterKind kind) {
    return kind == prim::ScatterKind::assign || kind == prim::ScatterKind::add;
  };
  bool linear = op->hasTrait<prim::Rearrangement>() || op->hasTrait<prim::View>() ||
                TypeSwitch<Operation *, bool>(op)
                    .Case<prim::SelectOp, prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp,
                          prim::InsertSliceOp>([](Operation *) { return true; })
                    .Case<prim::ScatterAlongOp, prim::ScatterNdOp>(
                        [&](auto scatter) { return adds(scatter.getKind()); })
                    .Case<prim::ReduceOp, prim::CumulativeOp, prim::PoolOp>(
                        [](auto reduce) { return reduce.getKind() == K::sum; })
                    .Default([](Operation *) { return false; });
  if (!linear || op->getNumResults() != 1)
    return failure();
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(isReal(v.getType()) ? orZeros(v) : v);
  give(op->getResult(0), with(op, operands));
  return success();
}

/// The tangent of the largest element of each window.
static Value maximaOf(PrimBuilder &b, prim::PoolOp pool, Value tangent) {
  auto list = [](ArrayRef<int64_t> values) { return SmallVector<int64_t>(values); };
  PrimBuilder::Window w;
  w.window = list(pool.getWindow());
  w.strides = list(pool.getStrides());
  w.dilations = list(pool.getDilations());
  Dims low, result = b.dims(pool.getResult()), all = b.dims(tangent);
  for (int64_t before : pool.getLow())
    low.push_back(b.dim(before));
  Value places = placesOfMaxima(b, pool.getX(), w, low, result);
  auto planes = [&](Value v, const Dims &dims) {
    return b.reshape(v, {dims[0], dims[1], b.productOf(ArrayRef(dims).drop_front(2))});
  };
  return b.reshape(b.takeAlong(planes(tangent, all), planes(places, result), 2), result);
}

/// The largest or smallest: each of those that are has its part. A product: for each element, what
/// the others make.
LogicalResult Tangents::followReduction(Operation *op) {
  if (auto pool = dyn_cast<prim::PoolOp>(op)) {
    if (pool.getKind() != K::max || pool.getChannelsLast())
      return failure();
    give(op->getResult(0), maximaOf(b, pool, of(pool.getX())));
    return success();
  }
  auto reduce = dyn_cast<prim::ReduceOp>(op);
  if (!reduce)
    return failure();
  Value x = reduce.getX(), zero = b.scalar(0, b.elem(x));
  SmallVector<int64_t> axes(reduce.getAxes());
  if (reduce.getKind() == K::prod && axes.size() == 1) {
    auto others = [&](bool reverse) {
      return prim::CumulativeOp::create(b.builder(), b.location(), x.getType(), K::prod, x, axes[0],
                                        /*exclusive=*/true, reverse);
    };
    Value terms = b.mul(of(x), b.mul(others(false), others(true)));
    give(op->getResult(0), b.reduce(K::sum, terms, axes, /*keepDims=*/false));
    return success();
  }
  if (reduce.getKind() != K::max && reduce.getKind() != K::min)
    return failure();
  Value extreme = b.reduce(reduce.getKind(), x, axes, /*keepDims=*/true);
  Value among = b.compare(P::eq, x, b.broadcastTo(extreme, b.dims(x)));
  Value count = b.reduce(K::sum, b.cast(among, b.elem(x)), axes, /*keepDims=*/false);
  Value all = b.reduce(K::sum, b.select(among, of(x), zero), axes, /*keepDims=*/false);
  give(op->getResult(0), b.div(all, count));
  return success();
}

/// In the order of the elements.
LogicalResult Tangents::followOrder(Operation *op) {
  int64_t axis = TypeSwitch<Operation *, int64_t>(op)
                     .Case<prim::SortOp, prim::TopKOp>([](auto order) { return order.getAxis(); })
                     .Default([](Operation *) { return -1; });
  if (axis < 0)
    return failure();
  give(op->getResult(0), b.takeAlong(of(op->getOperand(0)), op->getResult(1), axis));
  return success();
}
