#include "Decompose/Idioms/DeformableConv.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Sampling.h"

using namespace mlir;
using namespace tcc;

Value tcc::deformableConv(PrimBuilder &b, const DeformableConv &o) {
  Type own = b.elem(o.x), i64 = b.builder().getI64Type();
  Value x = widen(b, o.x), w = widen(b, o.weight), offset = widen(b, o.offset);
  Type t = b.elem(x);
  if (o.groups < 1 || o.sets < 1 || b.rank(offset) != b.rank(x)) {
    b.fault("has no groups, or offsets of another rank");
    return {};
  }
  size_t spatial = o.kernel.size();
  Dims have = b.dims(x), places = b.dims(offset);
  places.erase(places.begin(), places.begin() + 2);
  Dim taps = b.dim(1), count = b.productOf(places);
  for (int64_t extent : o.kernel)
    taps = b.mulDims(taps, b.dim(extent));
  Dim perSet = wholeQuotient(b, have[1], b.dim(o.sets), "channels in sets of offsets");
  Dim perGroup = wholeQuotient(b, have[1], b.dim(o.groups), "channels in groups");
  Dim outs = b.dim(w, 0), outsEach = wholeQuotient(b, outs, b.dim(o.groups), "filters in groups");
  requireSame(b, b.dim(w, 1), perGroup, "channels of the weight");
  requireSame(b, b.dim(offset, 0), have[0], "offsets and input");
  requireSame(b, b.dim(offset, 1), b.mulDims(taps, b.dim(spatial * o.sets)), "offsets of the taps");
  for (size_t i = 0; i < spatial; ++i) {
    Dim padded = b.addDims(have[2 + i], b.addDims(o.low[i], o.high[i]));
    Dim last = b.subDims(padded, b.dim((o.kernel[i] - 1) * o.dilations[i] + 1));
    Dim extent = b.addDims(b.floorDivDims(last, b.dim(o.strides[i])), b.dim(1));
    requireSame(b, places[i], extent, "offsets and the positions of the kernel");
  }
  // [N, sets, taps, axes, places...]
  Dims split = {have[0], b.dim(o.sets), taps, b.dim(spatial)};
  split.append(places);
  Value displaced = b.reshape(offset, split);
  int64_t rank = 3 + spatial; // [N, sets, taps, places...]
  SmallVector<SmallVector<SampleTap>> corners;
  int64_t inner = 1;
  SmallVector<int64_t> tapStride(spatial, 1);
  for (size_t i = spatial; i-- > 0; inner *= o.kernel[i])
    tapStride[i] = inner;
  Dims flat = {b.mulDims(have[0], b.dim(o.sets)), b.mulDims(taps, count)};
  for (size_t i = 0; i < spatial; ++i) {
    Value tap = b.iota({taps}, 0, i64);
    tap = b.binary<prim::FloorDivOp>(tap, b.scalar(static_cast<double>(tapStride[i]), i64));
    tap = b.binary<prim::ModOp>(tap, b.scalar(static_cast<double>(o.kernel[i]), i64));
    Value base = b.mul(b.iota({places[i]}, 0, t), static_cast<double>(o.strides[i]));
    base = b.sub(base, scalarOf(b, o.low[i], t));
    Value reach = b.mul(b.cast(tap, t), static_cast<double>(o.dilations[i]));
    Value moved = b.squeeze(b.sliceAxis(displaced, 3, b.dim(i), b.dim(1)), {3});
    Value position =
        b.add(b.add(moved, alongAxis(b, reach, 2, rank)), alongAxis(b, base, 3 + i, rank));
    corners.push_back(linearTaps(b, b.reshape(position, flat), have[2 + i], true));
  }
  // Channels of one set of offsets lie together.
  Dims bySet = {flat[0], perSet};
  bySet.append(have.begin() + 2, have.end());
  Value columns = sampleAt(b, b.reshape(x, bySet), corners); // [N * sets, C / sets, taps * count]
  if (o.mask) {
    Dims masks = {have[0], b.mulDims(taps, b.dim(o.sets))};
    masks.append(places);
    for (auto [axis, extent] : llvm::enumerate(masks))
      requireSame(b, b.dim(o.mask, axis), extent, "the mask of the taps");
    columns = b.mul(columns, b.reshape(widen(b, o.mask), {flat[0], b.dim(1), flat[1]}));
  }
  Dim g = b.dim(o.groups);
  columns = b.reshape(columns, {have[0], g, b.mulDims(perGroup, taps), count});
  Value weight = b.reshape(w, {g, outsEach, b.mulDims(perGroup, taps)});
  Value product = b.dot(weight, columns, {0}, {1}, {2}, {2}); // [g, O / g, N, count]
  Dims result = {have[0], outs};
  result.append(places);
  product = b.reshape(b.transpose(product, {2, 0, 1, 3}), result);
  if (o.bias) {
    requireSame(b, b.dim(o.bias, 0), outs, "bias and filters");
    product = b.add(product, alongAxis(b, widen(b, o.bias), 1, b.rank(x)));
  }
  return b.cast(product, own);
}
