//===- Resize.cpp - ATen upsample ------------------------------------------===//
//
// Interpolation is separable: each axis becomes the sum of prim.take at a few
// taps (positions along the axis) times their weights. Coordinates are computed
// in f32, of f64 data in f64, as torch does, since `nearest` shows the difference.
// Bytes are interpolated as torch does on CPUs: with weights of 16 bits, the last
// axis first, each axis rounded to bytes.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Windows.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

constexpr double kMostScale = 1u << 31;

enum class Mode { Nearest, NearestExact, Linear, Cubic, Lanczos };
constexpr bool interpolates(Mode mode) {
  return mode != Mode::Nearest && mode != Mode::NearestExact;
}

/// x's axis times the matrix's axis `contracted`; the other one takes its place.
Value alongMatrix(PrimBuilder &b, Value x, int64_t axis, Value matrix, int64_t contracted) {
  Value y = b.dot(x, b.cast(matrix, b.elem(x)), {}, {}, {axis}, {contracted});
  SmallVector<int64_t> order = allAxes(b.rank(x) - 1);
  order.insert(order.begin() + axis, b.rank(x) - 1);
  return b.transpose(y, order);
}

struct AxisResizer {
  AtenNode &a;
  PrimBuilder &b;
  Dim in, out;
  std::optional<double> factor; ///< out / in, as the user gave it
  bool alignCorners;
  Type real, i64; ///< of coordinates, of positions

  Value number(Dim d) { return a.extentTensor(d, real); }

  /// Distance in x of neighbours of the result.
  Value step() {
    if (alignCorners) {
      // One point has no neighbours.
      Value last = b.sub(number(out), 1.0), none = b.scalar(0, real);
      Value between = b.div(b.sub(number(in), 1.0), b.maximum(last, 1.0));
      return b.select(b.compare(prim::ComparePredicate::gt, last, none), between, none);
    }
    return factor ? b.scalar(1 / *factor, real) : b.div(number(in), number(out));
  }

  Value coordinates(bool centred) {
    Value at = b.iota({out}, 0, real);
    if (alignCorners)
      return b.mul(at, step());
    return centred ? b.sub(b.mul(b.add(at, 0.5), step()), 0.5) : b.mul(at, step());
  }

  /// Positions within x.
  Value clamped(Value position) {
    Value last = a.extentTensor(b.subDims(in, b.dim(1)), i64);
    return b.minimum(b.maximum(b.cast(position, i64), b.scalar(0, i64)), last);
  }

  /// How often each element comes in a row, if all come equally often.
  std::optional<int64_t> repeats() {
    auto n = b.known(in), m = b.known(out);
    int64_t times = factor && *factor < kMostScale ? static_cast<int64_t>(*factor) : 0;
    if (n && m)
      times = *n > 0 && *m % *n == 0 ? *m / *n : 0;
    else if (!factor || !b.same(out, b.mulDims(in, b.dim(times))))
      return std::nullopt;
    // The step is rounded: for powers of two it is exact.
    bool isExact = times > 0 && llvm::isPowerOf2_64(times);
    return isExact && (!factor || *factor == static_cast<double>(times)) ? std::optional(times)
                                                                         : std::nullopt;
  }

  Value nearest(Value x, int64_t axis, bool exact) {
    if (auto times = repeats()) {
      Dims dims = b.dims(x), repeated(dims);
      repeated.insert(repeated.begin() + axis + 1, b.dim(*times));
      dims[axis] = out;
      return b.reshape(b.broadcastTo(b.unsqueeze(x, {axis + 1}), repeated), dims);
    }
    Value at = b.iota({out}, 0, real);
    Value source = b.mul(exact ? b.add(at, 0.5) : at, step());
    return b.take(x, clamped(b.unary<prim::FloorOp>(source)), axis);
  }

  Value tap(Value x, int64_t axis, Value position, Value weight) {
    Value w = alongAxis(b, b.cast(weight, b.elem(x)), axis, b.rank(x));
    return b.mul(b.take(x, clamped(position), axis), w);
  }

