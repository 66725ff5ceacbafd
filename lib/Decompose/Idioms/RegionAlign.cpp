#include "Decompose/Idioms/RegionAlign.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Sampling.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

/// Column i of a matrix, as a vector.
Value column(PrimBuilder &b, Value matrix, int64_t i) {
  return b.squeeze(b.sliceAxis(matrix, 1, b.dim(i), b.dim(1)), {1});
}

/// The samples of RoiAlign along one axis of each region.
struct Samples {
  Value position; ///< [R, bins * grid]
  Value used;     ///< likewise: whether the sample counts
  Value count;    ///< [R]
  Dim grid;       ///< samples a bin, for the region that has most
};

Samples samplesAlong(PrimBuilder &b, const RegionPooling &o, Value begin, Value end, int64_t bins) {
  Type t = b.elem(begin), i64 = b.builder().getI64Type();
  double offset = o.halfPixel ? 0.5 : 0;
  Value start = b.sub(b.mul(begin, o.scale), offset);
  Value length = b.sub(b.sub(b.mul(end, o.scale), offset), start);
  if (!o.halfPixel) // regions of no extent are one pixel
    length = b.maximum(length, 1.0);
  Value bin = b.div(length, static_cast<double>(bins));
  Samples s;
  if (o.samples > 0) {
    s.grid = b.dim(o.samples);
    s.count = b.full({b.dim(begin, 0)}, static_cast<double>(o.samples), t);
  } else {
    s.count = b.maximum(b.unary<prim::CeilOp>(bin), 0.0);
    Value most = b.maximum(b.reduce(K::max, s.count, {0}, false), 1.0);
    s.grid = b.readElements(b.cast(most, i64))[0];
  }
  // start + bin * (p + (i + 0.5) / count)
  Dims shape = {b.dim(begin, 0), b.dim(bins), s.grid};
  Value p = alongAxis(b, b.iota({b.dim(bins)}, 0, t), 1, 3);
  Value i = alongAxis(b, b.iota({s.grid}, 0, t), 2, 3);
  Value count = alongAxis(b, b.maximum(s.count, 1.0), 0, 3);
  Value inBin = b.add(p, b.div(b.add(i, 0.5), count));
  Value position = b.add(alongAxis(b, start, 0, 3), b.mul(alongAxis(b, bin, 0, 3), inBin));
  Dims flat = {shape[0], b.mulDims(shape[1], shape[2])};
  s.position = b.reshape(b.broadcastTo(position, shape), flat);
  Value used = b.compare(P::lt, i, alongAxis(b, s.count, 0, 3));
  s.used = b.reshape(b.broadcastTo(used, shape), flat);
  return s;
}

/// Which elements of an axis of `extent` each bin of each region covers: [R, bins, extent].
Value covered(PrimBuilder &b, Value begin, Value end, int64_t bins, Dim extent) {
  Type t = b.elem(begin);
  Value length = b.maximum(b.add(b.sub(end, begin), 1.0), 1.0);
  Value bin = alongAxis(b, b.div(length, static_cast<double>(bins)), 0, 3);
  Value p = alongAxis(b, b.iota({b.dim(bins)}, 0, t), 1, 3);
  Value first = b.add(b.unary<prim::FloorOp>(b.mul(p, bin)), alongAxis(b, begin, 0, 3));
  Value last = b.add(b.unary<prim::CeilOp>(b.mul(b.add(p, 1.0), bin)), alongAxis(b, begin, 0, 3));
  Value at = alongAxis(b, b.iota({extent}, 0, t), 2, 3);
  return b.binary<prim::AndOp>(b.compare(P::ge, at, first), b.compare(P::lt, at, last));
}

/// To the nearest whole number, halves away from 0.
Value rounded(PrimBuilder &b, Value x) {
  Value size = b.abs(x), whole = b.unary<prim::FloorOp>(size);
  Value up = b.compare(P::ge, b.sub(size, whole), 0.5);
  return b.mul(b.unary<prim::SignOp>(x), b.select(up, b.add(whole, 1.0), whole));
}

} // namespace

