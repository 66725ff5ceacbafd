//===- PrimBuilderDims.cpp - Extents and host arithmetic ------------------===//
//
// Extents as host values. Rules append only, so an equal computation before the insertion point
// can be used again: this keeps the host program small, and lets passes see that two extents are
// equal because they are one value. Constants fold; what would overflow does not, and fails in the
// run.
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Decompose/PrimBuilder.h"

using namespace mlir;
using namespace tcc;

RankedTensorType PrimBuilder::type(Value v) { return cast<RankedTensorType>(v.getType()); }

Value PrimBuilder::indexValue(Dim d) { return getValueOrCreateConstantIndexOp(b, loc, d); }

bool PrimBuilder::same(Dim x, Dim y) { return isEqualConstantIntOrValue(x, y); }

Dim PrimBuilder::dim(Value tensor, int64_t axis) {
  if (axis < 0 || axis >= rank(tensor)) {
    fault("an operand of rank " + llvm::Twine(rank(tensor)) + " has no axis " + llvm::Twine(axis));
    return dim(1);
  }
  return prim::dimOf(b, loc, tensor, axis);
}

Dims PrimBuilder::dims(Value tensor) { return prim::dimsOf(b, loc, tensor); }

/// An earlier op of the same kind on the same operands that dominates the
/// insertion point: rules only ever append, so one in an enclosing block does.
template <typename Op, typename... Extra> static Op findSame(OpBuilder &b, Value x, Value y) {
  Value anchor = x.getDefiningOp<arith::ConstantOp>() ? y : x;
  for (Operation *user : anchor.getUsers())
    if (auto op = dyn_cast<Op>(user))
      if (isEqualConstantIntOrValue(op->getOperand(0), x) &&
          isEqualConstantIntOrValue(op->getOperand(1), y) &&
          op->getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
        return op;
  return {};
}

template <typename Op>
constexpr bool kDivides =
    std::is_same_v<Op, arith::DivSIOp> || std::is_same_v<Op, arith::RemSIOp> ||
    std::is_same_v<Op, arith::FloorDivSIOp> || std::is_same_v<Op, arith::CeilDivSIOp>;

template <typename Op> static std::optional<int64_t> foldInts(int64_t x, int64_t y) {
  int64_t result;
  if constexpr (std::is_same_v<Op, arith::AddIOp>)
    return __builtin_add_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  if constexpr (std::is_same_v<Op, arith::SubIOp>)
    return __builtin_sub_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  if constexpr (std::is_same_v<Op, arith::MulIOp>)
    return __builtin_mul_overflow(x, y, &result) ? std::nullopt : std::optional(result);
  if constexpr (std::is_same_v<Op, arith::MinSIOp>)
    return std::min(x, y);
  if constexpr (std::is_same_v<Op, arith::MaxSIOp>)
    return std::max(x, y);
  if (y == 0 || (y == -1 && x == INT64_MIN))
    return std::nullopt;
  int64_t quotient = x / y, rest = x % y;
  if constexpr (std::is_same_v<Op, arith::DivSIOp>)
    return quotient;
  if constexpr (std::is_same_v<Op, arith::RemSIOp>)
    return rest;
  if constexpr (std::is_same_v<Op, arith::FloorDivSIOp>)
    return quotient - (rest != 0 && (rest < 0) != (y < 0));
  if constexpr (std::is_same_v<Op, arith::CeilDivSIOp>)
    return quotient + (rest != 0 && (rest < 0) == (y < 0));
  return std::nullopt;
}

/// x op y for neutral or absorbing constants, or null.
template <typename Op> static Dim foldIdentity(PrimBuilder &pb, Dim x, Dim y) {
  auto cx = pb.known(x), cy = pb.known(y);
  if constexpr (std::is_same_v<Op, arith::AddIOp>) {
    if (cx == 0)
      return y;
    if (cy == 0)
      return x;
  }
  if constexpr (std::is_same_v<Op, arith::SubIOp>) {
    if (cy == 0)
      return x;
    if (pb.same(x, y))
      return pb.dim(0);
  }
  if constexpr (std::is_same_v<Op, arith::MulIOp>) {
    if (cx == 0 || cy == 0)
      return pb.dim(0);
    if (cx == 1)
      return y;
    if (cy == 1)
      return x;
  }
  constexpr bool division = std::is_same_v<Op, arith::DivSIOp> ||
                            std::is_same_v<Op, arith::FloorDivSIOp> ||
                            std::is_same_v<Op, arith::CeilDivSIOp>;
  if (division && cy == 1)
    return x;
  if constexpr (std::is_same_v<Op, arith::MinSIOp> || std::is_same_v<Op, arith::MaxSIOp>)
    if (pb.same(x, y))
      return x;
  return {};
}

template <typename Op> Dim PrimBuilder::arith2(Dim x, Dim y) {
  auto cx = known(x), cy = known(y);
  if (cx && cy)
    if (auto folded = foldInts<Op>(*cx, *cy))
      return dim(*folded);
  if (Dim folded = foldIdentity<Op>(*this, x, y))
    return folded;
  // (a + c) - a and (a - c) + c, which padding and cropping leave behind.
  if constexpr (std::is_same_v<Op, arith::SubIOp>)
    if (auto vx = dyn_cast<Value>(x))
      if (auto sum = vx.getDefiningOp<arith::AddIOp>())
        for (int i : {0, 1})
          if (same(sum->getOperand(i), y))
            return getAsOpFoldResult(sum->getOperand(1 - i));
  if constexpr (kDivides<Op>)
    requireDivisor(*this, x, y);
  Value vx = indexValue(x), vy = indexValue(y);
  if (Op before = findSame<Op>(b, vx, vy))
    return before.getResult();
  return Op::create(b, loc, vx, vy).getResult();
}

/// x + y as integers wrap.
static int64_t wrapped(int64_t x, uint64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + y);
}

