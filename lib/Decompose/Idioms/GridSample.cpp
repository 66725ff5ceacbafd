//===- GridSample.cpp - Reads at fractional positions ----------------------===//
//
// The spatial axes of x are one flat axis; each of the corners (2, or 4 for
// cubic, an axis) around a position is read by its flat index and weighted.
//
// Backward, each corner adds its weight times the gradient to what it read; the
// grid gets what a corner read times the slope of its weight along each axis,
// which turns where a border mirrors and is 0 where one holds the position.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/GridSample.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Sampling.h"
#include <array>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// Folds x back at `low` and `high` until it lies between; `slope` turns with it.
Value reflect(PrimBuilder &b, Value x, Value low, Value high, Value *slope = nullptr) {
  Value range = b.sub(high, low);
  range = b.select(b.compare(P::gt, range, 0.0), range, b.scalar(1, b.elem(x)));
  Value below = b.compare(P::lt, x, low), above = b.compare(P::gt, x, high);
  Value distance = b.select(below, b.sub(low, x), b.sub(x, high));
  Value turns = b.unary<prim::FloorOp>(b.div(distance, range));
  Value rest = b.sub(distance, b.mul(turns, range));
  Value even = b.mul(b.unary<prim::FloorOp>(b.mul(turns, 0.5)), 2.0);
  Value odd = b.compare(P::ne, b.sub(turns, even), 0.0);
  Value fromLow = b.add(low, rest), fromHigh = b.sub(high, rest);
  Value whenBelow = b.select(odd, fromHigh, fromLow), whenAbove = b.select(odd, fromLow, fromHigh);
  if (slope) {
    Value outside = b.binary<prim::OrOp>(below, above);
    Value turned = b.select(odd, b.scalar(1, b.elem(x)), b.scalar(-1, b.elem(x)));
    *slope = b.select(outside, b.mul(*slope, turned), *slope);
  }
  return b.select(below, whenBelow, b.select(above, whenAbove, x));
}

struct Border {
  Value low, high, last; ///< last: the extent less one
};

