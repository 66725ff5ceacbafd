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

LogicalResult maxRoiPool(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value rois = c.in(1);
  auto shape = c.intsAttr("pooled_shape");
  if (b.rank(rois) != 2 || !shape || shape->size() != 2)
    return c.fail("needs images, boxes and 'pooled_shape'");
  RegionPooling o;
  o.height = (*shape)[0];
  o.width = (*shape)[1];
  o.scale = c.floatAttr("spatial_scale", 1);
  Value image = b.cast(column(b, rois, 0), b.builder().getI64Type());
  Value result = maximaOfRegions(b, c.in(0), b.sliceAxis(rois, 1, b.dim(1), b.dim(4)), image, o);
  return result ? c.give(result) : failure();
}

/// Where `count` points of each box lie along an axis of `extent` elements: evenly from its `begin`
/// to its `end`, which are fractions of the axis, or one in the middle. [R, count].
Value pointsOfBoxes(PrimBuilder &b, Value begin, Value end, Dim count, Dim extent) {
  Type t = b.elem(begin);
  Value last = b.sub(scalarOf(b, count, t), 1.0), top = b.sub(scalarOf(b, extent, t), 1.0);
  begin = b.unsqueeze(begin, {1});
  end = b.unsqueeze(end, {1});
  Value step = b.div(b.mul(b.sub(end, begin), top), b.maximum(last, 1.0));
  Value i = b.unsqueeze(b.iota({count}, 0, t), {0});
  Value at = b.add(b.mul(begin, top), b.mul(i, step));
  at = b.select(b.compare(P::eq, i, last), b.mul(end, top), at);
  Value middle = b.mul(b.mul(b.add(begin, end), 0.5), top);
  return b.select(b.compare(P::eq, last, 0.0), middle, at);
}

/// TensorFlow's: points of boxes [y, x, y, x], read between four pixels or at the nearest.
LogicalResult cropAndResize(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), boxes = c.in(1);
  std::string mode = c.stringAttr("mode", "bilinear");
  if (b.rank(x) != 4 || b.rank(boxes) != 2 || b.rank(c.in(2)) != 1 || b.elem(boxes) != b.elem(x))
    return c.fail("needs images, boxes and a vector of which image each box is in");
  if (mode != "bilinear" && mode != "nearest")
    return c.fail("has an unknown mode '" + mode + "'");
  requireSame(b, b.dim(boxes, 1), b.dim(4), "the columns of boxes");
  requireSame(b, b.dim(boxes, 0), b.dim(c.in(2), 0), "the boxes and their images");
  auto size = hostInts(c, 3, 2);
  if (failed(size))
    return failure();
  if (size->size() != 2)
    return c.fail("needs a height and a width");
  Type index = b.builder().getI64Type();
  Value image = b.cast(c.in(2), index);
  requireInRange(b, image, b.dim(x, 0), IndexRange::positions);
  Dims have = b.dims(x);
  Value images = b.take(b.reshape(x, {have[0], have[1], b.mulDims(have[2], have[3])}), image, 0);
  Value y = b.unsqueeze(
      pointsOfBoxes(b, column(b, boxes, 0), column(b, boxes, 2), (*size)[0], have[2]), {2});
  Value z = b.unsqueeze(
      pointsOfBoxes(b, column(b, boxes, 1), column(b, boxes, 3), (*size)[1], have[3]), {1});
  auto outside = [&](Value at, Dim extent) {
    Value top = b.sub(scalarOf(b, extent, b.elem(at)), 1.0);
    return b.binary<prim::OrOp>(b.compare(P::lt, at, 0.0), b.compare(P::gt, at, top));
  };
  auto inside = [&](Value at, Dim extent) {
    Value place = b.maximum(b.cast(at, index), 0.0);
    return b.minimum(place, b.sub(scalarOf(b, extent, index), 1.0));
  };
  Dims result = {b.dim(images, 0), have[1], (*size)[0], (*size)[1]};
  auto read = [&](Value row, Value col) {
    Value place =
        b.add(b.mul(inside(row, have[2]), scalarOf(b, have[3], index)), inside(col, have[3]));
    Dims flat = {result[0], result[1], b.mulDims(result[2], result[3])};
    place = b.unsqueeze(b.reshape(place, {flat[0], flat[2]}), {1});
    return b.reshape(b.takeAlong(images, b.broadcastTo(place, flat), 2), result);
  };
  Value value;
  if (mode == "nearest") {
    // Halves go up, and points are not below 0.
    auto nearest = [&](Value at) { return b.unary<prim::FloorOp>(b.add(at, 0.5)); };
    value = read(nearest(y), nearest(z));
  } else {
    Value top = b.unary<prim::FloorOp>(y), bottom = b.unary<prim::CeilOp>(y);
    Value left = b.unary<prim::FloorOp>(z), right = b.unary<prim::CeilOp>(z);
    auto between = [&](Value from, Value to, Value share) {
      return b.add(from, b.mul(b.sub(to, from), b.unsqueeze(share, {1})));
    };
    Value across = b.sub(z, left);
    value = between(between(read(top, left), read(top, right), across),
                    between(read(bottom, left), read(bottom, right), across), b.sub(y, top));
  }
  Value none = b.binary<prim::OrOp>(outside(y, have[2]), outside(z, have[3]));
  Value other = b.scalar(c.floatAttr("extrapolation_value", 0), b.elem(x));
  return c.give(b.select(b.unsqueeze(none, {1}), other, value));
}

} // namespace

void tcc::populateOnnxRoiAlignRules(RuleSet &rules) {
  rules.add("onnx", "RoiAlign", roiAlign);
  rules.add("onnx", "MaxRoiPool", maxRoiPool);
  rules.add("com.microsoft", "CropAndResize", cropAndResize);
}
