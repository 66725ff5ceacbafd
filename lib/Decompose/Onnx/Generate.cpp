//===- Generate.cpp - Tensors made from little ----------------------------===//
//
// Range, ConstantOfShape, EyeLike and the like take extents as data. Where those are host values
// the result is iota and arithmetic of an open extent; only extents that no one knows need the
// data first.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/OperandForms.h"
#include "Decompose/Onnx/Operands.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

namespace {

LogicalResult constant(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (Value value = c.tensorAttr("value"))
    return c.give(value);
  if (auto ints = c.intsAttr("value_ints"))
    return c.give(b.ints(*ints));
  if (auto floats = c.floatsAttr("value_floats")) {
    auto t =
        RankedTensorType::get({static_cast<int64_t>(floats->size())}, b.builder().getF32Type());
    SmallVector<float> values(floats->begin(), floats->end());
    return c.give(b.constant(DenseElementsAttr::get(t, ArrayRef<float>(values))));
  }
  if (c.hasAttr("value_int"))
    return c.give(scalarOf(b, b.dim(c.intAttr("value_int", 0)), b.builder().getI64Type()));
  if (c.hasAttr("value_float"))
    return c.give(b.scalar(c.floatAttr("value_float", 0), b.builder().getF32Type()));
  return c.fail("only number tensors are supported");
}

LogicalResult constantOfShape(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto shape = hostInts(c, 0, resultRank(c, 0));
  if (failed(shape))
    return failure();
  for (Dim d : *shape)
    if (b.known(d).value_or(0) < 0)
      return c.fail("has a negative extent");
  Value value = c.tensorAttr("value");
  if (!value)
    value = b.scalar(0, b.builder().getF32Type());
  else if (b.type(value).getNumElements() != 1)
    return c.fail("'value' must have one element");
  return c.give(b.full(*shape, b.reshape(value, ArrayRef<Dim>())));
}

/// ceil((limit - start) / delta) as an extent.
FailureOr<Dim> rangeCount(NodeContext &c, Value start, Value limit, Value delta) {
  PrimBuilder &b = c.b;
  if (isa<IntegerType>(b.elem(start))) {
    Dim from = b.readElements(start)[0], to = b.readElements(limit)[0],
        step = b.readElements(delta)[0];
    if (b.known(step) == 0)
      return c.fail("has a step of 0");
    if (!b.known(step))
      b.check(b.compareDims(Cmp::ne, step, b.dim(0)), "Range: the step is 0");
    if (auto low = b.known(from), high = b.known(to); low && high)
      if (int64_t span; llvm::SubOverflow(*high, *low, span))
        return c.fail("would give more elements than any tensor has");
    if (b.known(step).value_or(1) < 0)
      return b.maxDims(b.ceilDivDims(b.subDims(from, to), b.subDims(b.dim(0), step)), b.dim(0));
    return b.maxDims(b.ceilDivDims(b.subDims(to, from), step), b.dim(0));
  }
  Type wide = b.builder().getF64Type();
  auto from = b.constantFloats(start), to = b.constantFloats(limit), step = b.constantFloats(delta);
  if (from && to && step)
    return extentOf(b, b.scalar(std::ceil(((*to)[0] - (*from)[0]) / (*step)[0]), wide));
  Value span = b.sub(b.cast(limit, wide), b.cast(start, wide));
  return extentOf(b, b.unary<prim::CeilOp>(b.div(span, b.cast(delta, wide))));
}

LogicalResult range(NodeContext &c) {
  PrimBuilder &b = c.b;
  // com.microsoft's may leave the step out.
  Value parts[3] = {{}, {}, b.scalar(1, b.elem(c.in(0)))};
  for (size_t i = 0; i < (c.has(2) ? 3 : 2); ++i) {
    auto part = scalarOperand(c, i);
    if (failed(part))
      return failure();
    parts[i] = *part;
  }
  auto [start, limit, delta] = parts;
  auto count = rangeCount(c, start, limit, delta);
  if (failed(count))
    return failure();
  Value index = b.iota({*count}, 0, b.elem(start));
  return c.give(b.add(b.mul(index, delta), start));
}

/// The index along each of the last two axes of a matrix, as [rows, 1] and [1, columns].
std::pair<Value, Value> rowAndColumn(PrimBuilder &b, Dim rows, Dim columns) {
  Type index = b.builder().getI64Type();
  return {b.unsqueeze(b.iota({rows}, 0, index), {1}),
          b.unsqueeze(b.iota({columns}, 0, index), {0})};
}

LogicalResult eyeLike(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  if (b.rank(x) != 2)
    return c.fail("needs a matrix");
  Type to = c.hasAttr("dtype") ? onnxElementType(b.context(), c.intAttr("dtype", 0)) : b.elem(x);
  if (!to)
    return c.fail("has an unknown element type");
  auto [row, column] = rowAndColumn(b, b.dim(x, 0), b.dim(x, 1));
  Value diagonal = b.add(row, static_cast<double>(c.intAttr("k", 0)));
  return c.give(b.cast(b.compare(P::eq, column, diagonal), to));
}

LogicalResult trilu(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t rank = b.rank(x);
  if (rank < 2)
    return c.fail("needs matrices");
  Value k = b.scalar(0, b.builder().getI64Type());
  if (c.has(1)) {
    auto given = scalarOperand(c, 1);
    if (failed(given))
      return failure();
    k = *given;
  }
  auto [row, column] = rowAndColumn(b, b.dim(x, rank - 2), b.dim(x, rank - 1));
  Value diagonal = b.add(row, k);
  bool upper = c.intAttr("upper", 1);
  Value keep = b.compare(upper ? P::ge : P::le, column, diagonal);
  return c.give(b.select(keep, x, b.scalar(0, b.elem(x))));
}

LogicalResult oneHot(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type index = b.builder().getI64Type();
  Value indices = b.cast(c.in(0), index), values = c.in(2);
  auto depthTensor = scalarOperand(c, 1);
  if (failed(depthTensor))
    return failure();
  Dim depth = b.readElements(b.cast(*depthTensor, index))[0];
  int64_t rank = b.rank(indices) + 1;
  auto axis = axisWithin(c, c.intAttr("axis", -1), rank);
  if (failed(axis))
    return failure();
  if (b.known(depth).value_or(0) < 0 || b.rank(values) != 1)
    return c.fail("needs a depth and two values");
  requireSame(b, b.dim(values, 0), b.dim(2), "the values off and on");
  Value size = scalarOf(b, depth, index);
  Value wrapped = b.select(b.compare(P::lt, indices, 0.0), b.add(indices, size), indices);
  Value position = alongAxis(b, b.iota({depth}, 0, index), *axis, rank);
  Value hit = b.compare(P::eq, b.unsqueeze(wrapped, {*axis}), position);
  auto pick = [&](int64_t i) {
    return b.reshape(b.sliceAxis(values, 0, b.dim(i), b.dim(1)), ArrayRef<Dim>());
  };
  return c.give(b.select(hit, pick(1), pick(0)));
}

} // namespace

void tcc::populateOnnxGenerateRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Constant", constant}, {"ConstantOfShape", constantOfShape},
      {"Range", range},       {"EyeLike", eyeLike},
      {"Trilu", trilu},       {"OneHot", oneHot}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
  rules.add("com.microsoft", "Range", range);
  rules.add("com.microsoft", "Trilu", trilu);
}
