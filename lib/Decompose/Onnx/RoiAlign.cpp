//===- RoiAlign.cpp - RoiAlign and MaxRoiPool --------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Sampling.h"
#include "Decompose/Onnx/Operands.h"
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

struct RoiOptions {
  double scale = 1;
  int64_t ratio = 0;
  bool halfPixel = true;
};

Samples samplesAlong(PrimBuilder &b, const RoiOptions &o, Value begin, Value end, int64_t bins) {
  Type t = b.elem(begin), i64 = b.builder().getI64Type();
  double offset = o.halfPixel ? 0.5 : 0;
  Value start = b.sub(b.mul(begin, o.scale), offset);
  Value length = b.sub(b.sub(b.mul(end, o.scale), offset), start);
  if (!o.halfPixel) // regions of no extent are one pixel
    length = b.maximum(length, 1.0);
  Value bin = b.div(length, static_cast<double>(bins));
  Samples s;
  if (o.ratio > 0) {
    s.grid = b.dim(o.ratio);
    s.count = b.full({b.dim(begin, 0)}, static_cast<double>(o.ratio), t);
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

LogicalResult roiAlign(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0)), rois = b.cast(c.in(1), b.elem(x));
  if (b.rank(x) != 4 || b.rank(rois) != 2 || b.rank(c.in(2)) != 1)
    return c.fail("needs images, boxes and their batch indices");
  RoiOptions o;
  o.scale = c.floatAttr("spatial_scale", 1);
  o.ratio = c.intAttr("sampling_ratio", 0);
  o.halfPixel = c.version() >= 16 &&
                c.stringAttr("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  int64_t height = c.intAttr("output_height", 1), width = c.intAttr("output_width", 1);
  if (height < 1 || width < 1 || o.ratio < 0)
    return c.fail("has an output size below 1");
  Samples y = samplesAlong(b, o, column(b, rois, 1), column(b, rois, 3), height);
  Samples w = samplesAlong(b, o, column(b, rois, 0), column(b, rois, 2), width);
  // [R, rows of samples, columns of samples]
  Dims places = {b.dim(rois, 0), b.dim(y.position, 1), b.dim(w.position, 1)};
  auto spread = [&](Value v, int64_t axis) {
    return b.broadcastTo(b.unsqueeze(v, {axis}), places);
  };
  SmallVector<SmallVector<SampleTap>> taps = {
      linearTaps(b, spread(y.position, 2), b.dim(x, 2), false),
      linearTaps(b, spread(w.position, 1), b.dim(x, 3), false)};
  Value images = b.take(x, c.in(2), 0);
  bool average = c.stringAttr("mode", "avg") != "max";
  Value samples = sampleAt(b, images, taps, average ? K::sum : K::max);
  Value used = b.unsqueeze(b.binary<prim::AndOp>(spread(y.used, 2), spread(w.used, 1)), {1});
  double neutral = average ? 0 : -std::numeric_limits<double>::infinity();
  samples = b.select(used, samples, b.scalar(neutral, b.elem(x)));
  samples =
      b.reshape(samples, {places[0], b.dim(x, 1), b.dim(height), y.grid, b.dim(width), w.grid});
  Value result = b.reduce(average ? K::sum : K::max, samples, {3, 5}, false);
  Value count = alongAxis(b, b.mul(y.count, w.count), 0, 4);
  if (average)
    result = b.div(result, b.maximum(count, 1.0));
  else
    result = b.select(b.compare(P::gt, count, 0.0), result, b.scalar(0, b.elem(x)));
  return c.give(b.cast(result, b.elem(c.in(0))));
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

/// The largest element of each bin; bins are rectangles, so rows after columns.
LogicalResult maxRoiPool(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), rois = c.in(1);
  auto shape = c.intsAttr("pooled_shape");
  if (b.rank(x) != 4 || b.rank(rois) != 2 || !shape || shape->size() != 2 || (*shape)[0] < 1 ||
      (*shape)[1] < 1)
    return c.fail("needs images, boxes and 'pooled_shape'");
  double scale = c.floatAttr("spatial_scale", 1);
  auto bound = [&](int64_t i) { return b.unary<prim::RoundOp>(b.mul(column(b, rois, i), scale)); };
  Value rows = covered(b, bound(2), bound(4), (*shape)[0], b.dim(x, 2));
  Value columns = covered(b, bound(1), bound(3), (*shape)[1], b.dim(x, 3));
  Value images = b.take(x, b.cast(column(b, rois, 0), b.builder().getI64Type()), 0);
  Value none = b.scalar(-std::numeric_limits<double>::infinity(), b.elem(x));
  // [R, C, H, 1, W] and [R, 1, 1, bins, W], then the same over H.
  Value inRow = b.select(b.unsqueeze(columns, {1, 2}), b.unsqueeze(images, {3}), none);
  Value byRow = b.reduce(K::max, inRow, {4}, false); // [R, C, H, PW]
  Value inBin = b.select(b.unsqueeze(rows, {1, 4}), b.unsqueeze(byRow, {2}), none);
  Value best = b.reduce(K::max, inBin, {3}, false);
  Value empty = b.compare(P::eq, best, none);
  return c.give(b.select(empty, b.scalar(0, b.elem(x)), best));
}

} // namespace

void tcc::populateOnnxRoiAlignRules(RuleSet &rules) {
  rules.add("onnx", "RoiAlign", roiAlign);
  rules.add("onnx", "MaxRoiPool", maxRoiPool);
}
