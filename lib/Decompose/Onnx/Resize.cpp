//===- Resize.cpp - Resize and Upsample ------------------------------------===//
//
// Interpolation is separable: one axis is resized after the other. For each
// position of the result along an axis its coordinate in x is computed, and from
// that a few taps: positions in x and their weights, all vectors of the result's
// extent. The axis becomes the sum of prim.take at each tap times its weight.
// Coordinates are computed in f64, once an axis.
//
// An antialiased axis that shrinks has a tap for every element that the
// stretched filter reaches.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Windows.h"
#include "Decompose/Onnx/OperandForms.h"
#include "Decompose/Onnx/Operands.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

namespace {

struct Options {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool antialias = false, excludeOutside = false;
};

/// The `nearest` of operators that are older than the attribute.
constexpr StringLiteral kBeforeModes = "before modes";

struct Axis {
  int64_t axis;
  Dim in, out;
  Value scale;            ///< rank-0 f64: how much larger the result is
  Value roiStart, roiEnd; ///< rank-0 f64, for tf_crop_and_resize
};

struct Tap {
  Value position; ///< [out] i64, maybe outside of x
  Value weight;   ///< [out] f64
};

class AxisResizer {
public:
  AxisResizer(PrimBuilder &b, const Options &o, const Axis &a)
      : b(b), o(o), a(a), f64(b.builder().getF64Type()), i64(b.builder().getI64Type()) {}

  Value run(Value x) {
    if (o.mode == "nearest")
      return nearest(x);
    Value at = coordinates();
    Value wide = inFloats(b, x), result;
    auto scale = b.constantFloats(a.scale);
    bool shrinks = o.antialias && !(scale && (*scale)[0] >= 1);
    result = shrinks ? filtered(wide, at) : weighted(wide, plainTaps(at));
    if (o.coordinates == "tf_crop_and_resize")
      result = b.select(along(outside(at)), b.scalar(o.extrapolation, b.elem(result)), result);
    return o.antialias ? rounded(result, b.elem(x)) : result;
  }

  /// Interpolation computes in floats from the first axis to the last.
  static Value inFloats(PrimBuilder &b, Value x) {
    return isa<FloatType>(b.elem(x)) ? widen(b, x) : b.cast(x, b.builder().getF32Type());
  }

private:
  Value number(Dim d) { return scalarOf(b, d, f64); }
  Value along(Value vector) { return alongAxis(b, vector, a.axis, rank); }
  Value floor(Value v) { return b.unary<prim::FloorOp>(v); }

  /// An image filtered along one axis is an image again: integers rounded, and clamped to
  /// their range.
  Value rounded(Value v, Type to) {
    return b.cast(isa<IntegerType>(to) ? b.unary<prim::RoundOp>(v) : v, to);
  }

  /// The coordinate in x of each position of the result.
  Value coordinates() {
    Value i = b.iota({a.out}, 0, f64);
    Value halfPixel = b.sub(b.div(b.add(i, 0.5), a.scale), 0.5);
    StringRef mode = o.coordinates;
    if (mode == "asymmetric")
      return b.div(i, a.scale);
    if (mode == "tf_half_pixel_for_nn")
      return b.div(b.add(i, 0.5), a.scale);
    Value in = number(a.in), resized = b.mul(in, a.scale);
    Value one = b.scalar(1, f64), single = b.compare(P::eq, resized, 1.0);
    if (mode == "pytorch_half_pixel")
      return b.select(single, b.scalar(0, f64), halfPixel);
    if (mode == "half_pixel_symmetric") {
      Value adjustment = b.div(number(a.out), resized);
      Value offset = b.mul(b.mul(in, 0.5), b.sub(one, adjustment));
      return b.add(halfPixel, offset);
    }
    Value last = b.sub(in, 1.0), span = b.select(single, one, b.sub(resized, 1.0));
    if (mode == "align_corners")
      return b.select(single, b.scalar(0, f64), b.div(b.mul(i, last), span));
    if (mode == "tf_crop_and_resize") {
      Value width = b.sub(a.roiEnd, a.roiStart);
      Value middle = b.mul(b.mul(width, last), 0.5);
      Value spread = b.div(b.mul(b.mul(i, width), last), span);
      return b.add(b.select(single, middle, spread), b.mul(a.roiStart, last));
    }
    return halfPixel;
  }

  Value outside(Value at) {
    Value last = b.sub(number(a.in), 1.0);
    return b.binary<prim::OrOp>(b.compare(P::lt, at, 0.0), b.compare(P::gt, at, last));
  }

  Value clamped(Value position) {
    Value last = scalarOf(b, b.subDims(a.in, b.dim(1)), i64);
    return b.minimum(b.maximum(position, 0.0), last);
  }

