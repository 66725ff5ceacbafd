//===- Col2Im.cpp - Col2Im, MaxUnpool, TensorScatter, DeformConv ------------===//
//
// Operators that put elements where windows say: the positions are computed
// from the extents, so that nothing here needs to be known at compile time, and
// written by one scatter (or, for DeformConv, read by weighted gathers).
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Sampling.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

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

/// Columns [N, C * block, positions] added up at the pixels they came from.
LogicalResult col2Im(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto image = hostInts(c, 1), block = hostInts(c, 2);
  if (failed(image) || failed(block))
    return failure();
  size_t spatial = image->size();
  SmallVector<int64_t> strides = listOr(c, "strides", spatial, 1),
                       dilations = listOr(c, "dilations", spatial, 1),
                       pads = listOr(c, "pads", 2 * spatial, 0);
  if (b.rank(x) != 3 || spatial < 1 || block->size() != spatial || strides.size() != spatial ||
      dilations.size() != spatial || pads.size() != 2 * spatial)
    return c.fail("image_shape, block_shape, strides, dilations and pads differ in length");
  if (llvm::any_of(strides, [](int64_t s) { return s < 1; }))
    return c.fail("has a stride below 1");
  Type i64 = b.builder().getI64Type();
  // The flat pixel of each (offset in the block..., position...), past the end when outside.
  Dims spread = *block;
  Value pixel, inside;
  for (size_t i = 0; i < spatial; ++i) {
    Dim padded = b.addDims((*image)[i], b.dim(pads[i] + pads[i + spatial]));
    Dim reach = b.mulDims(b.subDims((*block)[i], b.dim(1)), b.dim(dilations[i]));
    Dim count = b.addDims(
        b.floorDivDims(b.subDims(b.subDims(padded, reach), b.dim(1)), b.dim(strides[i])), b.dim(1));
    spread.push_back(b.maxDims(count, b.dim(0)));
  }
  for (size_t i = 0; i < spatial; ++i) {
    Value offset = b.mul(b.iota({spread[i]}, 0, i64), static_cast<double>(dilations[i]));
    Value start =
        b.sub(b.mul(b.iota({spread[spatial + i]}, 0, i64), static_cast<double>(strides[i])),
              static_cast<double>(pads[i]));
    Value at =
        b.add(alongAxis(b, offset, i, 2 * spatial), alongAxis(b, start, spatial + i, 2 * spatial));
    Value extent = scalarOf(b, (*image)[i], i64);
    Value within = b.binary<prim::AndOp>(b.compare(P::ge, at, 0.0), b.compare(P::lt, at, extent));
    pixel = pixel ? b.add(b.mul(pixel, extent), at) : at;
    inside = inside ? b.binary<prim::AndOp>(inside, within) : within;
  }
  Dim pixels = b.productOf(*image), columns = b.productOf(spread);
  Value position = b.select(inside, pixel, scalarOf(b, pixels, i64));
  Dim channels = b.floorDivDims(b.dim(x, 1), b.maxDims(b.productOf(*block), b.dim(1)));
  Dims planes = {b.dim(x, 0), channels};
  Dim rows = b.productOf(planes);
  Value updates = b.reshape(x, {rows, columns});
  Value indices = b.broadcastTo(b.reshape(b.broadcastTo(position, spread), {b.dim(1), columns}),
                                {rows, columns});
  Value zeros = b.full({rows, pixels}, 0, b.elem(x));
  Dims result = planes;
  result.append(*image);
  return c.give(
      b.reshape(scatterAlong(b, prim::ScatterKind::add, zeros, indices, updates, 1), result));
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
  Dims shape = {b.dim(x, 0), b.dim(x, 1)};
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(b.addDims(b.mulDims(b.subDims(b.dim(x, i + 2), b.dim(1)), b.dim(strides[i])),
                              b.dim((*kernel)[i] - pads[i] - pads[i + spatial])));
  Dim count = b.productOf(b.dims(x));
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
  Type i64 = b.builder().getI64Type();
  Value at = alongAxis(b, b.iota({b.dim(update, *axis)}, 0, i64), *axis, rank);
  if (c.has(2))
    at = b.add(at, alongAxis(b, b.cast(c.in(2), i64), 0, rank));
  if (c.stringAttr("mode", "linear") == "circular")
    at = b.binary<prim::ModOp>(at, scalarOf(b, b.dim(cache, *axis), i64));
  return c.give(scatterAlong(b, prim::ScatterKind::assign, cache, b.broadcastTo(at, b.dims(update)),
                             update, *axis));
}

