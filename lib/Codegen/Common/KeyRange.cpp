//===- KeyRange.cpp - The keys that a query may see -----------------------===//
//
// The score is followed back through its selections, each condition through conjunctions and
// views down to comparisons, with the axes of the score on the way. A comparison bounds the
// keys if one side counts them, which an iota along the axis of the keys begins.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/KeyRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// The score's axis that each axis of a value follows; -1: the axis has one point.
using Axes = SmallVector<int>;

class BoundSearch {
public:
  explicit BoundSearch(Value score) : keys(tensorType(score).getRank() - 1) {}

  /// What is seen where `condition` holds, or where it does not. Gives whether the bounds that were
  /// found say all of it.
  bool visit(Value condition, const Axes &axes, bool holds);
  SmallVector<KeyBound> found;
  SmallVector<KeyCondition> others;

private:
  bool visitNew(Value condition, const Axes &axes, bool holds);
  /// What `value` grows by with each key; null: nobody knows.
  std::optional<int> slope(Value value, const Axes &axes);
  bool compare(prim::CompareOp op, const Axes &axes, bool holds);
  int keys;
};

} // namespace

/// What says how long an open axis is, where an operator close by does. Null: unknown.
static Value openExtent(Value value, unsigned axis) {
  auto type = tensorType(value);
  unsigned number = llvm::count(type.getShape().take_front(axis), ShapedType::kDynamic);
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (prim::isElementwise(op))
    return openExtent(op->getOperand(0), axis);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<prim::IotaOp, prim::BroadcastOp, prim::ReshapeOp>(
          [&](auto o) { return o.getSizes()[number]; })
      .Default(Value());
}

/// Whether axis `from` of `x` is as long as axis `to` of `y`, so that none is spread.
static bool sameExtent(Value x, unsigned from, Value y, unsigned to) {
  if (!tensorType(x).isDynamicDim(from))
    return true;
  Value extent = openExtent(x, from);
  return extent && tensorType(y).isDynamicDim(to) && extent == openExtent(y, to);
}

/// The axes of what a broadcast or a reshape by unit axes reads. Null for other operators.
static std::optional<Axes> axesBehind(Operation *op, const Axes &axes) {
  auto extents = [](Value v) { return tensorType(v).getShape(); };
  Axes behind;
  if (auto broadcast = dyn_cast<prim::BroadcastOp>(op)) {
    for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
      if (!sameExtent(broadcast.getX(), i, broadcast.getResult(), axis))
        return std::nullopt;
      behind.push_back(extents(broadcast.getX())[i] == 1 ? -1 : axes[axis]);
    }
    return behind;
  }
  auto reshape = dyn_cast<prim::ReshapeOp>(op);
  if (!reshape)
    return std::nullopt;
  SmallVector<int64_t> from, to;
  Axes followed;
  for (auto [extent, axis] : llvm::zip(extents(reshape.getResult()), axes))
    if (extent != 1) {
      to.push_back(extent);
      followed.push_back(axis);
    }
  unsigned next = 0;
  for (int64_t extent : extents(reshape.getX())) {
    if (extent != 1)
      from.push_back(extent);
    behind.push_back(extent == 1 || next == followed.size() ? -1 : followed[next++]);
  }
  // Of several open extents each could be another one.
  if (from != to || llvm::count(from, ShapedType::kDynamic) > 1)
    return std::nullopt;
  return behind;
}

std::optional<int> BoundSearch::slope(Value value, const Axes &axes) {
  if (!llvm::is_contained(axes, keys))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto iota = dyn_cast<prim::IotaOp>(op))
    return axes[iota.getAxis()] == keys;
  if (auto constant = dyn_cast<prim::ConstantOp>(op))
    return cast<DenseElementsAttr>(constant.getElements()).isSplat() ? std::optional(0)
                                                                     : std::nullopt;
  if (std::optional<Axes> behind = axesBehind(op, axes))
    return slope(op->getOperand(0), *behind);
  if (!prim::isElementwise(op))
    return std::nullopt;
  SmallVector<int> slopes;
  for (Value operand : op->getOperands()) {
    std::optional<int> s = slope(operand, axes);
    if (!s)
      return std::nullopt;
    slopes.push_back(*s);
  }
  if (llvm::all_of(slopes, [](int s) { return s == 0; }))
    return 0;
  if (auto cast = dyn_cast<prim::CastOp>(op)) {
    Type from = tensorType(cast.getX()).getElementType();
    Type to = tensorType(cast.getResult()).getElementType();
    bool widens = from.isSignlessInteger() && to.isSignlessInteger() &&
                  from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
    return widens ? std::optional(slopes[0]) : std::nullopt;
  }
  return llvm::TypeSwitch<Operation *, std::optional<int>>(op)
      .Case([&](prim::AddOp) { return slopes[0] + slopes[1]; })
      .Case([&](prim::SubOp) { return slopes[0] - slopes[1]; })
      .Case([&](prim::NegOp) { return -slopes[0]; })
      .Default(std::nullopt);
}