  /// Whether position i of the result is element i / scale of x, for a whole scale.
  std::optional<int64_t> wholeRepeat() {
    auto scale = b.constantFloats(a.scale);
    if (!scale || (*scale)[0] < 1 || (*scale)[0] != std::floor((*scale)[0]) || (*scale)[0] > 1024)
      return std::nullopt;
    bool floors =
        o.coordinates == "asymmetric" && (o.nearest == "floor" || o.nearest == kBeforeModes);
    bool rounds = o.coordinates == "half_pixel" && o.nearest.rfind("round", 0) == 0;
    int64_t times = static_cast<int64_t>((*scale)[0]);
    if ((floors || rounds) && b.same(b.mulDims(a.in, b.dim(times)), a.out))
      return times;
    return std::nullopt;
  }

  /// Opset 10 leaves open which element is nearest; ONNX Runtime goes up where x shrinks and
  /// down where it grows, from a coordinate in f32.
  Value beforeModes(Value at) {
    at = b.cast(at, b.builder().getF32Type());
    Value up = b.unary<prim::CeilOp>(at), down = floor(at);
    if (auto scale = b.constantFloats(a.scale))
      return (*scale)[0] < 1 ? up : down;
    return b.select(b.compare(P::lt, a.scale, 1.0), up, down);
  }

  Value nearest(Value x) {
    rank = b.rank(x);
    if (auto times = wholeRepeat()) {
      Dims spread = b.dims(x), result = spread;
      result[a.axis] = a.out;
      spread.insert(spread.begin() + a.axis + 1, b.dim(*times));
      SmallVector<int64_t> axes = allAxes(rank + 1);
      axes.erase(axes.begin() + a.axis + 1);
      return b.reshape(b.broadcastInDim(x, spread, axes), result);
    }
    Value at = coordinates(), index;
    if (o.nearest == kBeforeModes)
      index = beforeModes(at);
    else if (o.nearest == "floor")
      index = floor(at);
    else if (o.nearest == "ceil")
      index = b.unary<prim::CeilOp>(at);
    else if (o.nearest == "round_prefer_ceil")
      index = floor(b.add(at, 0.5));
    else
      index = b.unary<prim::CeilOp>(b.sub(at, 0.5));
    Value result = b.take(x, clamped(b.cast(index, i64)), a.axis);
    if (o.coordinates == "tf_crop_and_resize")
      result = b.select(along(outside(at)), b.scalar(o.extrapolation, b.elem(x)), result);
    return result;
  }

  /// The filter at a distance: a triangle, or Keys' cubic.
  Value filter(Value distance) {
    Value t = b.abs(distance), zero = b.scalar(0, f64);
    if (o.mode == "linear")
      return b.maximum(b.sub(b.scalar(1, f64), t), zero);
    double k = o.cubic;
    auto horner = [&](std::initializer_list<double> coefficients) {
      Value sum;
      for (double c : coefficients)
        sum = sum ? b.add(b.mul(sum, t), c) : b.add(b.mul(t, 0.0), c);
      return sum;
    };
    Value near = horner({k + 2, -(k + 3), 0, 1}), far = horner({k, -5 * k, 8 * k, -4 * k});
    Value tail = b.select(b.compare(P::lt, t, 2.0), far, zero);
    return b.select(b.compare(P::le, t, 1.0), near, tail);
  }

  double support() { return o.mode == "linear" ? 1 : 2; }

  SmallVector<Tap> plainTaps(Value at) {
    int64_t reach = static_cast<int64_t>(support());
    Value base = floor(at);
    SmallVector<Tap> list;
    for (int64_t k = 1 - reach; k <= reach; ++k) {
      Value position = b.add(base, static_cast<double>(k));
      list.push_back({b.cast(position, i64), filter(b.sub(position, at))});
    }
    return list;
  }
  void normalize(SmallVectorImpl<Tap> &list) {
    Value sum;
    for (Tap &tap : list)
      sum = sum ? b.add(sum, tap.weight) : tap.weight;
    sum = b.select(b.compare(P::eq, sum, 0.0), b.scalar(1, f64), sum);
    for (Tap &tap : list)
      tap.weight = b.div(tap.weight, sum);
  }

  Value weighted(Value x, SmallVector<Tap> list) {
    rank = b.rank(x);
    if (o.excludeOutside) {
      for (Tap &tap : list) {
        Value inside = b.compare(P::eq, clamped(tap.position), tap.position);
        tap.weight = b.select(inside, tap.weight, b.scalar(0, f64));
      }
      normalize(list);
    }
    Value sum;
    for (Tap &tap : list) {
      Value part =
          b.mul(b.take(x, clamped(tap.position), a.axis), along(b.cast(tap.weight, b.elem(x))));
      sum = sum ? b.add(sum, part) : part;
    }
    return sum;
  }

