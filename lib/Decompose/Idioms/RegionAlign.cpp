//===- RegionAlign.cpp - Regions of images, pooled ------------------------===//
//
// A region is cut into bins. Aligned, a bin is the mean (or the largest) of samples between pixels,
// at the same distances in each; there are as many for every region as that with most needs, and
// those too many do not count. In whole pixels a bin is a rectangle, so a mask of rows and one of
// columns say what it covers. Where every bin has channels of its own, each is a region of one bin,
// of an image that has those channels alone.
//
//===----------------------------------------------------------------------===//
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
  Value count;    ///< [R], below 1 where the region has no extent
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
    s.count = b.unary<prim::CeilOp>(bin);
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

/// Which elements of an axis of `extent` each bin of each region covers: [R, bins, extent]. Regions
/// end with the element at `end`; those of parts before it, and no bin of theirs has the axis'
/// last.
Value covered(PrimBuilder &b, Value begin, Value end, int64_t bins, Dim extent, bool parts) {
  Type t = b.elem(begin);
  Value length = b.maximum(b.add(b.sub(end, begin), parts ? 0.0 : 1.0), 1.0);
  Value bin = alongAxis(b, b.div(length, static_cast<double>(bins)), 0, 3);
  Value p = alongAxis(b, b.iota({b.dim(bins)}, 0, t), 1, 3);
  Value first = b.add(b.unary<prim::FloorOp>(b.mul(p, bin)), alongAxis(b, begin, 0, 3));
  Value last = b.add(b.unary<prim::CeilOp>(b.mul(b.add(p, 1.0), bin)), alongAxis(b, begin, 0, 3));
  if (parts)
    last = b.minimum(last, b.sub(scalarOf(b, extent, t), 1.0));
  Value at = alongAxis(b, b.iota({extent}, 0, t), 2, 3);
  return b.binary<prim::AndOp>(b.compare(P::ge, at, first), b.compare(P::lt, at, last));
}

/// To the nearest whole number, halves away from 0.
Value rounded(PrimBuilder &b, Value x) {
  Value size = b.abs(x), whole = b.unary<prim::FloorOp>(size);
  Value up = b.compare(P::ge, b.sub(size, whole), 0.5);
  return b.mul(b.unary<prim::SignOp>(x), b.select(up, b.add(whole, 1.0), whole));
}

/// Whether operands and numbers are of the right form, as a fault if not.
bool fit(PrimBuilder &b, Value x, Value regions, Value images, const RegionPooling &o) {
  if (b.rank(x) != 4 || b.rank(regions) != 2 || b.rank(images) != 1)
    b.fault("needs images, boxes and their batch indices");
  else if (o.height < 1 || o.width < 1 || o.samples < 0)
    b.fault("has an output size below 1");
  else
    return true;
  return false;
}

/// The samples of each bin of each region, added or the largest: [R, C, height, width].
Value pooledSamples(PrimBuilder &b, Value x, Value images, const Samples &y, const Samples &w,
                    int64_t height, int64_t width, K kind) {
  // [1, R, rows of samples, columns of samples]: images are one axis more of what is sampled, since
  // one for each region would be copied.
  Dims all = {b.dim(1), b.dim(images, 0), b.dim(y.position, 1), b.dim(w.position, 1)};
  Dims places(llvm::drop_begin(all));
  auto spread = [&](Value v, int64_t axis) {
    return b.broadcastTo(b.unsqueeze(v, {axis}), places);
  };
  auto spreadToAll = [&](Value v, int64_t axis) {
    return b.broadcastTo(b.unsqueeze(v, {0, axis}), all);
  };
  Value image =
      b.broadcastTo(b.unsqueeze(b.cast(images, b.builder().getI64Type()), {0, 2, 3}), all);
  SmallVector<SmallVector<SampleTap>> taps = {
      {{image, b.scalar(1, b.elem(x))}},
      linearTaps(b, spreadToAll(y.position, 3), b.dim(x, 2), false),
      linearTaps(b, spreadToAll(w.position, 2), b.dim(x, 3), false)};
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  Value pictures = b.unsqueeze(b.transpose(x, {1, 0, 2, 3}), {0});
  Value samples = b.transpose(b.squeeze(sampleAt(b, pictures, taps, kind), {0}), {1, 0, 2, 3});
  Value used = b.unsqueeze(b.binary<prim::AndOp>(spread(y.used, 2), spread(w.used, 1)), {1});
  double neutral = kind == K::sum ? 0 : -std::numeric_limits<double>::infinity();
  samples = b.select(used, samples, b.scalar(neutral, b.elem(x)));
  Dims split = {places[0], b.dim(x, 1), b.dim(height), y.grid, b.dim(width), w.grid};
  return b.reduce(kind, b.reshape(samples, split), {3, 5}, false);
}