  Value linear(Value x, int64_t axis) {
    Value at = b.maximum(coordinates(true), 0.0), low = b.unary<prim::FloorOp>(at);
    Value part = b.sub(at, low);
    return b.add(tap(x, axis, low, b.sub(b.scalar(1, real), part)),
                 tap(x, axis, b.add(low, 1.0), part));
  }

  /// Keys' kernel with a = -0.75 at distance d, within and beyond 1.
  Value near(Value d) { return b.add(b.mul(b.mul(b.sub(b.mul(d, 1.25), 2.25), d), d), 1.0); }
  Value far(Value d) {
    return b.add(b.mul(b.sub(b.mul(b.add(b.mul(d, -0.75), 3.75), d), 6.0), d), 3.0);
  }

  Value cubic(Value x, int64_t axis) {
    Value at = coordinates(true), low = b.unary<prim::FloorOp>(at), t = b.sub(at, low);
    Value rest = b.sub(b.scalar(1, real), t);
    Value sum = tap(x, axis, b.sub(low, 1.0), far(b.add(t, 1.0)));
    sum = b.add(sum, tap(x, axis, low, near(t)));
    sum = b.add(sum, tap(x, axis, b.add(low, 1.0), near(rest)));
    return b.add(sum, tap(x, axis, b.add(low, 2.0), far(b.add(rest, 1.0))));
  }

  /// Weights of 1 and 0: torch's device copies as well.
  bool keeps() { return b.same(in, out) && (!factor || *factor == 1); }

  Value resized(Value x, int64_t axis, Mode mode) {
    if (keeps())
      return x;
    switch (mode) {
    case Mode::Linear:
      return linear(x, axis);
    case Mode::Cubic:
      return cubic(x, axis);
    default:
      return nearest(x, axis, mode == Mode::NearestExact);
    }
  }

  /// Elements of x that each element of the result is made of.
  struct Taps {
    Value places, weights; ///< [out, taps]
  };

  /// How many elements a kernel that reaches `reach` from its middle sees, if it is widened where
  /// x becomes smaller.
  Dim widened(int64_t reach) {
    Dim span = b.dim(2 * reach), most;
    if (alignCorners) {
      Dim steps = b.maxDims(b.subDims(out, b.dim(1)), b.dim(1));
      most = b.ceilDivDims(b.mulDims(span, b.subDims(in, b.dim(1))), steps);
    } else if (factor) {
      double elements = std::ceil(2.0 * static_cast<double>(reach) / *factor);
      most = elements < kMostScale ? b.dim(static_cast<int64_t>(elements)) : in;
    } else {
      most = b.ceilDivDims(b.mulDims(span, in), b.maxDims(out, b.dim(1)));
    }
    return b.minDims(b.maxDims(most, span), in);
  }

  /// Those of the interpolation whose kernel is widened when it makes x smaller, so that every
  /// element of x counts. The cubic kernel has a = -0.5, Lanczos' three lobes.
  Taps antialiased(Mode mode) {
    using P = prim::ComparePredicate;
    int64_t reach = mode == Mode::Linear ? 1 : mode == Mode::Cubic ? 2 : 3;
    Value scale = step(), width = b.maximum(scale, 1.0), one = b.scalar(1, real);
    Value zero = b.scalar(0, real), centre = b.mul(b.add(b.iota({out}, 0, real), 0.5), scale);
    Value begin = b.sub(centre, b.mul(width, static_cast<double>(reach)));
    Value first = b.maximum(b.unary<prim::FloorOp>(b.add(begin, 0.5)), 0.0);
    Value places = placesFrom(b, b.cast(first, i64), widened(reach));
    Value at = b.add(b.cast(places, real), 0.5);
    Value d = b.abs(b.div(b.sub(at, b.unsqueeze(centre, {1})), width));
    Value w;
    if (mode == Mode::Linear) {
      w = b.maximum(b.sub(one, d), 0.0);
    } else if (mode == Mode::Lanczos) {
      auto sinc = [&](Value x) {
        Value angle = b.mul(b.select(b.compare(P::eq, x, 0.0), one, x), std::numbers::pi);
        Value wave = b.div(b.unary<prim::SinOp>(angle), angle);
        return b.select(b.compare(P::eq, x, 0.0), one, wave);
      };
      Value product = b.mul(sinc(d), sinc(b.div(d, 3.0)));
      w = b.select(b.compare(P::lt, d, 3.0), product, zero);
    } else {
      Value inner = b.add(b.mul(b.mul(b.sub(b.mul(d, 1.5), 2.5), d), d), 1.0);
      Value outer = b.add(b.mul(b.sub(b.mul(b.add(b.mul(d, -0.5), 2.5), d), 4.0), d), 2.0);
      outer = b.select(b.compare(P::lt, d, 2.0), outer, zero);
      w = b.select(b.compare(P::lt, d, 1.0), inner, outer);
    }
    w = b.select(b.compare(P::lt, places, a.extentTensor(in, i64)), w, zero);
    return {clamped(places), b.div(w, b.reduce(prim::ReduceKind::sum, w, {1}, true))};
  }