/// Where the taps along one axis lie, in this type, and what they weigh; `slopes` gets how each
/// weight grows with n.
SmallVector<SampleTap> tapsAlong(PrimBuilder &b, const GridOptions &o, Value n, Dim extent,
                                 Type index, SmallVector<Value> *slopes = nullptr) {
  Type t = b.elem(n);
  Value size = scalarOf(b, extent, t), last = b.sub(size, 1.0);
  Border border{b.scalar(o.alignCorners ? 0 : -0.5, t), o.alignCorners ? last : b.sub(size, 0.5),
                last};
  Value x = o.alignCorners ? b.mul(b.mul(b.add(n, 1.0), 0.5), last)
                           : b.mul(b.sub(b.mul(b.add(n, 1.0), size), 1.0), 0.5);
  if (o.mode == GridOptions::Nearest && !o.mirrorsFirst)
    x = b.unary<prim::RoundOp>(x);
  Value slope;
  if (slopes)
    slope = b.broadcastTo(b.mul(o.alignCorners ? last : size, 0.5), b.dims(x));
  if (o.padding == GridOptions::Border && o.mode != GridOptions::Cubic) { // its taps are held alone
    Value out =
        b.binary<prim::OrOp>(b.compare(P::lt, x, border.low), b.compare(P::gt, x, border.high));
    x = b.select(out, b.minimum(b.maximum(x, 0.0), last), x);
  } else if (o.padding == GridOptions::Reflection) {
    x = reflect(b, x, border.low, border.high, slopes ? &slope : nullptr);
  }
  if (o.mode == GridOptions::Nearest && o.mirrorsFirst)
    x = b.unary<prim::RoundOp>(x);
  if (slopes && o.padding != GridOptions::Zeros && o.mode != GridOptions::Cubic) {
    Value moves = b.binary<prim::AndOp>(b.compare(P::gt, x, 0.0), b.compare(P::lt, x, last));
    slope = b.select(moves, slope, b.scalar(0, t));
  }
  // A pixel outside is 0, the nearest one, or a mirrored one. Around a position that was mirrored
  // itself, the nearest is that one: only wider filters reach further.
  auto place = [&](Value position, Value weight, Value growth) -> SampleTap {
    Value inside;
    if (o.padding == GridOptions::Zeros)
      inside =
          b.binary<prim::AndOp>(b.compare(P::ge, position, 0.0), b.compare(P::le, position, last));
    else if (o.padding == GridOptions::Reflection && o.mode == GridOptions::Cubic)
      position = b.unary<prim::TruncOp>(reflect(b, position, border.low, border.high));
    position = b.minimum(b.maximum(position, 0.0), last);
    if (inside)
      weight = b.select(inside, weight, b.scalar(0, t));
    if (slopes) {
      growth = b.mul(growth, slope);
      slopes->push_back(inside ? b.select(inside, growth, b.scalar(0, t)) : growth);
    }
    return {b.cast(position, index), weight};
  };
  Value one = b.scalar(1, t);
  if (o.mode == GridOptions::Nearest)
    return {place(b.unary<prim::TruncOp>(x), b.broadcastTo(one, b.dims(x)), b.scalar(0, t))};
  Value base = b.unary<prim::FloorOp>(x), f = b.sub(x, base);
  if (o.mode == GridOptions::Linear)
    return {place(base, b.sub(one, f), b.scalar(-1, t)), place(b.add(base, 1.0), f, one)};
  constexpr double k = -0.75;
  auto near = [&](Value d) { // |d| <= 1
    return b.add(b.mul(b.mul(b.sub(b.mul(d, k + 2), k + 3), d), d), 1.0);
  };
  auto far = [&](Value d) { // 1 <= |d| <= 2
    return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(d, k), 5 * k), d), 8 * k), d), 4 * k);
  };
  auto nearSlope = [&](Value d) { return b.mul(b.sub(b.mul(d, 3 * (k + 2)), 2 * (k + 3)), d); };
  auto farSlope = [&](Value d) { return b.add(b.mul(b.sub(b.mul(d, 3 * k), 10 * k), d), 8 * k); };
  Value g = b.sub(one, f), beyond = b.add(f, 1.0), before = b.add(g, 1.0);
  auto growths = [&]() -> std::array<Value, 4> {
    if (!slopes)
      return {};
    return {farSlope(beyond), nearSlope(f), b.neg(nearSlope(g)), b.neg(farSlope(before))};
  }();
  return {place(b.sub(base, 1.0), far(beyond), growths[0]), place(base, near(f), growths[1]),
          place(b.add(base, 1.0), near(g), growths[2]),
          place(b.add(base, 2.0), far(before), growths[3])};
}

/// The grid's coordinates along axis `i` of `spatial` ones: its last axis has them in reverse
/// order.
Value coordinates(PrimBuilder &b, Value grid, int64_t i, int64_t spatial) {
  int64_t last = b.rank(grid) - 1;
  return b.squeeze(b.sliceAxis(grid, last, b.dim(spatial - 1 - i), b.dim(1)), {last});
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
  // Words where they can count the pixels: a vector has twice as many.
  auto pixels = b.known(b.productOf(ArrayRef(b.dims(x)).drop_front(2)));
  bool areFew = pixels && *pixels <= std::numeric_limits<int32_t>::max();
  Type index = areFew ? b.builder().getI32Type() : b.builder().getI64Type();
  // Places are one axis from the start: which line one lies in would be a division for each.
  Dims places = b.dims(grid), result = {b.dim(x, 0), b.dim(x, 1)};
  places.pop_back();
  result.append(places.begin() + 1, places.end());
  grid = b.reshape(grid, {places[0], b.productOf(ArrayRef(places).drop_front()), b.dim(spatial)});
  SmallVector<SmallVector<SampleTap>> taps;
  for (int64_t i = 0; i < spatial; ++i)
    taps.push_back(tapsAlong(b, o, coordinates(b, grid, i, spatial), b.dim(x, i + 2), index));
  Value sampled = b.reshape(sampleAt(b, wide, taps), result);
  if (isa<IntegerType>(own))
    sampled = b.unary<prim::TruncOp>(sampled);
  return b.cast(sampled, own);
}