/// What each of `have` bins of regions has, [R, have, ..], for each bin [height, width] of them:
/// [R * height * width, ..]. The bins are rows where `rows`, else columns.
Value ofEachBin(PrimBuilder &b, Value v, bool rows, const RegionPooling &o) {
  Value apart = b.unsqueeze(v, {rows ? 2 : 1});
  Dims shape = b.dims(apart);
  shape[1] = b.dim(o.height);
  shape[2] = b.dim(o.width);
  Dims flat(llvm::drop_begin(shape, 2));
  flat[0] = b.mulDims(shape[0], b.dim(o.height * o.width));
  return b.reshape(b.broadcastTo(apart, shape), flat);
}

/// Samples of regions, as those of regions of one bin.
Samples samplesOfBins(PrimBuilder &b, const Samples &s, bool rows, const RegionPooling &o) {
  Dims shape = {b.dim(s.count, 0), b.dim(rows ? o.height : o.width), s.grid};
  Value count = b.broadcastTo(b.unsqueeze(s.count, {1}), ArrayRef(shape).take_front(2));
  return {ofEachBin(b, b.reshape(s.position, shape), rows, o),
          ofEachBin(b, b.reshape(s.used, shape), rows, o), ofEachBin(b, count, rows, o), s.grid};
}

/// Images in which each bin has channels of its own, [N, C * bins, H, W], as one for each bin:
/// [N * bins, C, H, W].
Value imagesOfBins(PrimBuilder &b, Value x, const RegionPooling &o) {
  Dims d = b.dims(x);
  Dim bins = b.dim(o.height * o.width);
  Dim channels = wholeQuotient(b, d[1], bins, "the channels, a number for each bin,");
  Value apart = b.transpose(b.reshape(x, {d[0], channels, bins, d[2], d[3]}), {0, 2, 1, 3, 4});
  return b.reshape(apart, {b.mulDims(d[0], bins), channels, d[2], d[3]});
}

/// The image of each bin of each region among those.
Value imageOfEachBin(PrimBuilder &b, Value images, const RegionPooling &o) {
  Type t = b.elem(images);
  Value bin = b.iota({b.dim(o.height * o.width)}, 0, t);
  Value first = b.mul(images, static_cast<double>(o.height * o.width));
  Value all = b.add(b.unsqueeze(first, {1}), b.unsqueeze(bin, {0}));
  return b.reshape(all, {b.productOf(b.dims(all))});
}

/// [R * height * width, C] as [R, C, height, width].
Value ofEachRegion(PrimBuilder &b, Value v, Dim regions, const RegionPooling &o) {
  Dims shape = {regions, b.dim(o.height), b.dim(o.width), b.dim(v, 1)};
  return b.transpose(b.reshape(v, shape), {0, 3, 1, 2});
}

} // namespace