  /// Those of the interpolation, whose weights beyond an end are the end's.
  Taps plain(Mode mode) {
    using P = prim::ComparePredicate;
    bool isLinear = mode == Mode::Linear;
    Value at = isLinear ? b.maximum(coordinates(true), 0.0) : coordinates(true);
    Value low = b.minimum(b.unary<prim::FloorOp>(at), b.sub(number(in), 1.0));
    Value t = b.minimum(b.maximum(b.sub(at, low), 0.0), 1.0), rest = b.sub(b.scalar(1, real), t);
    SmallVector<std::pair<double, Value>> taps = {{0, rest}, {1, t}};
    if (!isLinear)
      taps = {{-1, far(b.add(t, 1.0))}, {0, near(t)}, {1, near(rest)}, {2, far(b.add(rest, 1.0))}};
    Dim seen = b.minDims(b.dim(taps.size()), in);
    Value last = a.extentTensor(b.subDims(in, seen), i64);
    Value first = b.minimum(clamped(b.add(low, taps.front().first)), last);
    Value places = placesFrom(b, first, seen), sum;
    for (auto [offset, weight] : taps) {
      Value place = b.unsqueeze(clamped(b.add(low, offset)), {1});
      Value part =
          b.select(b.compare(P::eq, places, place), b.unsqueeze(weight, {1}), b.scalar(0, real));
      sum = sum ? b.add(sum, part) : part;
    }
    return {places, sum};
  }

  Value weighted(Value x, int64_t axis, Taps taps) {
    return weightedWindows(b, x, axis, taps.places, b.cast(taps.weights, b.elem(x)));
  }

  /// x's axis, of bytes, by weights that are integers of 16 bits with as many bits behind the point
  /// as the largest of them leaves room for. Rounded to the nearest byte.
  Value bytes(Value x, int64_t axis, Taps taps) {
    constexpr int64_t mostBits = 22;
    constexpr double room = 1 << 15;
    Type i32 = b.builder().getI32Type();
    Value largest = b.maximum(b.reduce(prim::ReduceKind::max, taps.weights, {0, 1}, false), 0.0);
    Value powers = b.unary<prim::Exp2Op>(b.iota({b.dim(mostBits)}, 0, real));
    Value next = b.add(b.mul(powers, b.mul(largest, 2.0)), 0.5);
    Value fits = b.cast(b.compare(prim::ComparePredicate::lt, next, room), real);
    Value one = b.unary<prim::Exp2Op>(b.reduce(prim::ReduceKind::sum, fits, {0}, false));
    Value scaled = b.mul(taps.weights, one);
    Value half = b.select(b.compare(prim::ComparePredicate::lt, scaled, 0.0), b.scalar(-0.5, real),
                          b.scalar(0.5, real));
    taps.weights = b.cast(b.add(scaled, half), i32);
    Value sum = weighted(b.cast(x, i32), axis, taps);
    Value level = b.unary<prim::FloorOp>(b.add(b.div(b.cast(sum, real), one), 0.5));
    return b.cast(b.minimum(b.maximum(level, 0.0), 255.0), b.elem(x));
  }
};