Dim PrimBuilder::addDims(Dim x, Dim y) {
  // (a + c1) + c2 = a + (c1 + c2), so that equal sums meet.
  if (known(x))
    std::swap(x, y);
  if (auto value = dyn_cast<Value>(x); value && known(y))
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      if (auto inner = getConstantIntValue(sum.getRhs()))
        return addDims(sum.getLhs(), dim(wrapped(*inner, *known(y))));
  // a + (b - a) = b: what is padded to b has it for its extent.
  for (auto [one, other] : {std::pair(x, y), std::pair(y, x)})
    if (auto value = dyn_cast<Value>(other))
      if (auto difference = value.getDefiningOp<arith::SubIOp>())
        if (same(getAsOpFoldResult(difference.getRhs()), one))
          return getAsOpFoldResult(difference.getLhs());
  return arith2<arith::AddIOp>(x, y);
}
static std::pair<Dim, int64_t> splitConstant(Dim d);

Dim PrimBuilder::subDims(Dim x, Dim y) {
  if (auto constant = known(y); constant && !known(x))
    return addDims(x, dim(wrapped(0, -static_cast<uint64_t>(*constant))));
  // (a + c1) - (b + c2) = (a - b) + (c1 - c2).
  auto [bx, cx] = splitConstant(x);
  auto [by, cy] = splitConstant(y);
  if (cx != 0 || cy != 0)
    return addDims(subDims(bx, by), dim(wrapped(cx, -static_cast<uint64_t>(cy))));
  return arith2<arith::SubIOp>(x, y);
}
/// d = base + constant.
static std::pair<Dim, int64_t> splitConstant(Dim d) {
  if (auto value = dyn_cast<Value>(d))
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      if (auto constant = getConstantIntValue(sum.getRhs()))
        return {sum.getLhs(), *constant};
  return {d, 0};
}

Dim PrimBuilder::mulDims(Dim x, Dim y) {
  if (known(x))
    std::swap(x, y);
  // (a + c1) c2 = a c2 + c1 c2, so that what an axis is widened to is seen to be a multiple of it.
  if (auto factor = known(y))
    if (auto [base, constant] = splitConstant(x); constant != 0)
      return addDims(mulDims(base, y), dim(static_cast<int64_t>(static_cast<uint64_t>(constant) *
                                                                static_cast<uint64_t>(*factor))));
  return arith2<arith::MulIOp>(x, y);
}
Dim PrimBuilder::floorDivDims(Dim x, Dim y) {
  // (a * c) / c, which flattening and splitting leave behind.
  if (auto value = dyn_cast<Value>(x))
    if (auto product = value.getDefiningOp<arith::MulIOp>())
      for (int i : {0, 1})
        if (same(getAsOpFoldResult(product->getOperand(i)), y))
          return getAsOpFoldResult(product->getOperand(1 - i));
  return arith2<arith::FloorDivSIOp>(x, y);
}
Dim PrimBuilder::ceilDivDims(Dim x, Dim y) { return arith2<arith::CeilDivSIOp>(x, y); }
Dim PrimBuilder::remDims(Dim x, Dim y) { return arith2<arith::RemSIOp>(x, y); }
Dim PrimBuilder::minDims(Dim x, Dim y) {
  if (known(x))
    std::swap(x, y);
  if (auto bound = known(y); bound && *bound <= 0 && nonNegative(x))
    return y;
  return arith2<arith::MinSIOp>(x, y);
}
Dim PrimBuilder::maxDims(Dim x, Dim y) {
  if (known(x))
    std::swap(x, y);
  // What is not negative is above any bound that is not positive.
  if (auto bound = known(y); bound && *bound <= 0 && nonNegative(x))
    return x;
  return arith2<arith::MaxSIOp>(x, y);
}