/// Bins are rectangles, so the maxima over rows come after those over columns.
Value tcc::maximaOfRegions(PrimBuilder &b, Value x, Value regions, Value images,
                           const RegionPooling &o) {
  if (!fit(b, x, regions, images, o))
    return {};
  auto bound = [&](int64_t i) { return rounded(b, b.mul(column(b, regions, i), o.scale)); };
  Value rows = covered(b, bound(1), bound(3), o.height, b.dim(x, 2), false);
  Value columns = covered(b, bound(0), bound(2), o.width, b.dim(x, 3), false);
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
  if (!fit(b, x, rois, images, o))
    return {};
  requireSame(b, b.dim(images, 0), b.dim(rois, 0), "boxes and their batch indices");
  for (int64_t axis : {2, 3})
    requireElements(b, b.dim(x, axis), b.dim(rois, 0), "regions of an image");
  Samples y = samplesAlong(b, o, column(b, rois, 1), column(b, rois, 3), o.height);
  Samples w = samplesAlong(b, o, column(b, rois, 0), column(b, rois, 2), o.width);
  Value result = pooledSamples(b, x, images, y, w, o.height, o.width, o.average ? K::sum : K::max);
  Value count = b.mul(b.maximum(y.count, 0.0), b.maximum(w.count, 0.0));
  count = alongAxis(b, count, 0, 4);
  if (o.average)
    result = b.div(result, b.maximum(count, 1.0));
  else
    result = b.select(b.compare(P::gt, count, 0.0), result, b.scalar(0, b.elem(x)));
  return b.cast(result, own);
}

/// Every bin is a region of one bin, of the images that are its own. The mean of no samples is NaN.
Value tcc::alignParts(PrimBuilder &b, Value x, Value regions, Value images,
                      const RegionPooling &o) {
  if (!fit(b, x, regions, images, o))
    return {};
  for (int64_t axis : {2, 3})
    requireElements(b, b.dim(x, axis), b.dim(regions, 0), "regions of an image");
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  Samples y = samplesAlong(b, o, column(b, regions, 1), column(b, regions, 3), o.height);
  Samples w = samplesAlong(b, o, column(b, regions, 0), column(b, regions, 2), o.width);
  y = samplesOfBins(b, y, true, o);
  w = samplesOfBins(b, w, false, o);
  Value sums =
      pooledSamples(b, imagesOfBins(b, x, o), imageOfEachBin(b, images, o), y, w, 1, 1, K::sum);
  Value means = b.div(b.squeeze(sums, {2, 3}), b.unsqueeze(b.mul(y.count, w.count), {1}));
  return ofEachRegion(b, means, b.dim(regions, 0), o);
}

Value tcc::meansOfParts(PrimBuilder &b, Value x, Value regions, Value images,
                        const RegionPooling &o) {
  if (!fit(b, x, regions, images, o))
    return {};
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  auto bound = [&](int64_t i) { return rounded(b, b.mul(column(b, regions, i), o.scale)); };
  Value rows = covered(b, bound(1), bound(3), o.height, b.dim(x, 2), true);
  Value columns = covered(b, bound(0), bound(2), o.width, b.dim(x, 3), true);
  rows = ofEachBin(b, rows, true, o);
  columns = ofEachBin(b, columns, false, o);
  // [R * bins, C, H, W], then without W, then without H.
  Value pictures = b.take(imagesOfBins(b, x, o), imageOfEachBin(b, images, o), 0);
  Value none = b.scalar(0, b.elem(x));
  Value sums = b.reduce(K::sum, b.select(b.unsqueeze(columns, {1, 2}), pictures, none), {3}, false);
  sums = b.reduce(K::sum, b.select(b.unsqueeze(rows, {1}), sums, none), {2}, false);
  auto count = [&](Value mask) { return b.reduce(K::sum, b.cast(mask, b.elem(x)), {1}, false); };
  Value area = b.maximum(b.mul(count(rows), count(columns)), 1.0);
  return ofEachRegion(b, b.div(sums, b.unsqueeze(area, {1})), b.dim(regions, 0), o);
}
