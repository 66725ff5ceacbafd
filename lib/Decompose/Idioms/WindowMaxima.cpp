//===- WindowMaxima.cpp - Where in a plane each window's maximum is -------===//
//
// What the windows see one after the other are strided slices of x, all of the result's shape: a
// comparison and two selections each, in one kernel and in vectors. Only how far from the window's
// corner the best one is so far is carried, in 32 bits where a plane has that few elements.
//
// Where that compares much less, one axis is reduced after the other, the last one first: of each
// line the best element and its place, and of those the best for each window. The last axis comes
// first and equals stay behind, so it is the same element that is found.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/WindowMaxima.h"
#include "Decompose/Idioms/Axes.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

struct Maxima {
  Value values, places; ///< places as they are carried, or how far from the corner
};

class WindowMaxima {
public:
  WindowMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
               ArrayRef<Dim> result, bool columnMajor);
  Value places();
  Value placesByAxes();

private:
  Value padded();
  Value corners();
  Value firstInside();
  Value along(int64_t axis, Value vector, Type type);
  Value sliceOf(Value padded, ArrayRef<int64_t> tap);
  Value isBetter(Value v, Value best);
  Maxima found();
  Maxima reduced(Maxima lines, int64_t axis);

  PrimBuilder &b;
  Value x;
  const PrimBuilder::Window &w;
  Dims low, result;
  bool columnMajor;
  Dims strides; ///< positions from an element to its neighbour, for each spatial axis
  Type index, carried;
};

} // namespace

WindowMaxima::WindowMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
                           ArrayRef<Dim> result, bool columnMajor)
    : b(b), x(x), w(w), low(low), result(result), columnMajor(columnMajor),
      strides(w.window.size(), b.dim(1)), index(b.builder().getI64Type()) {
  int64_t axes = w.window.size();
  Dim plane = b.dim(1);
  for (int64_t k = 0; k < axes; ++k) {
    int64_t axis = columnMajor ? k : axes - 1 - k;
    strides[axis] = plane;
    plane = b.mulDims(plane, b.dim(x, axis + 2));
  }
  auto elements = b.known(plane);
  bool isShort = elements && *elements < std::numeric_limits<int32_t>::max();
  carried = isShort ? Type(b.builder().getI32Type()) : index;
}

/// x with enough around it for all windows.
Value WindowMaxima::padded() {
  Dims before(2, b.dim(0)), after(2, b.dim(0));
  for (auto [i, first] : llvm::enumerate(low)) {
    Dim last = b.mulDims(b.subDims(result[i + 2], b.dim(1)), b.dim(w.strides[i]));
    Dim reach = b.addDims(last, b.dim((w.window[i] - 1) * w.dilations[i] + 1));
    before.push_back(first);
    after.push_back(b.maxDims(b.subDims(b.subDims(reach, b.dim(x, i + 2)), first), b.dim(0)));
  }
  return b.pad(x, extremeOf(b, b.elem(x), -1), before, after);
}

/// A vector of elements along an axis as positions in the plane.
Value WindowMaxima::along(int64_t axis, Value vector, Type type) {
  Value positions = b.mul(vector, scalarOf(b, strides[axis], index));
  return alongAxis(b, b.cast(positions, type), axis + 2, b.rank(x));
}

/// The positions of the windows' first elements, which may lie outside.
Value WindowMaxima::corners() {
  Value sum;
  for (auto [i, first] : llvm::enumerate(low)) {
    Value steps = b.mul(b.iota({result[i + 2]}, 0, index), static_cast<double>(w.strides[i]));
    Value corner = along(i, b.sub(steps, scalarOf(b, first, index)), index);
    sum = sum ? b.add(sum, corner) : corner;
  }
  return sum;
}

/// How far from the corner each window's first element within x is.
Value WindowMaxima::firstInside() {
  Value sum = b.full(result, 0, carried);
  for (auto [i, first] : llvm::enumerate(low)) {
    if (b.known(first) == 0)
      continue;
    Value steps = b.mul(b.iota({result[i + 2]}, 0, index), static_cast<double>(w.strides[i]));
    Value outside = b.maximum(b.sub(scalarOf(b, first, index), steps), 0.0);
    Value dilation = b.scalar(static_cast<double>(w.dilations[i]), index);
    Value taps = b.binary<prim::FloorDivOp>(b.add(outside, static_cast<double>(w.dilations[i] - 1)),
                                            dilation);
    sum = b.add(sum, along(i, b.mul(taps, dilation), carried));
  }
  return sum;
}

Value WindowMaxima::sliceOf(Value padded, ArrayRef<int64_t> tap) {
  Dims starts(2, b.dim(0));
  SmallVector<int64_t> steps(2, 1);
  for (auto [offset, dilation, stride] : llvm::zip(tap, w.dilations, w.strides)) {
    starts.push_back(b.dim(offset * dilation));
    steps.push_back(stride);
  }
  return b.slice(padded, starts, result, steps);
}

