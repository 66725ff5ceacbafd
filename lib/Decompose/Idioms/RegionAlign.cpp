//===- RegionAlign.cpp - Regions of images, pooled ------------------------===//
//
// A region is cut into bins. Aligned, a bin is the mean (or the largest) of samples between pixels,
// at the same distances in each. Where there are as many as a region's extent asks for, their mean
// is one of the pixels that it covers; in whole pixels, a bin is a rectangle of them anyway. Where
// every bin has channels of its own, each is a region of one bin, of an image that has those
// channels alone.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/RegionAlign.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/RegionPixels.h"
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
struct Samples : BinSamples {
  Value count; ///< [R], below 1 where the region has no extent
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
  s.bins = b.dim(bins);
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
  if (o.samples == 0) {
    Value used = b.compare(P::lt, i, alongAxis(b, s.count, 0, 3));
    s.used = b.reshape(b.broadcastTo(used, shape), flat);
  }
  return s;
}

/// Which elements of an axis of `extent` each bin of each region covers. Regions end with the
/// element at `end`; those of parts before it, and no bin of theirs has the axis' last.
Band covered(PrimBuilder &b, Value begin, Value end, int64_t bins, Dim extent, bool parts) {
  Type t = b.elem(begin), i64 = b.builder().getI64Type();
  Value length = b.maximum(b.add(b.sub(end, begin), parts ? 0.0 : 1.0), 1.0);
  Value bin = b.unsqueeze(b.div(length, static_cast<double>(bins)), {1});
  Value p = b.iota({b.dim(1), b.dim(bins)}, 1, t), most = scalarOf(b, extent, t);
  if (parts)
    most = b.sub(most, 1.0);
  auto inside = [&](Value at) {
    at = b.add(at, b.unsqueeze(begin, {1}));
    return b.cast(b.maximum(b.minimum(at, most), 0.0), i64);
  };
  Band band;
  band.first = inside(b.unary<prim::FloorOp>(b.mul(p, bin)));
  Value last = inside(b.unary<prim::CeilOp>(b.mul(b.add(p, 1.0), bin)));
  band.count = b.maximum(b.sub(last, band.first), 0.0);
  return band;
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

/// The samples of each bin of each region, added or the largest: [R, C, bins of y, bins of w].
Value pooledSamples(PrimBuilder &b, Value x, Value images, const Samples &y, const Samples &w,
                    K kind) {
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  if (!y.used || kind != K::sum)
    return combineSamples(b, x, images, y, w, kind);
  return combinePixels(b, x, images, bandOfSamples(b, y, b.dim(x, 2)),
                       bandOfSamples(b, w, b.dim(x, 3)), prim::ScatterKind::add);
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
  Samples bins;
  bins.position = ofEachBin(b, b.reshape(s.position, shape), rows, o);
  if (s.used)
    bins.used = ofEachBin(b, b.reshape(s.used, shape), rows, o);
  bins.bins = b.dim(1);
  bins.grid = s.grid;
  bins.count = ofEachBin(b, count, rows, o);
  return bins;
}

/// What bins of regions cover, as what regions of one bin do.
Band bandOfBins(PrimBuilder &b, const Band &band, bool rows, const RegionPooling &o) {
  auto apart = [&](Value v) { return ofEachBin(b, b.unsqueeze(v, {2}), rows, o); };
  return {apart(band.first), apart(band.count), {}};
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

Value tcc::maximaOfRegions(PrimBuilder &b, Value x, Value regions, Value images,
                           const RegionPooling &o) {
  if (!fit(b, x, regions, images, o))
    return {};
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  auto bound = [&](int64_t i) { return rounded(b, b.mul(column(b, regions, i), o.scale)); };
  Band rows = covered(b, bound(1), bound(3), o.height, b.dim(x, 2), false);
  Band columns = covered(b, bound(0), bound(2), o.width, b.dim(x, 3), false);
  // PyTorch begins with the lowest f32 and takes what is larger, which no NaN is.
  Value lowest = b.scalar(std::numeric_limits<float>::lowest(), b.elem(x));
  x = b.select(b.compare(P::gt, x, lowest), x, lowest);
  Value best = combinePixels(b, x, images, rows, columns, prim::ScatterKind::max);
  Value none = b.scalar(-std::numeric_limits<double>::infinity(), b.elem(x));
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
  Value result = pooledSamples(b, x, images, y, w, o.average ? K::sum : K::max);
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
  Value sums = pooledSamples(b, imagesOfBins(b, x, o), imageOfEachBin(b, images, o), y, w, K::sum);
  Value means = b.div(b.squeeze(sums, {2, 3}), b.unsqueeze(b.mul(y.count, w.count), {1}));
  return ofEachRegion(b, means, b.dim(regions, 0), o);
}

Value tcc::meansOfParts(PrimBuilder &b, Value x, Value regions, Value images,
                        const RegionPooling &o) {
  if (!fit(b, x, regions, images, o))
    return {};
  requireInRange(b, images, b.dim(x, 0), IndexRange::positions);
  auto bound = [&](int64_t i) { return rounded(b, b.mul(column(b, regions, i), o.scale)); };
  Band rows = covered(b, bound(1), bound(3), o.height, b.dim(x, 2), true);
  Band columns = covered(b, bound(0), bound(2), o.width, b.dim(x, 3), true);
  rows = bandOfBins(b, rows, true, o);
  columns = bandOfBins(b, columns, false, o);
  Value sums = combinePixels(b, imagesOfBins(b, x, o), imageOfEachBin(b, images, o), rows, columns,
                             prim::ScatterKind::add);
  Value area = b.cast(b.maximum(b.mul(rows.count, columns.count), 1.0), b.elem(x));
  return ofEachRegion(b, b.div(b.squeeze(sums, {2, 3}), area), b.dim(regions, 0), o);
}