/// Bins are rectangles, so the maxima over rows come after those over columns.
Value tcc::maximaOfRegions(PrimBuilder &b, Value x, Value regions, Value images,
                           const RegionPooling &o) {
  if (b.rank(x) != 4 || b.rank(regions) != 2 || b.rank(images) != 1) {
    b.fault("needs images, boxes and their batch indices");
    return {};
  }
  if (o.height < 1 || o.width < 1) {
    b.fault("has an output size below 1");
    return {};
  }
  auto bound = [&](int64_t i) { return rounded(b, b.mul(column(b, regions, i), o.scale)); };
  Value rows = covered(b, bound(1), bound(3), o.height, b.dim(x, 2));
  Value columns = covered(b, bound(0), bound(2), o.width, b.dim(x, 3));
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  Value pictures = b.take(x, images, 0);
  Value none = b.scalar(-std::numeric_limits<double>::infinity(), b.elem(x));
  // [R, C, H, 1, W] and [R, 1, 1, bins, W], then the same over H.
  Value inRow = b.select(b.unsqueeze(columns, {1, 2}), b.unsqueeze(pictures, {3}), none);
  Value byRow = b.reduce(K::max, inRow, {4}, false); // [R, C, H, PW]
  Value inBin = b.select(b.unsqueeze(rows, {1, 4}), b.unsqueeze(byRow, {2}), none);
  Value best = b.reduce(K::max, inBin, {3}, false);
  return b.select(b.compare(P::eq, best, none), b.scalar(0, b.elem(x)), best);
}

Value tcc::alignRegions(PrimBuilder &b, Value given, Value regions, Value images,
                        const RegionPooling &o) {
  Type own = b.elem(given);
  Value x = widen(b, given), rois = b.cast(regions, b.elem(x));
  if (b.rank(x) != 4 || b.rank(rois) != 2 || b.rank(images) != 1) {
    b.fault("needs images, boxes and their batch indices");
    return {};
  }
  if (o.height < 1 || o.width < 1 || o.samples < 0) {
    b.fault("has an output size below 1");
    return {};
  }
  requireSame(b, b.dim(images, 0), b.dim(rois, 0), "boxes and their batch indices");
  for (int64_t axis : {2, 3})
    requireElements(b, b.dim(x, axis), b.dim(rois, 0), "regions of an image");
  Samples y = samplesAlong(b, o, column(b, rois, 1), column(b, rois, 3), o.height);
  Samples w = samplesAlong(b, o, column(b, rois, 0), column(b, rois, 2), o.width);
  // [R, rows of samples, columns of samples]
  Dims places = {b.dim(rois, 0), b.dim(y.position, 1), b.dim(w.position, 1)};
  auto spread = [&](Value v, int64_t axis) {
    return b.broadcastTo(b.unsqueeze(v, {axis}), places);
  };
  SmallVector<SmallVector<SampleTap>> taps = {
      linearTaps(b, spread(y.position, 2), b.dim(x, 2), false),
      linearTaps(b, spread(w.position, 1), b.dim(x, 3), false)};
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  Value pictures = b.take(x, images, 0);
  Value samples = sampleAt(b, pictures, taps, o.average ? K::sum : K::max);
  Value used = b.unsqueeze(b.binary<prim::AndOp>(spread(y.used, 2), spread(w.used, 1)), {1});
  double neutral = o.average ? 0 : -std::numeric_limits<double>::infinity();
  samples = b.select(used, samples, b.scalar(neutral, b.elem(x)));
  samples =
      b.reshape(samples, {places[0], b.dim(x, 1), b.dim(o.height), y.grid, b.dim(o.width), w.grid});
  Value result = b.reduce(o.average ? K::sum : K::max, samples, {3, 5}, false);
  Value count = alongAxis(b, b.mul(y.count, w.count), 0, 4);
  if (o.average)
    result = b.div(result, b.maximum(count, 1.0));
  else
    result = b.select(b.compare(P::gt, count, 0.0), result, b.scalar(0, b.elem(x)));
  return b.cast(result, own);
}