Dim PrimBuilder::productOf(ArrayRef<Dim> list) {
  Dim product = dim(1);
  for (Dim d : list)
    product = mulDims(product, d);
  return product;
}

Dim PrimBuilder::compareDims(arith::CmpIPredicate predicate, Dim x, Dim y) {
  auto cx = known(x), cy = known(y);
  if (cx && cy)
    return b.getBoolAttr(
        arith::applyCmpPredicate(predicate, APInt(64, *cx, true), APInt(64, *cy, true)));
  if (same(x, y))
    return b.getBoolAttr(arith::applyCmpPredicate(predicate, APInt(64, 0), APInt(64, 0)));
  return arith::CmpIOp::create(b, loc, predicate, indexValue(x), indexValue(y)).getResult();
}

Dim PrimBuilder::selectDims(Dim condition, Dim x, Dim y) {
  if (auto constant = known(condition))
    return *constant ? x : y;
  if (same(x, y))
    return x;
  return arith::SelectOp::create(b, loc, cast<Value>(condition), indexValue(x), indexValue(y))
      .getResult();
}

Dim PrimBuilder::broadcastDims(Dim x, Dim y) {
  auto cx = known(x), cy = known(y);
  if (same(x, y) || cy == 1)
    return x;
  if (cx == 1)
    return y;
  if (cx && cy)
    fault("extents " + llvm::Twine(*cx) + " and " + llvm::Twine(*cy) + " do not broadcast");
  if (cx || cy) // one is known and not 1: the other is 1 or the same
    return cx ? x : y;
  // min(a, constant) comes from a slice of a table: where it differs from a, the
  // two would not broadcast.
  for (auto [narrow, wide] : {std::pair(x, y), std::pair(y, x)})
    if (auto cut = cast<Value>(narrow).getDefiningOp<arith::MinSIOp>())
      if (same(getAsOpFoldResult(cut.getLhs()), wide) &&
          getConstantIntValue(cut.getRhs()).value_or(0) > 0)
        return wide;
  // Neither is known: decided at run time. A known extent of 1 was handled.
  Value vx = cast<Value>(x), vy = cast<Value>(y);
  for (Operation *user : vx.getUsers())
    if (auto before = dyn_cast<arith::SelectOp>(user))
      if (before.getTrueValue() == vy && before.getFalseValue() == vx &&
          before->getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
        return before.getResult();
  Dim isOne = compareDims(arith::CmpIPredicate::eq, x, dim(1));
  return selectDims(isOne, y, x);
}

bool PrimBuilder::broadcastable(ArrayRef<Dim> x, ArrayRef<Dim> y) {
  for (size_t i = 1; i <= std::min(x.size(), y.size()); ++i) {
    auto cx = known(x[x.size() - i]), cy = known(y[y.size() - i]);
    if (cx && cy && *cx != *cy && *cx != 1 && *cy != 1)
      return false;
  }
  return true;
}

void PrimBuilder::check(Dim condition, StringRef message) {
  if (auto constant = known(condition); constant && *constant)
    return;
  Value value = isa<Value>(condition)
                    ? cast<Value>(condition)
                    : arith::ConstantOp::create(b, loc, b.getBoolAttr(false)).getResult();
  prim::AssertOp::create(b, loc, value, b.getStringAttr(message));
}

/// Whether d is made of constants and known for all that: its arithmetic overflows.
static bool overflows(Dim d) {
  auto value = dyn_cast<Value>(d);
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op) && !PrimBuilder::known(d) &&
         llvm::all_of(op->getOperands(), [](Value v) { return getConstantIntValue(v); });
}

RankedTensorType PrimBuilder::typeOf(ArrayRef<Dim> list, Type elementType) {
  SmallVector<int64_t> shape;
  int64_t elements = 1;
  bool fits = true, isEmpty = false;
  for (Dim d : list) {
    auto constant = known(d);
    if (constant && *constant < 0)
      fault("makes a tensor of extent " + llvm::Twine(*constant));
    int64_t extent = constant ? std::max<int64_t>(*constant, 0) : ShapedType::kDynamic;
    shape.push_back(extent);
    isEmpty |= extent == 0;
    if (extent > 0)
      fits &= !__builtin_mul_overflow(elements, extent, &elements);
    fits &= !overflows(d);
  }
  constexpr int64_t kMostBytes = 16; // of an element
  if (!isEmpty && (!fits || elements > INT64_MAX / kMostBytes))
    fault("makes a tensor of more elements than memory can hold");
  return RankedTensorType::get(shape, elementType);
}

SmallVector<Value> PrimBuilder::dynamicSizes(ArrayRef<Dim> list) {
  SmallVector<Value> sizes;
  for (Dim d : list)
    if (!known(d))
      sizes.push_back(cast<Value>(d));
  return sizes;
}
