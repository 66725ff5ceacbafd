//===- GroupedWeights.cpp - One row by integers with a scale a group ------===//
//
// Weights of 4 bits come with a scale, and often a zero point, for each group of 32 or so along the
// sum. One row (a token of a language model) takes as long as its weights take to come from memory,
// and made floats when the model is compiled they are eight times the bytes. So they stay integers:
//
//   %f = prim.cast %q                  // [n, groups, 32], of constants
//   %s = (%f - zeros) * scales         // [n, groups, 1] each, repeated
//   %y = prim.dot %x, reshape %s       // [1, k] by [n, k]
// becomes
//   %w = prim.weight                   // ui8 [n, groups, 16]: q[i] + 16 q[i + 16], q >= 0
//   %t = cast(and %w, 15) * x[.., 0:16] + cast(shift_right %w, 4) * x[.., 16:32]
//   %y = sum of (%t - zeros * (x[.., 0:16] + x[.., 16:32])) * scales
//
// which is one kernel of rows. Halves of a group, not neighbours, share a byte, so that unpacked
// they lie in the order of x. Integers of more than 4 bits keep a byte each. Constant folding
// leaves alone what unpacks a weight for products with what it does not know.
//
// How integers were stored and unpacked before does not matter: they are computed here.
//
//===----------------------------------------------------------------------===//
#include "Simplify/GroupedWeights.h"
#include "Simplify/KnownValues.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

using namespace mlir;
using namespace tcc;

namespace {

/// (integers - zeros) * scales, [n, groups, group].
struct GroupedIntegers {
  Value integers, zeros, scales; ///< zeros may be null
};

class RowSum {
public:
  RowSum(OpBuilder &b, Location loc, RankedTensorType planes) : b(b), loc(loc), planes(planes) {}
  template <typename Op> Value binary(Value x, Value y) {
    return Op::create(b, loc, x.getType(), x, y);
  }
  Value floats(Value integers) { return prim::CastOp::create(b, loc, planes, integers); }
  Value splat(Type element, int64_t value) {
    auto type = planes.clone(element);
    Attribute number = isa<FloatType>(element)
                           ? Attribute(FloatAttr::get(element, static_cast<double>(value)))
                           : Attribute(IntegerAttr::get(element, value));
    return prim::ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, number));
  }
  /// Elements from `start` on of each group of x, for every column.
  Value ofRow(Value x, int64_t start);
  /// `perGroup`, which tells no elements of a group apart, at this shape.
  Value ofGroups(Value perGroup);

private:
  OpBuilder &b;
  Location loc;
  RankedTensorType planes; ///< [n, groups, elements], floats
};

} // namespace

Value RowSum::ofRow(Value x, int64_t start) {
  ArrayRef<int64_t> shape = planes.getShape();
  auto part = RankedTensorType::get(shape.drop_front(), planes.getElementType());
  if (tensorType(x) != part)
    x = prim::SliceOp::create(b, loc, part, x, ValueRange(), ValueRange(),
                              ArrayRef<int64_t>{0, start}, ArrayRef<int64_t>{1, 1});
  return prim::BroadcastOp::create(b, loc, planes, x, ArrayRef<int64_t>{1, 2}, ValueRange());
}

Value RowSum::ofGroups(Value perGroup) {
  if (auto broadcast = perGroup.getDefiningOp<prim::BroadcastOp>())
    return prim::BroadcastOp::create(b, loc, planes, broadcast.getX(), broadcast.getAxes(),
                                     ValueRange());
  auto elements = cast<DenseElementsAttr>(perGroup.getDefiningOp<prim::ConstantOp>().getElements());
  return prim::ConstantOp::create(b, loc, planes, elements.resizeSplat(planes));
}

/// Whether `v`, of shape [n, groups, group], tells no elements of a group apart.
static bool isPerGroup(Value v) {
  if (auto constant = v.getDefiningOp<prim::ConstantOp>())
    return isa<SplatElementsAttr>(constant.getElements());
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return false;
  ArrayRef<int64_t> shape = tensorType(broadcast.getX()).getShape();
  return llvm::all_of(llvm::zip_equal(broadcast.getAxes(), shape),
                      [](auto axis) { return std::get<0>(axis) != 2 || std::get<1>(axis) == 1; });
}

/// Takes `weights`, [n, k], apart.
static std::optional<GroupedIntegers> groupedIntegers(Value weights) {
  auto reshape = weights.getDefiningOp<prim::ReshapeOp>();
  if (!reshape || !weights.hasOneUse() || tensorType(reshape.getX()).getRank() != 3 ||
      tensorType(reshape.getX()).getDimSize(0) != tensorType(weights).getDimSize(0))
    return std::nullopt;
  auto mul = reshape.getX().getDefiningOp<prim::MulOp>();
  if (!mul)
    return std::nullopt;
  GroupedIntegers found;
  Value numbers = mul.getLhs();
  found.scales = mul.getRhs();
  if (!isPerGroup(found.scales))
    std::swap(numbers, found.scales);
  if (!isPerGroup(found.scales))
    return std::nullopt;
  if (auto sub = numbers.getDefiningOp<prim::SubOp>()) {
    numbers = sub.getLhs();
    found.zeros = sub.getRhs();
    if (!isPerGroup(found.zeros))
      return std::nullopt;
  }
  auto cast = numbers.getDefiningOp<prim::CastOp>();
  if (!cast || !isa<IntegerType>(tensorType(cast.getX()).getElementType()) ||
      tensorType(cast.getX()).getElementTypeBitWidth() > 8)
    return std::nullopt;
  found.integers = cast.getX();
  return found;
}

