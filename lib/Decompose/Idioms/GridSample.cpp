//===- GridSample.cpp - Reads at fractional positions ----------------------===//
//
// The spatial axes of x are one flat axis; each of the corners (2, or 4 for
// cubic, an axis) around a position is read by its flat index and weighted.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/GridSample.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Sampling.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// Folds x back at `low` and `high` until it lies between.
Value reflect(PrimBuilder &b, Value x, Value low, Value high) {
  Value range = b.sub(high, low);
  range = b.select(b.compare(P::gt, range, 0.0), range, b.scalar(1, b.elem(x)));
  Value below = b.compare(P::lt, x, low), above = b.compare(P::gt, x, high);
  Value distance = b.select(below, b.sub(low, x), b.sub(x, high));
  Value turns = b.unary<prim::FloorOp>(b.div(distance, range));
  Value rest = b.sub(distance, b.mul(turns, range));
  Value odd = b.compare(P::ne, b.binary<prim::ModOp>(turns, b.scalar(2, b.elem(x))), 0.0);
  Value fromLow = b.add(low, rest), fromHigh = b.sub(high, rest);
  Value whenBelow = b.select(odd, fromHigh, fromLow), whenAbove = b.select(odd, fromLow, fromHigh);
  return b.select(below, whenBelow, b.select(above, whenAbove, x));
}

struct Border {
  Value low, high, last; ///< last: the extent less one
};

/// Where the taps along one axis lie and what they weigh.
SmallVector<SampleTap> tapsAlong(PrimBuilder &b, const GridOptions &o, Value n, Dim extent) {
  Type t = b.elem(n), i64 = b.builder().getI64Type();
  Value size = scalarOf(b, extent, t), last = b.sub(size, 1.0);
  Border border{b.scalar(o.alignCorners ? 0 : -0.5, t), o.alignCorners ? last : b.sub(size, 0.5),
                last};
  Value x = o.alignCorners ? b.mul(b.mul(b.add(n, 1.0), 0.5), last)
                           : b.mul(b.sub(b.mul(b.add(n, 1.0), size), 1.0), 0.5);
  if (o.mode == GridOptions::Nearest)
    x = b.unary<prim::RoundOp>(x);
  if (o.padding == GridOptions::Border && o.mode != GridOptions::Cubic) { // its taps are held alone
    Value out =
        b.binary<prim::OrOp>(b.compare(P::lt, x, border.low), b.compare(P::gt, x, border.high));
    x = b.select(out, b.minimum(b.maximum(x, 0.0), last), x);
  } else if (o.padding == GridOptions::Reflection) {
    x = reflect(b, x, border.low, border.high);
  }
  // A pixel outside is 0, the nearest one, or a mirrored one.
  auto place = [&](Value position, Value weight) -> SampleTap {
    Value inside;
    if (o.padding == GridOptions::Zeros)
      inside =
          b.binary<prim::AndOp>(b.compare(P::ge, position, 0.0), b.compare(P::le, position, last));
    else if (o.padding == GridOptions::Reflection)
      position = b.unary<prim::TruncOp>(reflect(b, position, border.low, border.high));
    position = b.minimum(b.maximum(position, 0.0), last);
    if (inside)
      weight = b.select(inside, weight, b.scalar(0, t));
    return {b.cast(position, i64), weight};
  };
  Value one = b.scalar(1, t);
  if (o.mode == GridOptions::Nearest)
    return {place(b.unary<prim::TruncOp>(x), b.broadcastTo(one, b.dims(x)))};
  Value base = b.unary<prim::FloorOp>(x), f = b.sub(x, base);
  if (o.mode == GridOptions::Linear)
    return {place(base, b.sub(one, f)), place(b.add(base, 1.0), f)};
  constexpr double k = -0.75;
  auto near = [&](Value d) { // |d| <= 1
    return b.add(b.mul(b.mul(b.sub(b.mul(d, k + 2), k + 3), d), d), 1.0);
  };
  auto far = [&](Value d) { // 1 <= |d| <= 2
    return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(d, k), 5 * k), d), 8 * k), d), 4 * k);
  };
  Value g = b.sub(one, f);
  return {place(b.sub(base, 1.0), far(b.add(f, 1.0))), place(base, near(f)),
          place(b.add(base, 1.0), near(g)), place(b.add(base, 2.0), far(b.add(g, 1.0)))};
}

} // namespace

Value tcc::gridSample(PrimBuilder &b, Value x, Value grid, const GridOptions &o) {
  int64_t spatial = b.rank(x) - 2;
  if (spatial < 1 || b.rank(grid) != b.rank(x)) {
    b.fault("x and grid differ in rank");
    return {};
  }
  requireSame(b, b.dim(grid, 0), b.dim(x, 0), "x and grid");
  requireSame(b, b.dim(grid, spatial + 1), b.dim(spatial), "the grid's coordinates");
  Type own = b.elem(x);
  Value wide = isa<FloatType>(own) ? widen(b, x) : b.cast(x, b.builder().getF32Type());
  grid = b.cast(grid, b.elem(wide));
  // The grid's last axis has the coordinates in reverse order of the axes.
  SmallVector<SmallVector<SampleTap>> taps;
  for (int64_t i = 0; i < spatial; ++i) {
    Value n =
        b.squeeze(b.sliceAxis(grid, spatial + 1, b.dim(spatial - 1 - i), b.dim(1)), {spatial + 1});
    taps.push_back(tapsAlong(b, o, n, b.dim(x, i + 2)));
  }
  Value result = sampleAt(b, wide, taps);
  if (isa<IntegerType>(own))
    result = b.unary<prim::TruncOp>(result);
  return b.cast(result, own);
}