/// Convolution whose taps are displaced, and weighted, by data. The taps are
/// read into columns [N, groups, C / g * kernel, positions], then a product.
LogicalResult deformConv(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0)), i64 = b.builder().getI64Type();
  Value x = widen(b, c.in(0)), w = widen(b, c.in(1)), offset = widen(b, c.in(2));
  Type t = b.elem(x);
  auto kernel = kernelOf(c, w);
  if (failed(kernel))
    return failure();
  auto window = onnxWindow(c, x, *kernel);
  int64_t groups = c.intAttr("group", 1), sets = c.intAttr("offset_group", 1);
  if (failed(window) || groups < 1 || sets < 1 || b.rank(offset) != b.rank(x))
    return failed(window) ? failure() : c.fail("has no groups, or offsets of another rank");
  size_t spatial = kernel->size();
  Dims have = b.dims(x), places = b.dims(offset);
  places.erase(places.begin(), places.begin() + 2);
  Dim taps = b.dim(1), count = b.productOf(places);
  for (int64_t extent : *kernel)
    taps = b.mulDims(taps, b.dim(extent));
  // [N, sets, taps, axes, places...]
  Dims split = {have[0], b.dim(sets), taps, b.dim(spatial)};
  split.append(places);
  Value displaced = b.reshape(offset, split);
  int64_t rank = 3 + spatial; // [N, sets, taps, places...]
  SmallVector<SmallVector<SampleTap>> corners;
  int64_t inner = 1;
  SmallVector<int64_t> tapStride(spatial, 1);
  for (size_t i = spatial; i-- > 0; inner *= (*kernel)[i])
    tapStride[i] = inner;
  Dims flat = {b.mulDims(have[0], b.dim(sets)), b.mulDims(taps, count)};
  for (size_t i = 0; i < spatial; ++i) {
    Value tap = b.iota({taps}, 0, i64);
    tap = b.binary<prim::FloorDivOp>(tap, b.scalar(static_cast<double>(tapStride[i]), i64));
    tap = b.binary<prim::ModOp>(tap, b.scalar(static_cast<double>((*kernel)[i]), i64));
    Value base = b.mul(b.iota({places[i]}, 0, t), static_cast<double>(window->window.strides[i]));
    base = b.sub(base, scalarOf(b, window->low[i], t));
    Value reach = b.mul(b.cast(tap, t), static_cast<double>(window->window.dilations[i]));
    Value moved = b.squeeze(b.sliceAxis(displaced, 3, b.dim(i), b.dim(1)), {3});
    Value position =
        b.add(b.add(moved, alongAxis(b, reach, 2, rank)), alongAxis(b, base, 3 + i, rank));
    corners.push_back(linearTaps(b, b.reshape(position, flat), have[2 + i], true));
  }
  // Channels of one set of offsets lie together.
  Dim perSet = b.floorDivDims(have[1], b.dim(sets));
  Dims bySet = {flat[0], perSet};
  bySet.append(have.begin() + 2, have.end());
  Value columns = sampleAt(b, b.reshape(x, bySet), corners); // [N * sets, C / sets, taps * count]
  if (c.has(4)) {
    Value mask = b.reshape(widen(b, c.in(4)), {flat[0], b.dim(1), flat[1]});
    columns = b.mul(columns, mask);
  }
  Dim g = b.dim(groups), perGroup = b.floorDivDims(have[1], g), outs = b.dim(w, 0);
  columns = b.reshape(columns, {have[0], g, b.mulDims(perGroup, taps), count});
  Value weight = b.reshape(w, {g, b.floorDivDims(outs, g), b.mulDims(perGroup, taps)});
  Value product = b.dot(weight, columns, {0}, {1}, {2}, {2}); // [g, O / g, N, count]
  Dims result = {have[0], outs};
  result.append(places);
  product = b.reshape(b.transpose(product, {2, 0, 1, 3}), result);
  if (c.has(3))
    product = b.add(product, alongAxis(b, widen(b, c.in(3)), 1, b.rank(x)));
  return c.give(b.cast(product, own));
}

} // namespace

void tcc::populateOnnxCol2ImRules(RuleSet &rules) {
  rules.add("onnx", "Col2Im", col2Im);
  rules.add("onnx", "MaxUnpool", maxUnpool);
  rules.add("onnx", "TensorScatter", tensorScatter);
  rules.add("onnx", "DeformConv", deformConv);
}