/// The value of what is made of constants.
static std::optional<reference::Tensor> valueOf(Value v, const WeightTable &weights) {
  FoldOptions options;
  KnownValues known(weights, options);
  SetVector<Operation *> slice;
  BackwardSliceOptions backward;
  backward.inclusive = true;
  backward.omitBlockArguments = true;
  if (failed(getBackwardSlice(v, &slice, backward)) || slice.empty())
    return std::nullopt;
  for (Operation *op : slice) {
    if (KnownValues::isConstant(op))
      continue;
    if (op->getNumRegions() || !reference::isEvaluable(op->getName()) || !isMemoryEffectFree(op) ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return known.isKnown(operand); }))
      return std::nullopt;
    known.defer(op);
  }
  auto results =
      known.isKnown(v) ? known.evaluate(v.getDefiningOp()) : llvm::createStringError("too large");
  if (results)
    return (*results)[cast<OpResult>(v).getResultNumber()];
  llvm::consumeError(results.takeError());
  return std::nullopt;
}

/// What is added to the integers so that they take the 4 bits of 0 to 15; nullopt: they do not.
static std::optional<int> offsetOf4Bits(ArrayRef<char> integers) {
  for (int offset : {0, 8})
    if (llvm::all_of(integers, [&](signed char i) { return i + offset >= 0 && i + offset < 16; }))
      return offset;
  return std::nullopt;
}

/// Bytes that each hold the elements i and i + half of a group, `offset` added.
static std::vector<char> packed(ArrayRef<char> integers, int64_t half, int offset) {
  std::vector<char> bytes(integers.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char *at = integers.data() + i / half * 2 * half + i % half;
    bytes[i] = static_cast<char>((at[0] + offset) | ((at[half] + offset) << 4));
  }
  return bytes;
}

bool tcc::sumGroups(prim::DotOp op, WeightTable &weights) {
  constexpr int64_t kFewest = 8; // elements of a group beside each other
  RankedTensorType type = tensorType(op.getResult()), row = tensorType(op.getLhs());
  Type e = type.getElementType();
  if (!e.isF32() || row.getElementType() != e || tensorType(op.getRhs()).getElementType() != e ||
      !op.getRhsBatch().empty() || !llvm::equal(op.getRhsContract(), ArrayRef<int64_t>{1}) ||
      tensorType(op.getRhs()).getRank() != 2 || !row.hasStaticShape() ||
      row.getNumElements() != tensorType(op.getRhs()).getDimSize(1))
    return false;
  auto found = groupedIntegers(op.getRhs());
  if (!found)
    return false;
  ArrayRef<int64_t> shape = tensorType(found->integers).getShape();
  int64_t n = shape[0], groups = shape[1], group = shape[2];
  if (group < kFewest || group % kFewest)
    return false;
  auto integers = valueOf(found->integers, weights);
  if (!integers)
    return false;
  ArrayRef<char> numbers(integers->data(), integers->elements());
  std::optional<int> offset = group % (2 * kFewest) ? std::nullopt : offsetOf4Bits(numbers);
  bool halves = offset.has_value();

  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t width = halves ? group / 2 : group;
  auto planes = RankedTensorType::get({n, groups, width}, e);
  RowSum sum(b, loc, planes);
  Value x = prim::ReshapeOp::create(b, loc, RankedTensorType::get({groups, group}, e), op.getLhs(),
                                    ValueRange());
  bool isUnsigned = halves || tensorType(found->integers).getElementType().isUnsignedInteger();
  std::vector<char> bytes = halves ? packed(numbers, width, *offset) : numbers.vec();
  std::string name = weights.addOwned("integers", isUnsigned ? DType::U8 : DType::I8,
                                      planes.getShape(), std::move(bytes));
  Type byte = isUnsigned ? b.getIntegerType(8, /*isSigned=*/false) : b.getIntegerType(8);
  Value w = prim::WeightOp::create(b, loc, planes.clone(byte), b.getStringAttr(name));
  Value total, all = sum.ofRow(x, 0);
  if (halves) {
    Value other = sum.ofRow(x, width);
    Value low = sum.floats(sum.binary<prim::AndOp>(w, sum.splat(byte, 15)));
    Value high = sum.floats(sum.binary<prim::ShiftRightOp>(w, sum.splat(byte, 4)));
    total = sum.binary<prim::AddOp>(sum.binary<prim::MulOp>(low, all),
                                    sum.binary<prim::MulOp>(high, other));
    all = sum.binary<prim::AddOp>(all, other);
  } else {
    total = sum.binary<prim::MulOp>(sum.floats(w), all);
  }
  Value zeros = found->zeros ? sum.ofGroups(found->zeros) : Value();
  if (offset.value_or(0)) {
    Value more = sum.splat(e, *offset);
    zeros = zeros ? sum.binary<prim::AddOp>(zeros, more) : more;
  }
  if (zeros)
    total = sum.binary<prim::SubOp>(total, sum.binary<prim::MulOp>(zeros, all));
  total = sum.binary<prim::MulOp>(total, sum.ofGroups(found->scales));
  Value y = prim::ReduceOp::create(b, loc, RankedTensorType::get({n}, e), prim::ReduceKind::sum,
                                   total, ArrayRef<int64_t>{1, 2});
  op.replaceAllUsesWith(prim::ReshapeOp::create(b, loc, type, y, ValueRange()).getResult());
  op.erase();
  return true;
}