/// The scale of axis i: an entry of `scale_factors`, or `scales_h` and the like.
std::optional<double> factorOf(AtenNode &a, int64_t i, int64_t axes) {
  if (auto list = a.reals("scale_factors"); list && i < static_cast<int64_t>(list->size()))
    return (*list)[i];
  static constexpr StringLiteral kNames[] = {"scales_d", "scales_h", "scales_w"};
  StringRef name = axes == 1 ? StringRef("scales") : StringRef(kNames[3 - axes + i]);
  return a.has(name) ? std::optional(a.real(name, 1)) : std::nullopt;
}

/// The extent that axis i gets, or null.
Dim resultExtent(AtenNode &a, const std::optional<Dims> &sizes, int64_t i, int64_t axes, Dim in,
                 std::optional<double> factor) {
  PrimBuilder &b = a.b;
  if (sizes && static_cast<int64_t>(sizes->size()) == axes)
    return (*sizes)[i];
  if (auto extent = b.known(in); extent && factor)
    return b.dim(static_cast<int64_t>(static_cast<double>(*extent) * *factor));
  if (factor && *factor == static_cast<int64_t>(*factor))
    return b.mulDims(in, b.dim(static_cast<int64_t>(*factor)));
  if (!factor)
    return {};
  Value size = b.mul(a.extentTensor(in, b.builder().getF64Type()), *factor);
  return b.readElements(b.cast(size, b.builder().getI64Type()))[0];
}

AxisResizer resizerOf(AtenNode &a, Mode mode, Dim in, Dim out, std::optional<double> factor) {
  bool corners = interpolates(mode) && a.flag("align_corners", false);
  Builder &types = a.b.builder();
  bool isExact = interpolates(mode) && !isa<Float32Type>(a.wide());
  Type real = isExact ? types.getF64Type() : types.getF32Type();
  return {a, a.b, in, out, factor, corners, real, types.getI64Type()};
}

/// Whether the result is known to have more elements along the axis.
bool grows(AtenNode &a, Value x, int64_t i, int64_t axes, const std::optional<Dims> &sizes) {
  auto factor = factorOf(a, i, axes);
  Dim in = a.b.dim(x, i + 2);
  auto from = a.b.known(in);
  if (!from)
    return factor && *factor > 1;
  Dim out = resultExtent(a, sizes, i, axes, in, factor);
  auto to = out ? a.b.known(out) : std::nullopt;
  return to && *to > *from;
}

LogicalResult resize(AtenNode &a, Mode mode, int64_t axes, bool antialias) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self") ? a.tensor("self") : a.tensor("input");
  if (!x || b.rank(x) != axes + 2)
    return a.fail("the operand must have " + llvm::Twine(axes + 2) + " axes");
  bool ofBytes = interpolates(mode) && axes == 2 && b.elem(x).isUnsignedInteger(8);
  if (interpolates(mode) && !ofBytes)
    x = a.cast(x, a.wide());
  if (antialias && !ofBytes && !isa<FloatType>(b.elem(x)))
    return a.fail("needs floats or bytes");
  auto sizes = a.extents("output_size");
  SmallVector<int64_t> order = allAxes(axes);
  if (ofBytes)
    std::reverse(order.begin(), order.end());
  else if (antialias)
    order = growingLast(axes, [&](int64_t i) { return grows(a, x, i, axes, sizes); });
  for (int64_t i : order) {
    auto factor = factorOf(a, i, axes);
    if (factor && !(*factor > 0 && *factor < kMostScale))
      return a.fail("a scale must be above 0 and below 2^31");
    Dim in = b.dim(x, i + 2), out = resultExtent(a, sizes, i, axes, in, factor);
    if (!out)
      return a.fail("the extents of the result are not known");
    AxisResizer r = resizerOf(a, mode, in, out, factor);
    if (ofBytes)
      x = r.bytes(x, i + 2, antialias ? r.antialiased(mode) : r.plain(mode));
    else if (antialias)
      x = r.weighted(x, i + 2, r.antialiased(mode));
    else
      x = r.resized(x, i + 2, mode);
  }
  return a.give(x);
}

template <Mode mode, int64_t axes> LogicalResult resizeRule(AtenNode &a) {
  return resize(a, mode, axes, false);
}
template <Mode mode> LogicalResult antialiasedRule(AtenNode &a) { return resize(a, mode, 2, true); }