GridGradients tcc::gridSampleGradients(PrimBuilder &b, Value g, Value x, Value grid,
                                       const GridOptions &o) {
  int64_t spatial = b.rank(x) - 2;
  if (spatial < 1 || b.rank(grid) != b.rank(x) || b.rank(g) != b.rank(x)) {
    b.fault("x, grid and gradient differ in rank");
    return {};
  }
  requireSame(b, b.dim(grid, 0), b.dim(x, 0), "x and grid");
  requireSame(b, b.dim(grid, spatial + 1), b.dim(spatial), "the grid's coordinates");
  bool hasSlope = o.mode != GridOptions::Nearest;
  Type i64 = b.builder().getI64Type();
  SmallVector<SmallVector<SampleTap>> taps;
  SmallVector<SmallVector<Value>> slopes(spatial);
  for (int64_t i = 0; i < spatial; ++i)
    taps.push_back(tapsAlong(b, o, coordinates(b, grid, i, spatial), b.dim(x, i + 2), i64,
                             hasSlope ? &slopes[i] : nullptr));
  Dims have = b.dims(x), places = b.dims(taps[0][0].position); // [N, ...]
  Dim pixels = b.productOf(ArrayRef(have).drop_front(2));
  Dim count = b.productOf(ArrayRef(places).drop_front(1));
  Value image = b.reshape(x, {have[0], have[1], pixels}),
        into = b.full(b.dims(image), 0, b.elem(x));
  Value flat = b.reshape(g, {have[0], have[1], count});
  auto asRows = [&](Value v) {
    return b.reshape(b.broadcastTo(v, places), {places[0], b.dim(1), count});
  };
  SmallVector<Value> ofGrid(spatial);
  SmallVector<size_t> corner(spatial, 0);
  while (true) {
    Value index, weight;
    for (int64_t i = 0; i < spatial; ++i) {
      const SampleTap &tap = taps[i][corner[i]];
      index =
          index ? b.add(b.mul(index, scalarOf(b, have[i + 2], i64)), tap.position) : tap.position;
      weight = weight ? b.mul(weight, tap.weight) : tap.weight;
    }
    index = b.broadcastTo(asRows(index), b.dims(flat));
    into = prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(),
                                        prim::ScatterKind::add, into, index,
                                        b.mul(flat, asRows(weight)), 2)
               .getResult();
    Value seen;
    if (hasSlope)
      seen = b.reduce(prim::ReduceKind::sum, b.mul(b.takeAlong(image, index, 2), flat), {1}, true);
    for (int64_t i = 0; hasSlope && i < spatial; ++i) {
      Value part = b.mul(seen, asRows(slopes[i][corner[i]]));
      for (int64_t other = 0; other < spatial; ++other)
        if (other != i)
          part = b.mul(part, asRows(taps[other][corner[other]].weight));
      ofGrid[i] = ofGrid[i] ? b.add(ofGrid[i], part) : part;
    }
    int64_t i = spatial - 1;
    while (i >= 0 && ++corner[i] == taps[i].size())
      corner[i--] = 0;
    if (i < 0)
      break;
  }
  GridGradients result{b.reshape(into, have), {}};
  if (hasSlope) {
    places.push_back(b.dim(1));
    SmallVector<Value> columns;
    for (Value one : llvm::reverse(ofGrid))
      columns.push_back(b.reshape(one, places));
    result.grid = b.concat(columns, spatial + 1);
  }
  return result;
}