bool BoundSearch::compare(prim::CompareOp op, const Axes &axes, bool holds) {
  using P = prim::ComparePredicate;
  Type type = tensorType(op.getLhs()).getElementType();
  P predicate = op.getPredicate();
  if (!type.isSignlessInteger() || type.isInteger(1) || predicate == P::eq || predicate == P::ne)
    return false;
  std::optional<int> l = slope(op.getLhs(), axes), r = slope(op.getRhs(), axes);
  if (!l || !r || std::abs(*l - *r) != 1)
    return false;
  bool swapped = predicate == P::lt || predicate == P::le;
  bool strict = predicate == P::lt || predicate == P::gt;
  if (!holds) { // !(l >= r) is r > l
    swapped = !swapped;
    strict = !strict;
  }
  KeyBound bound{op.getLhs(), op.getRhs(), axes, strict, *l < *r};
  if (swapped) {
    std::swap(bound.lhs, bound.rhs);
    bound.isUpper = !bound.isUpper;
  }
  found.push_back(std::move(bound));
  return true;
}

bool BoundSearch::visit(Value condition, const Axes &axes, bool holds) {
  size_t before = others.size();
  bool saysAll = visitNew(condition, axes, holds);
  if (!saysAll && others.size() == before)
    others.push_back({condition, axes, holds});
  return saysAll;
}

bool BoundSearch::visitNew(Value condition, const Axes &axes, bool holds) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return false;
  if (isa<prim::NotOp>(op))
    return visit(op->getOperand(0), axes, !holds);
  // All parts of a conjunction that holds do; none of a disjunction that does not.
  if ((isa<prim::AndOp>(op) && holds) || (isa<prim::OrOp>(op) && !holds)) {
    bool left = visit(op->getOperand(0), axes, holds);
    return visit(op->getOperand(1), axes, holds) && left;
  }
  if (auto comparison = dyn_cast<prim::CompareOp>(op))
    return compare(comparison, axes, holds);
  if (std::optional<Axes> behind = axesBehind(op, axes))
    return visit(op->getOperand(0), *behind, holds);
  return false;
}

static bool isMinusInfinity(Value value) {
  while (auto broadcast = value.getDefiningOp<prim::BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return false;
  APFloat element = dense.getSplatValue<APFloat>();
  return element.isInfinity() && element.isNegative();
}

SmallVector<KeyBound> tcc::codegen::keyBounds(Value score) { return keyMaskOf(score).bounds; }

KeyMask tcc::codegen::keyMaskOf(Value score) {
  BoundSearch search(score);
  Value seen = score;
  Axes axes = llvm::to_vector(llvm::seq<int>(0, tensorType(score).getRank()));
  while (auto select = score.getDefiningOp<prim::SelectOp>()) {
    bool otherwise = isMinusInfinity(select.getOnFalse());
    if (!otherwise && !isMinusInfinity(select.getOnTrue()))
      break;
    bool saysAll = search.visit(select.getCondition(), axes, otherwise);
    bool isOutermost = seen == score;
    score = otherwise ? select.getOnTrue() : select.getOnFalse();
    if (saysAll && isOutermost)
      seen = score;
  }
  return {std::move(search.found), seen, std::move(search.others), score};
}

SmallVector<KeyBound> tcc::codegen::boundsOf(Value condition) {
  if (tensorType(condition).getRank() == 0)
    return {};
  BoundSearch search(condition);
  Axes axes = llvm::to_vector(llvm::seq<int>(0, tensorType(condition).getRank()));
  bool saysAll = search.visit(condition, axes, /*holds=*/true);
  return saysAll ? std::move(search.found) : SmallVector<KeyBound>();
}

/// Where a value whose axes follow those of the score in `axes` is read for the score at `at`.
static Coords followed(Elemental &e, ArrayRef<int> axes, ArrayRef<Coord> at) {
  Coords point;
  for (int axis : axes)
    point.push_back(axis >= 0 && axis < static_cast<int>(at.size()) ? at[axis]
                                                                    : Coord::uniform(e.index(0)));
  return point;
}

Value tcc::codegen::emitKeyCondition(Elemental &e, const KeyCondition &condition,
                                     ArrayRef<Coord> at) {
  Value v = e.eval(condition.value, followed(e, condition.at, at));
  if (!v || condition.holds)
    return v;
  Value one = arith::ConstantOp::create(e.builder(), e.builder().getBoolAttr(true));
  return arith::XOrIOp::create(e.builder(), v, one);
}

KeyRange tcc::codegen::emitKeyRange(Elemental &e, ArrayRef<KeyBound> bounds, ArrayRef<Coord> at,
                                    KeyRange range) {
  ImplicitLocOpBuilder &b = e.builder();
  Type i64 = b.getI64Type();
  for (const KeyBound &bound : bounds) {
    Coords point = followed(e, bound.at, at);
    Value lhs = e.eval(bound.lhs, point), rhs = e.eval(bound.rhs, point);
    if (!lhs || !rhs)
      return {};
    auto wide = [&](Value v) -> Value {
      return v.getType() == i64 ? v : Value(arith::ExtSIOp::create(b, i64, v));
    };
    // At key 0; what would overflow is beyond all keys.
    Value left = bound.isUpper ? lhs : rhs, right = bound.isUpper ? rhs : lhs;
    Value limit = LLVM::SSubSat::create(b, i64, wide(left), wide(right));
    if (bound.strict != bound.isUpper) { // i <= limit, or i > limit
      Value one = arith::ConstantOp::create(b, b.getI64IntegerAttr(1));
      limit = LLVM::SAddSat::create(b, i64, limit, one);
    }
    if (bound.isUpper)
      range.end = arith::MinSIOp::create(b, range.end, limit);
    else
      range.begin = arith::MaxSIOp::create(b, range.begin, limit);
  }
  return range;
}
