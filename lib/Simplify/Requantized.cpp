//===- Requantized.cpp - Bytes that become the same bytes again -----------===//
//
// Quantisers put a rounding around every operator of a model, also around those that only move
// elements, compare them or cut them off:
//
//   %f = prim.mul (prim.sub (prim.cast %bytes), %z), %s
//   %t = prim.transpose %f
//   %q = prim.cast (prim.add (prim.round (prim.div %t, %s)), %z)
// becomes
//   %q = prim.transpose %bytes
//
// A byte times its scale, divided by that scale, is within a few roundings of what it was, so it is
// rounded to that; and rounding keeps order, so that a maximum can be taken of the bytes. Both hold
// for one scale and one zero point, known and the same before and after. A quarter of the memory
// moves, and a product that reads the transposed bytes finds them (IntegerProducts.cpp).
//
//===----------------------------------------------------------------------===//
#include "Simplify/Dequantized.h"
#include "tcc/Simplify/Simplify.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_REQUANTIZEDPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// How floats are rounded: to round(x / scale) + zero, cut off at what `type` holds.
struct Rounding {
  IntegerType type;
  float factor = 0; ///< a divisor, or an inverse
  bool divides = true;
  double zero = 0;
  double least() const { return type.isUnsigned() ? 0 : -std::ldexp(1.0, type.getWidth() - 1); }
  double most() const { return std::ldexp(1.0, type.getWidth() - (type.isUnsigned() ? 0 : 1)) - 1; }
  double scale() const { return divides ? factor : 1.0 / factor; }
  int64_t of(double x) const {
    auto value = static_cast<float>(x);
    double rounded = std::nearbyint(divides ? value / factor : value * factor);
    return static_cast<int64_t>(std::clamp(rounded + zero, least(), most()));
  }
};

class Requantizer {
public:
  explicit Requantizer(const WeightTable &weights) : dequantizer(weights) {}
  void rewrite(prim::CastOp op);

private:
  std::optional<double> number(Value value);
  std::optional<double> takeNumber(Operation *op, Value &other);
  std::optional<Rounding> roundingOf(prim::CastOp op, Value &from);
  /// The bytes that `value` stands for; null without `b`, and where it stands for none `known`
  /// becomes false.
  Value bytesOf(OpBuilder *b, Value value, const Rounding &r, bool &known, unsigned depth = 0);
  Value limited(OpBuilder &b, Operation *op, Value bytes, double bound, const Rounding &r);

  Dequantizer dequantizer;
};

} // namespace

std::optional<double> Requantizer::number(Value value) {
  auto all = dequantizer.numbers(value, std::nullopt);
  return all && all->size() == 1 ? std::optional((*all)[0]) : std::nullopt;
}

/// The number among the operands of `op`; `other` becomes the other one.
std::optional<double> Requantizer::takeNumber(Operation *op, Value &other) {
  for (unsigned i : {1u, 0u})
    if (auto found = number(op->getOperand(i))) {
      other = op->getOperand(1 - i);
      return found;
    }
  return std::nullopt;
}

std::optional<Rounding> Requantizer::roundingOf(prim::CastOp op, Value &from) {
  auto type = dyn_cast<IntegerType>(elementOf(op.getResult()));
  if (!type || type.getWidth() < 8 || type.getWidth() > 16 || !elementOf(op.getX()).isF32())
    return std::nullopt;
  Rounding r{type};
  Value value = op.getX();
  bool adds = false;
  while (Operation *inner = value.getDefiningOp()) {
    if (isa<prim::RoundOp>(inner))
      break;
    bool cutsLow = isa<prim::MaximumOp>(inner), cutsHigh = isa<prim::MinimumOp>(inner);
    if (!cutsLow && !cutsHigh && (adds || !isa<prim::AddOp>(inner)))
      return std::nullopt;
    auto found = takeNumber(inner, value);
    if (!found || (cutsLow && *found > r.least()) || (cutsHigh && *found < r.most()) ||
        (adds && (cutsLow || cutsHigh)))
      return std::nullopt;
    if (!cutsLow && !cutsHigh) {
      r.zero = *found;
      adds = true;
    }
  }
  auto round = value.getDefiningOp<prim::RoundOp>();
  Operation *scaled = round ? round.getX().getDefiningOp() : nullptr;
  if (!isa_and_present<prim::DivOp, prim::MulOp>(scaled))
    return std::nullopt;
  auto factor = number(scaled->getOperand(1));
  from = scaled->getOperand(0);
  if (!factor && isa<prim::MulOp>(scaled))
    factor = takeNumber(scaled, from);
  if (!factor || !(*factor > 0) || r.zero != std::rint(r.zero) || r.zero < r.least() ||
      r.zero > r.most())
    return std::nullopt;
  r.factor = static_cast<float>(*factor);
  r.divides = isa<prim::DivOp>(scaled);
  // Every product of the scale and a difference of such integers is a number with all digits.
  constexpr double kLeast = 0x1p-100, kMost = 0x1p100;
  if (!(r.scale() > kLeast && r.scale() < kMost))
    return std::nullopt;
  return r;
}

