//===- Col2Im.cpp - Col2Im, MaxUnpool, TensorScatter, DeformConv ------------===//
//
// Operators that put elements where windows say, or read them there.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/ColumnsToImage.h"
#include "Decompose/Idioms/DeformableConv.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;

namespace {

Value scatterAlong(PrimBuilder &b, prim::ScatterKind kind, Value x, Value indices, Value updates,
                   int64_t axis) {
  return prim::ScatterAlongOp::create(b.builder(), b.location(), x.getType(), kind, x, indices,
                                      updates, axis)
      .getResult();
}

SmallVector<int64_t> listOr(NodeContext &c, StringRef name, size_t count, int64_t otherwise) {
  SmallVector<int64_t> list = c.intsAttr(name).value_or(SmallVector<int64_t>());
  if (list.empty())
    list.assign(count, otherwise);
  return list;
}

LogicalResult col2Im(NodeContext &c) {
  auto image = hostInts(c, 1), block = hostInts(c, 2);
  if (failed(image) || failed(block))
    return failure();
  size_t spatial = image->size();
  ColumnBlocks o{*image, *block, listOr(c, "strides", spatial, 1),
                 listOr(c, "dilations", spatial, 1), listOr(c, "pads", 2 * spatial, 0)};
  Value result = columnsToImage(c.b, c.in(0), o);
  return result ? c.give(result) : failure();
}

/// Elements at the flat positions that MaxPool gave, zeros elsewhere.
LogicalResult maxUnpool(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto kernel = c.intsAttr("kernel_shape");
  int64_t spatial = b.rank(x) - 2;
  if (!kernel || spatial < 1 || static_cast<int64_t>(kernel->size()) != spatial)
    return c.fail("needs 'kernel_shape' with an entry for each spatial axis");
  SmallVector<int64_t> strides = listOr(c, "strides", spatial, 1),
                       pads = listOr(c, "pads", 2 * spatial, 0);
  if (static_cast<int64_t>(strides.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial)
    return c.fail("strides and pads differ in length from 'kernel_shape'");
  if (b.rank(c.in(1)) != b.rank(x))
    return c.fail("needs an index for each element");
  for (auto [have, want] : llvm::zip(b.dims(c.in(1)), b.dims(x)))
    requireSame(b, have, want, "MaxUnpool's indices");
  Dims shape = {b.dim(x, 0), b.dim(x, 1)};
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(b.addDims(b.mulDims(b.subDims(b.dim(x, i + 2), b.dim(1)), b.dim(strides[i])),
                              b.dim((*kernel)[i] - pads[i] - pads[i + spatial])));
  Dim count = b.productOf(b.dims(x));
  requireInRange(b, c.in(1), b.productOf(shape), IndexRange::positions);
  Value zeros = b.full({b.productOf(shape)}, 0, b.elem(x));
  Value result = scatterAlong(b, prim::ScatterKind::assign, zeros,
                              b.cast(b.reshape(c.in(1), {count}), b.builder().getI64Type()),
                              b.reshape(x, {count}), 0);
  result = b.reshape(result, shape);
  if (!c.has(2))
    return c.give(result);
  auto wanted = hostInts(c, 2, b.rank(x));
  if (failed(wanted))
    return failure();
  if (wanted->size() != shape.size())
    return c.fail("'output_shape' has the wrong length");
  Dims low(shape.size(), b.dim(0)), high;
  for (auto [have, want] : llvm::zip(shape, *wanted))
    high.push_back(b.subDims(want, have));
  return c.give(b.pad(result, b.scalar(0, b.elem(x)), low, high));
}

/// A KV cache with new entries written at a position of each batch entry.
LogicalResult tensorScatter(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value cache = c.in(0), update = c.in(1);
  int64_t rank = b.rank(cache);
  auto axis = axisWithin(c, c.intAttr("axis", -2), rank);
  if (failed(axis))
    return failure();
  if (*axis == 0 || b.rank(update) != rank)
    return c.fail("needs an axis other than the batch, and operands of one rank");
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis)
      requireSame(b, b.dim(update, i), b.dim(cache, i), "TensorScatter's update");
  Type i64 = b.builder().getI64Type();
  Value at = alongAxis(b, b.iota({b.dim(update, *axis)}, 0, i64), *axis, rank);
  if (c.has(2))
    at = b.add(at, alongAxis(b, b.cast(c.in(2), i64), 0, rank));
  if (c.stringAttr("mode", "linear") == "circular")
    at = b.binary<prim::ModOp>(at, scalarOf(b, b.dim(cache, *axis), i64));
  else
    requireInRange(b, at, b.dim(cache, *axis), IndexRange::positions);
  return c.give(scatterAlong(b, prim::ScatterKind::assign, cache, b.broadcastTo(at, b.dims(update)),
                             update, *axis));
}

LogicalResult deformConv(NodeContext &c) {
  PrimBuilder &b = c.b;
  DeformableConv o{c.in(0), c.in(1), c.in(2), c.inOr(3, {}), c.inOr(4, {})};
  auto kernel = kernelOf(c, o.weight);
  if (failed(kernel))
    return failure();
  auto window = onnxWindow(c, o.x, *kernel);
  if (failed(window))
    return failure();
  o.kernel = *kernel;
  o.strides.assign(window->window.strides.begin(), window->window.strides.end());
  o.dilations.assign(window->window.dilations.begin(), window->window.dilations.end());
  o.low = window->low;
  o.high = window->high;
  o.groups = c.intAttr("group", 1);
  o.sets = c.intAttr("offset_group", 1);
  Value result = deformableConv(b, o);
  return result ? c.give(result) : failure();
}

} // namespace

void tcc::populateOnnxCol2ImRules(RuleSet &rules) {
  rules.add("onnx", "Col2Im", col2Im);
  rules.add("onnx", "MaxUnpool", maxUnpool);
  rules.add("onnx", "TensorScatter", tensorScatter);
  rules.add("onnx", "DeformConv", deformConv);
}
