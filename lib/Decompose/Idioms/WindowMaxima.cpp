//===- WindowMaxima.cpp - Where in a plane each window's maximum is -------===//
//
// What the windows see one after the other are strided slices of x, all of the result's shape: a
// comparison and two selections each, in one kernel and in vectors. Only how far from the window's
// corner the best one is so far is carried, in 32 bits where a plane has that few elements.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/WindowMaxima.h"
#include "Decompose/Idioms/Axes.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

class WindowMaxima {
public:
  WindowMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
               ArrayRef<Dim> result, bool columnMajor);
  Value places();

private:
  Value padded();
  Value corners();
  Value firstInside();
  Value along(int64_t axis, Value vector, Type type);
  Value sliceOf(Value padded, ArrayRef<int64_t> tap);

  PrimBuilder &b;
  Value x;
  const PrimBuilder::Window &w;
  Dims low, result;
  Dims strides; ///< positions from an element to its neighbour, for each spatial axis
  Type index, carried;
};

} // namespace

WindowMaxima::WindowMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
                           ArrayRef<Dim> result, bool columnMajor)
    : b(b), x(x), w(w), low(low), result(result), strides(w.window.size(), b.dim(1)),
      index(b.builder().getI64Type()) {
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

Value WindowMaxima::places() {
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
    Value better = b.compare(P::gt, v, found);
    if (isa<FloatType>(b.elem(x)))
      better = b.binary<prim::OrOp>(better, b.compare(P::ne, v, v));
    found = b.select(better, v, found);
    at = b.select(better, scalarOf(b, offset, carried), at);
  }
  return b.add(b.cast(at, index), corners());
}

int64_t tcc::elementsOf(const PrimBuilder::Window &w) {
  int64_t product = 1;
  for (int64_t extent : w.window)
    product *= extent;
  return product;
}

Value tcc::placesOfMaxima(PrimBuilder &b, Value x, const PrimBuilder::Window &w, ArrayRef<Dim> low,
                          ArrayRef<Dim> result, bool columnMajor) {
  return WindowMaxima(b, x, w, low, result, columnMajor).places();
}