/// `op`, a maximum or minimum with `bound`, of bytes.
Value Requantizer::limited(OpBuilder &b, Operation *op, Value bytes, double bound,
                           const Rounding &r) {
  auto single = RankedTensorType::get({}, r.type);
  auto element = b.getIntegerAttr(r.type, llvm::APInt(r.type.getWidth(), r.of(bound), true, true));
  Value constant =
      prim::ConstantOp::create(b, op->getLoc(), single, DenseElementsAttr::get(single, element));
  RankedTensorType type = tensorType(bytes);
  SmallVector<Value> sizes = openSizes(b, op->getLoc(), type, prim::dimsOf(b, op->getLoc(), bytes));
  Value all =
      prim::BroadcastOp::create(b, op->getLoc(), type, constant, ArrayRef<int64_t>{}, sizes);
  if (isa<prim::MaximumOp>(op))
    return prim::MaximumOp::create(b, op->getLoc(), type, bytes, all);
  return prim::MinimumOp::create(b, op->getLoc(), type, bytes, all);
}

Value Requantizer::bytesOf(OpBuilder *b, Value value, const Rounding &r, bool &known,
                           unsigned depth) {
  constexpr unsigned kDeepest = 16;
  constexpr double kNear = 0x1p-20; // the inverse of a scale is rounded
  Operation *op = value.getDefiningOp();
  known &= op && depth < kDeepest;
  if (!known)
    return {};
  if (auto found = dequantizer.dequantized(value, std::nullopt)) {
    known = found->isUniform() && elementOf(found->integers) == r.type &&
            found->zeros[0] == r.zero && std::fabs(found->scales[0] / r.scale() - 1) < kNear;
    return known ? found->integers : Value();
  }
  auto inner = [&](Value v) { return bytesOf(b, v, r, known, depth + 1); };
  if (isView(value)) {
    Value x = inner(op->getOperand(0));
    return known && b ? viewOf(*b, op, x) : Value();
  }
  if (isa<prim::MaximumOp, prim::MinimumOp>(op)) {
    Value x;
    auto bound = takeNumber(op, x);
    known = bound.has_value();
    Value bytes = known ? inner(x) : Value();
    return known && b ? limited(*b, op, bytes, *bound, r) : Value();
  }
  auto pool = dyn_cast<prim::PoolOp>(op);
  bool orders =
      pool && (pool.getKind() == prim::ReduceKind::max || pool.getKind() == prim::ReduceKind::min);
  known = value.hasOneUse() && (orders || isa<prim::ConcatOp>(op));
  if (!known)
    return {};
  SmallVector<Value> operands(op->getOperands());
  for (Value &operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      operand = inner(operand);
  if (!known || !b)
    return {};
  Operation *clone = b->clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(value).clone(r.type));
  return clone->getResult(0);
}

void Requantizer::rewrite(prim::CastOp op) {
  Value from;
  auto rounding = roundingOf(op, from);
  bool known = rounding.has_value();
  if (known)
    bytesOf(nullptr, from, *rounding, known);
  if (!known)
    return;
  OpBuilder b(op);
  Value bytes = bytesOf(&b, from, *rounding, known);
  op->replaceAllUsesWith(ValueRange{bytes});
  op->erase();
}

namespace {

class RequantizedPass : public tcc::impl::RequantizedPassBase<RequantizedPass> {
public:
  explicit RequantizedPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    Requantizer requantizer(*weights);
    SmallVector<prim::CastOp> casts;
    getOperation().walk([&](prim::CastOp op) { casts.push_back(op); });
    for (prim::CastOp op : casts)
      requantizer.rewrite(op);
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createRequantizedPass(WeightTable *weights) {
  return std::make_unique<RequantizedPass>(weights);
}