/// Whether `v` is chosen where `best` was so far.
Value WindowMaxima::isBetter(Value v, Value best) {
  Value better = b.compare(P::gt, v, best);
  if (isa<FloatType>(b.elem(x)))
    better = b.binary<prim::OrOp>(better, b.compare(P::ne, v, v));
  return better;
}

Maxima WindowMaxima::found() {
  Value wide = padded(), found, at;
  int64_t axes = w.window.size();
  for (int64_t n = 0; n < elementsOf(w); ++n) {
    SmallVector<int64_t> tap(axes);
    Dim offset = b.dim(0);
    for (int64_t i = axes, rest = n; i-- > 0; rest /= w.window[i]) {
      tap[i] = rest % w.window[i];
      offset = b.addDims(offset, b.mulDims(b.dim(tap[i] * w.dilations[i]), strides[i]));
    }
    Value v = sliceOf(wide, tap);
    if (!found) {
      found = v;
      at = firstInside();
      continue;
    }
    Value better = isBetter(v, found);
    found = b.select(better, v, found);
    at = b.select(better, scalarOf(b, offset, carried), at);
  }
  return {found, at};
}

Value WindowMaxima::places() { return b.add(b.cast(found().places, index), corners()); }

/// The best of the windows along one axis. Where a window begins outside, nothing is found yet.
Maxima WindowMaxima::reduced(Maxima lines, int64_t axis) {
  constexpr double none = -1;
  int64_t rank = b.rank(x);
  Dim extent = b.dim(lines.values, axis + 2), first = low[axis];
  Dim last = b.mulDims(b.subDims(result[axis + 2], b.dim(1)), b.dim(w.strides[axis]));
  Dim reach = b.addDims(last, b.dim((w.window[axis] - 1) * w.dilations[axis] + 1));
  Dims before(rank, b.dim(0)), after = before, starts = before, sizes = b.dims(lines.values);
  before[axis + 2] = first;
  after[axis + 2] = b.maxDims(b.subDims(b.subDims(reach, extent), first), b.dim(0));
  sizes[axis + 2] = result[axis + 2];
  SmallVector<int64_t> steps(rank, 1);
  steps[axis + 2] = w.strides[axis];
  bool beginsInside = b.known(first) == 0;
  Value values = b.pad(lines.values, extremeOf(b, b.elem(x), -1), before, after);
  Value places = b.pad(lines.places, b.scalar(none, carried), before, after);
  Maxima best;
  for (int64_t tap = 0; tap < w.window[axis]; ++tap) {
    starts[axis + 2] = b.dim(tap * w.dilations[axis]);
    Maxima line{b.slice(values, starts, sizes, steps), b.slice(places, starts, sizes, steps)};
    if (!best.values) {
      best = line;
      continue;
    }
    Value better = isBetter(line.values, best.values);
    if (!beginsInside)
      better = b.binary<prim::OrOp>(better, b.compare(P::lt, best.places, 0.0));
    best.values = b.select(better, line.values, best.values);
    best.places = b.select(better, line.places, best.places);
  }
  return best;
}

Value WindowMaxima::placesByAxes() {
  int64_t axes = w.window.size();
  PrimBuilder::Window lines = w;
  Dims noneBefore(axes, b.dim(0)), ofLines = b.dims(x);
  for (int64_t i = 0; i + 1 < axes; ++i)
    lines.window[i] = lines.strides[i] = lines.dilations[i] = 1;
  noneBefore.back() = low.back();
  ofLines.back() = result.back();
  WindowMaxima alongLines(b, x, lines, noneBefore, ofLines, columnMajor);
  Maxima best = alongLines.found();
  best.places = b.add(best.places, b.cast(alongLines.corners(), carried));
  for (int64_t axis = axes - 1; axis-- > 0;)
    best = reduced(best, axis);
  return b.cast(best.places, index);
}

/// Whether one axis after the other compares much less, half as much, since it stores what is found
/// and reads it again; or all elements are too many for one kernel.
static bool areWorthAxes(const PrimBuilder::Window &w) {
  constexpr int64_t most = 64;
  int64_t together = 1, apart = 0;
  for (int64_t i = 0, lines = 1; i < static_cast<int64_t>(w.window.size()); ++i) {
    together *= w.window[i];
    apart += w.window[i] * lines;
    lines *= w.strides[i];
  }
  return together > most || together > 2 * apart;
}

int64_t tcc::elementsOf(const PrimBuilder::Window &w) {
  int64_t product = 1;
  for (int64_t extent : w.window)
    product *= extent;
  return product;
}

Value tcc::placesOfMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
                          ArrayRef<Dim> result, bool columnMajor) {
  WindowMaxima maxima(b, x, w, low, result, columnMajor);
  return areWorthAxes(w) ? maxima.placesByAxes() : maxima.places();
}
