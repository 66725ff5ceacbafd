//===- RoiAlign.cpp - RoiAlign and MaxRoiPool --------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/RegionAlign.h"
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

LogicalResult roiAlign(NodeContext &c) {
  RegionPooling o;
  o.scale = c.floatAttr("spatial_scale", 1);
  o.samples = c.intAttr("sampling_ratio", 0);
  o.halfPixel = c.version() >= 16 &&
                c.stringAttr("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  o.height = c.intAttr("output_height", 1);
  o.width = c.intAttr("output_width", 1);
  o.average = c.stringAttr("mode", "avg") != "max";
  Value result = alignRegions(c.b, c.in(0), c.in(1), c.in(2), o);
  return result ? c.give(result) : failure();
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
  Value image = b.cast(column(b, rois, 0), b.builder().getI64Type());
  requireInRange(b, image, b.dim(x, 0), IndexRange::positions);
  Value images = b.take(x, image, 0);
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