  /// By the stretched filter, as many taps as it reaches.
  Value filtered(Value x, Value at) {
    rank = b.rank(x);
    Value shrink = b.minimum(a.scale, 1.0);
    Value reachValue = b.unary<prim::CeilOp>(b.div(b.scalar(support(), f64), shrink));
    Dim reach = b.readElements(b.cast(reachValue, i64))[0];
    Value first = b.sub(b.cast(floor(at), i64), scalarOf(b, b.subDims(reach, b.dim(1)), i64));
    Value position = placesFrom(b, first, b.mulDims(reach, b.dim(2)));
    Value distance = b.sub(b.cast(position, f64), b.unsqueeze(at, {1}));
    Value weights = filter(b.mul(distance, shrink)), inside = clamped(position);
    if (o.excludeOutside)
      weights = b.select(b.compare(P::eq, inside, position), weights, b.scalar(0, f64));
    Value sum = b.reduce(prim::ReduceKind::sum, weights, {1}, true);
    weights = b.div(weights, b.select(b.compare(P::eq, sum, 0.0), b.scalar(1, f64), sum));
    return weightedWindows(b, x, a.axis, inside, b.cast(weights, b.elem(x)));
  }

  PrimBuilder &b;
  const Options &o;
  const Axis &a;
  Type f64, i64;
  int64_t rank = 0;
};

Options optionsOf(NodeContext &c) {
  Options o;
  bool old = c.version() < 11; // Upsample and Resize-10
  o.mode = c.stringAttr("mode", "nearest");
  if (o.mode == "bilinear")
    o.mode = "linear";
  o.coordinates = old ? "asymmetric" : c.stringAttr("coordinate_transformation_mode", "half_pixel");
  o.nearest = old ? kBeforeModes.str() : c.stringAttr("nearest_mode", "round_prefer_floor");
  o.cubic = c.floatAttr("cubic_coeff_a", -0.75);
  o.extrapolation = c.floatAttr("extrapolation_value", 0);
  o.antialias = c.intAttr("antialias", 0);
  o.excludeOutside = c.intAttr("exclude_outside", 0);
  return o;
}

/// Element i of a vector as a rank-0 f64.
Value elementOf(PrimBuilder &b, Value vector, int64_t i) {
  Value element = b.reshape(b.sliceAxis(vector, 0, b.dim(i), b.dim(1)), ArrayRef<Dim>());
  return b.cast(element, b.builder().getF64Type());
}

/// floor(extent * scale), in f32 as ONNX's own shape inference has it.
Dim scaledExtent(PrimBuilder &b, Dim extent, Value scale) {
  auto constant = b.constantFloats(scale);
  constexpr double kMost = 1u << 31;
  if (constant && !((*constant)[0] > 0 && (*constant)[0] < kMost)) {
    b.fault("a scale must be above 0 and below 2^31");
    return b.dim(0);
  }
  if (constant && (*constant)[0] >= 1 && (*constant)[0] == std::floor((*constant)[0]))
    return b.mulDims(extent, b.dim(static_cast<int64_t>((*constant)[0])));
  Type f32 = b.builder().getF32Type();
  Value size = b.unary<prim::FloorOp>(b.mul(scalarOf(b, extent, f32), b.cast(scale, f32)));
  if (!constant)
    return extentOf(b, b.cast(size, b.builder().getF64Type()));
  return b.maxDims(b.readElements(b.cast(size, b.builder().getI64Type()))[0], b.dim(0));
}

/// `sizes` under keep_aspect_ratio_policy: one scale for all axes.
void keepAspectRatio(PrimBuilder &b, MutableArrayRef<Axis> axes, bool larger) {
  Value scale;
  for (Axis &a : axes)
    scale = !scale ? a.scale : larger ? b.maximum(scale, a.scale) : b.minimum(scale, a.scale);
  Type f64 = b.builder().getF64Type(), i64 = b.builder().getI64Type();
  for (Axis &a : axes) {
    a.scale = scale;
    Value size = b.add(b.mul(scalarOf(b, a.in, f64), scale), 0.5);
    a.out = b.readElements(b.cast(b.unary<prim::FloorOp>(size), i64))[0];
  }
}

/// What was interpolated between integers without a filter is cut to an integer once, as
/// a cast does: 57 must not be cut to 56 since its weights add up to a little less than 1.
Value withoutNoise(PrimBuilder &b, Value x) {
  constexpr double kSteps = 4096;
  return b.div(b.unary<prim::RoundOp>(b.mul(x, kSteps)), kSteps);
}

LogicalResult resizeAxes(NodeContext &c, MutableArrayRef<Axis> axes) {
  PrimBuilder &b = c.b;
  Options o = optionsOf(c);
  if (o.mode != "nearest" && o.mode != "linear" && o.mode != "cubic")
    return c.fail("has an unknown mode");
  Value x = c.in(0);
  bool filtersFloats = o.antialias && isa<FloatType>(b.elem(x));
  auto grows = [&](int64_t i) {
    auto scale = b.constantFloats(axes[i].scale);
    return filtersFloats && scale && (*scale)[0] > 1;
  };
  for (int64_t i : growingLast(int64_t(axes.size()), grows)) {
    const Axis &a = axes[i];
    if (auto out = b.known(a.out); out && *out < 0)
      return c.fail("has a negative extent");
    auto scale = b.constantFloats(a.scale);
    bool crop = o.coordinates == "tf_crop_and_resize";
    if (scale && (*scale)[0] == 1 && b.same(a.in, a.out) && !crop)
      continue;
    requireElements(b, a.in, a.out, "an interpolation");
    x = AxisResizer(b, o, a).run(x);
  }
  Type own = b.elem(c.in(0));
  if (isa<IntegerType>(own) && isa<FloatType>(b.elem(x)))
    x = withoutNoise(b, x);
  return c.give(b.cast(x, own));
}

/// x, roi, scales, sizes; only x and scales before opset 11.
LogicalResult resize(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type f64 = b.builder().getF64Type();
  size_t scalesAt = c.version() < 11 ? 1 : 2, sizesAt = 3;
  auto given = axesWithin(c, c.intsAttr("axes").value_or(allAxes(b.rank(x))), b.rank(x));
  if (failed(given))
    return failure();
  SmallVector<int64_t> order = c.intsAttr("axes").value_or(*given);
  int64_t count = order.size();
  auto isEmpty = [&](size_t i) {
    return !c.has(i) || (b.rank(c.in(i)) == 1 && b.known(b.dim(c.in(i), 0)) == 0);
  };
  bool bySizes = !isEmpty(sizesAt) && c.version() >= 11;
  Dims sizes;
  if (bySizes) {
    auto list = hostInts(c, sizesAt, count);
    if (failed(list))
      return failure();
    sizes = *list;
    if (static_cast<int64_t>(sizes.size()) != count)
      return c.fail("needs one size for each axis");
  } else if (isEmpty(scalesAt)) {
    return c.fail("has neither scales nor sizes");
  } else if (b.known(b.dim(c.in(scalesAt), 0)).value_or(count) != count) {
    return c.fail("needs one scale for each axis");
  }
  SmallVector<Axis> axes;
  for (int64_t i = 0; i < count; ++i) {
    Axis a;
    a.axis = b.axisOf(order[i], b.rank(x));
    a.in = b.dim(x, a.axis);
    if (bySizes) {
      a.out = sizes[i];
      a.scale = b.same(a.in, a.out) ? b.scalar(1, f64)
                                    : b.div(scalarOf(b, a.out, f64), scalarOf(b, a.in, f64));
    } else {
      a.scale = elementOf(b, c.in(scalesAt), i);
      a.out = scaledExtent(b, a.in, a.scale);
    }
    bool cropped = !isEmpty(1) && c.version() >= 11;
    a.roiStart = cropped ? elementOf(b, c.in(1), i) : b.scalar(0, f64);
    a.roiEnd = cropped ? elementOf(b, c.in(1), count + i) : b.scalar(1, f64);
    axes.push_back(a);
  }
  std::string policy = c.stringAttr("keep_aspect_ratio_policy", "stretch");
  if (bySizes && policy != "stretch")
    keepAspectRatio(b, axes, policy == "not_smaller");
  return resizeAxes(c, axes);
}

/// Scales as an attribute (7), as height and width (1), or as an operand (9).
LogicalResult upsample(NodeContext &c) {
  if (c.version() >= 9)
    return resize(c);
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  SmallVector<double> scales = c.floatsAttr("scales").value_or(
      SmallVector<double>{1, 1, c.floatAttr("height_scale", 1), c.floatAttr("width_scale", 1)});
  if (static_cast<int64_t>(scales.size()) != b.rank(x))
    return c.fail("needs one scale for each axis");
  SmallVector<Axis> axes;
  for (auto [i, scale] : llvm::enumerate(scales)) {
    Value s = b.scalar(scale, b.builder().getF64Type());
    axes.push_back(
        {static_cast<int64_t>(i), b.dim(x, i), scaledExtent(b, b.dim(x, i), s), s, {}, {}});
  }
  return resizeAxes(c, axes);
}

} // namespace

void tcc::populateOnnxResizeRules(RuleSet &rules) {
  rules.add("onnx", "Resize", resize);
  rules.add("onnx", "Upsample", upsample);
}
