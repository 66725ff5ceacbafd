//===- Resize.cpp - ATen upsample ------------------------------------------===//
//
// Interpolation is separable: each axis becomes the sum of prim.take at a few
// taps (positions along the axis) times their weights. Coordinates are computed
// in f32, as torch does, since `nearest` shows the difference.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

enum class Mode { Nearest, NearestExact, Linear, Cubic };

struct AxisResizer {
  AtenNode &a;
  PrimBuilder &b;
  Dim in, out;
  std::optional<double> factor; ///< out / in, as the user gave it
  bool alignCorners;
  Type f32, i64;

  Value number(Dim d) { return a.extentTensor(d, f32); }

  /// Distance in x of neighbours of the result.
  Value step() {
    if (alignCorners) {
      Value last = b.maximum(b.sub(number(out), 1.0), 1.0);
      return b.div(b.sub(number(in), 1.0), last);
    }
    return factor ? b.scalar(1 / *factor, f32) : b.div(number(in), number(out));
  }

  Value coordinates(bool centred) {
    Value at = b.iota({out}, 0, f32);
    if (alignCorners)
      return b.mul(at, step());
    return centred ? b.sub(b.mul(b.add(at, 0.5), step()), 0.5) : b.mul(at, step());
  }

  /// Positions within x.
  Value clamped(Value position) {
    Value last = a.extentTensor(b.subDims(in, b.dim(1)), i64);
    return b.minimum(b.maximum(b.cast(position, i64), b.scalar(0, i64)), last);
  }

  Value nearest(Value x, int64_t axis, bool exact) {
    Value at = b.iota({out}, 0, f32);
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
    return b.add(tap(x, axis, low, b.sub(b.scalar(1, f32), part)),
                 tap(x, axis, b.add(low, 1.0), part));
  }

  /// Keys' kernel with a = -0.75 at distance d, within and beyond 1.
  Value near(Value d) { return b.add(b.mul(b.mul(b.sub(b.mul(d, 1.25), 2.25), d), d), 1.0); }
  Value far(Value d) {
    return b.add(b.mul(b.sub(b.mul(b.add(b.mul(d, -0.75), 3.75), d), 6.0), d), 3.0);
  }

  Value cubic(Value x, int64_t axis) {
    Value at = coordinates(true), low = b.unary<prim::FloorOp>(at), t = b.sub(at, low);
    Value rest = b.sub(b.scalar(1, f32), t);
    Value sum = tap(x, axis, b.sub(low, 1.0), far(b.add(t, 1.0)));
    sum = b.add(sum, tap(x, axis, low, near(t)));
    sum = b.add(sum, tap(x, axis, b.add(low, 1.0), near(rest)));
    return b.add(sum, tap(x, axis, b.add(low, 2.0), far(b.add(rest, 1.0))));
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

LogicalResult resize(AtenNode &a, Mode mode, int64_t axes) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self") ? a.tensor("self") : a.tensor("input");
  if (!x || b.rank(x) != axes + 2)
    return a.fail("the operand must have " + llvm::Twine(axes + 2) + " axes");
  bool interpolates = mode == Mode::Linear || mode == Mode::Cubic;
  if (interpolates)
    x = a.cast(x, a.wide());
  auto sizes = a.extents("output_size");
  for (int64_t i = 0; i < axes; ++i) {
    auto factor = factorOf(a, i, axes);
    Dim in = b.dim(x, i + 2), out;
    if (sizes && static_cast<int64_t>(sizes->size()) == axes) {
      out = (*sizes)[i];
    } else if (auto extent = b.known(in); extent && factor) {
      out = b.dim(static_cast<int64_t>(static_cast<double>(*extent) * *factor));
    } else if (factor && *factor == static_cast<int64_t>(*factor)) {
      out = b.mulDims(in, b.dim(static_cast<int64_t>(*factor)));
    } else {
      return a.fail("the extents of the result are not known");
    }
    if (factor && !(*factor > 0))
      return a.fail("a scale is not positive");
    AxisResizer r{a,
                  b,
                  in,
                  out,
                  factor,
                  interpolates && a.flag("align_corners", false),
                  b.builder().getF32Type(),
                  b.builder().getI64Type()};
    switch (mode) {
    case Mode::Nearest:
    case Mode::NearestExact:
      x = r.nearest(x, i + 2, mode == Mode::NearestExact);
      break;
    case Mode::Linear:
      x = r.linear(x, i + 2);
      break;
    case Mode::Cubic:
      x = r.cubic(x, i + 2);
      break;
    }
  }
  return a.give(x);
}

template <Mode mode, int64_t axes> LogicalResult resizeRule(AtenNode &a) {
  return resize(a, mode, axes);
}

} // namespace

void tcc::populateAtenResizeRules(RuleSet &rules) {
  addRules(rules,
           {{"upsample_nearest1d", "vec default", "", resizeRule<Mode::Nearest, 1>},
            {"upsample_nearest2d", "vec default", "", resizeRule<Mode::Nearest, 2>},
            {"upsample_nearest3d", "vec default", "", resizeRule<Mode::Nearest, 3>},
            {"_upsample_nearest_exact1d", "vec default", "", resizeRule<Mode::NearestExact, 1>},
            {"_upsample_nearest_exact2d", "vec default", "", resizeRule<Mode::NearestExact, 2>},
            {"_upsample_nearest_exact3d", "vec default", "", resizeRule<Mode::NearestExact, 3>},
            {"upsample_linear1d", "vec default", "", resizeRule<Mode::Linear, 1>},
            {"upsample_bilinear2d", "vec default", "", resizeRule<Mode::Linear, 2>},
            {"upsample_trilinear3d", "vec default", "", resizeRule<Mode::Linear, 3>},
            {"upsample_bicubic2d", "vec default", "", resizeRule<Mode::Cubic, 2>}});
}