/// The gradient: what resizing makes of the unit matrix is its matrix, whose
/// transpose takes the gradient back.
template <Mode mode, int64_t axes, bool antialias = false>
LogicalResult resizeBackward(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.wide());
  auto sizes = a.extents("input_size");
  if (!sizes || b.rank(g) != axes + 2 || static_cast<int64_t>(sizes->size()) != axes + 2)
    return a.fail("the sizes do not fit the gradient");
  for (int64_t i = 0; i < axes; ++i) {
    Dim in = (*sizes)[i + 2], out = b.dim(g, i + 2);
    AxisResizer r = resizerOf(a, mode, in, out, factorOf(a, i, axes));
    Value one = b.compare(prim::ComparePredicate::eq, b.iota({in, in}, 0, r.i64),
                          b.iota({in, in}, 1, r.i64));
    one = b.cast(one, b.elem(g));
    Value matrix = antialias ? r.weighted(one, 0, r.antialiased(mode)) : r.resized(one, 0, mode);
    g = alongMatrix(b, g, i + 2, matrix, 0);
  }
  return a.give(g);
}

} // namespace

void tcc::populateAtenResizeRules(RuleSet &rules) {
  addRules(
      rules,
      {{"upsample_nearest1d", "vec default", "", resizeRule<Mode::Nearest, 1>},
       {"upsample_nearest2d", "vec default", "", resizeRule<Mode::Nearest, 2>},
       {"upsample_nearest3d", "vec default", "", resizeRule<Mode::Nearest, 3>},
       {"_upsample_nearest_exact1d", "vec default", "", resizeRule<Mode::NearestExact, 1>},
       {"_upsample_nearest_exact2d", "vec default", "", resizeRule<Mode::NearestExact, 2>},
       {"_upsample_nearest_exact3d", "vec default", "", resizeRule<Mode::NearestExact, 3>},
       {"upsample_linear1d", "vec default", "", resizeRule<Mode::Linear, 1>},
       {"upsample_bilinear2d", "vec default", "", resizeRule<Mode::Linear, 2>},
       {"upsample_trilinear3d", "vec default", "", resizeRule<Mode::Linear, 3>},
       {"upsample_bicubic2d", "vec default", "", resizeRule<Mode::Cubic, 2>},
       {"_upsample_bilinear2d_aa", "vec default", "", antialiasedRule<Mode::Linear>},
       {"_upsample_bicubic2d_aa", "vec default", "", antialiasedRule<Mode::Cubic>},
       {"_upsample_lanczos2d_aa", "vec default", "", antialiasedRule<Mode::Lanczos>},
       {"upsample_nearest1d_backward", "default", "grad_output", resizeBackward<Mode::Nearest, 1>},
       {"upsample_nearest2d_backward", "default", "grad_output", resizeBackward<Mode::Nearest, 2>},
       {"upsample_nearest3d_backward", "default", "grad_output", resizeBackward<Mode::Nearest, 3>},
       {"_upsample_nearest_exact1d_backward", "default", "grad_output",
        resizeBackward<Mode::NearestExact, 1>},
       {"_upsample_nearest_exact2d_backward", "default", "grad_output",
        resizeBackward<Mode::NearestExact, 2>},
       {"_upsample_nearest_exact3d_backward", "default", "grad_output",
        resizeBackward<Mode::NearestExact, 3>},
       {"_upsample_bilinear2d_aa_backward", "default", "grad_output",
        resizeBackward<Mode::Linear, 2, true>},
       {"_upsample_bicubic2d_aa_backward", "default", "grad_output",
        resizeBackward<Mode::Cubic, 2, true>},
       {"_upsample_lanczos2d_aa_backward", "default", "grad_output",
        resizeBackward<Mode::Lanczos, 2, true>},
       {"upsample_linear1d_backward", "default", "grad_output", resizeBackward<Mode::Linear, 1>},
       {"upsample_bilinear2d_backward", "default", "grad_output", resizeBackward<Mode::Linear, 2>},
       {"upsample_trilinear3d_backward", "default", "grad_output", resizeBackward<Mode::Linear, 3>},
       {"upsample_bicubic2d_backward", "default", "grad_output", resizeBackward<Mode::Cubic, 2>}});
}
