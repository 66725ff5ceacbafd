//===- Windows.cpp - Windows along an axis, as a view of two axes ----------===//
#include "Decompose/Idioms/Windows.h"
#include "Decompose/Idioms/Axes.h"
#include <numeric>

using namespace mlir;
using namespace tcc;

namespace {

/// The windows of `unfolded` as axes [.., count, size, ..]. What size and step divide by is a
/// piece, and windows of a few whole pieces are those beside each other: each is a slice of the
/// operand's pieces. Other windows, and those of short pieces, are taken by index.
Value windowsOf(PrimBuilder &b, Value x, int64_t axis, Dim count, int64_t size, int64_t step) {
  constexpr int64_t kMostPieces = 8, kLongPiece = 16;
  int64_t piece = std::gcd(size, step);
  // Those along the last axis interleave.
  bool steps = piece == step && (size == step || axis + 1 == b.rank(x));
  if (size == 0 || size / piece > kMostPieces || (!steps && piece < kLongPiece))
    return windowsByIndex(b, x, axis, count, b.dim(size), b.dim(step));
  int64_t stride = step / piece;
  Dim pieces = b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(stride)), b.dim(size / piece));
  Value seen = b.sliceAxis(x, axis, b.dim(0), b.mulDims(pieces, b.dim(piece)));
  Dims split = b.dims(seen);
  split[axis] = pieces;
  split.insert(split.begin() + axis + 1, b.dim(piece));
  seen = b.reshape(seen, split);
  SmallVector<Value> parts;
  for (int64_t first = 0; first < size / piece; ++first)
    parts.push_back(b.sliceAxis(seen, axis, b.dim(first), count, stride));
  return parts.size() == 1 ? parts.front() : b.concat(parts, axis + 1);
}

} // namespace

Dim tcc::windowsIn(PrimBuilder &b, Dim extent, Dim size, Dim step) {
  Dim between = b.floorDivDims(b.subDims(extent, size), b.maxDims(step, b.dim(1)));
  return b.maxDims(b.addDims(between, b.dim(1)), b.dim(0));
}

Value tcc::positions(PrimBuilder &b, Dim count) {
  Type index = b.builder().getI64Type();
  auto known = b.known(count);
  if (!known)
    return b.iota({count}, 0, index);
  return prim::IotaOp::create(b.builder(), b.location(), RankedTensorType::get({*known}, index), 0,
                              ValueRange());
}

Value tcc::windowsByIndex(PrimBuilder &b, Value x, int64_t axis, Dim count, Dim size, Dim step) {
  Value first = b.mul(positions(b, count), scalarOf(b, step, b.builder().getI64Type()));
  Value at = b.add(b.unsqueeze(first, {1}), b.unsqueeze(positions(b, size), {0}));
  return b.take(x, at, axis);
}

Value TakenWindows::beside(PrimBuilder &b, Value numbers) const {
  Value turned = taps < axis ? b.transpose(numbers, {1, 0}) : numbers;
  Dims dims(b.rank(x), b.dim(1));
  dims[axis] = b.dim(x, axis);
  dims[taps] = b.dim(x, taps);
  return b.reshape(turned, dims);
}

Value TakenWindows::reduced(PrimBuilder &b, prim::ReduceKind kind) const {
  return b.reduce(kind, x, {taps}, false);
}

TakenWindows tcc::takeWindows(PrimBuilder &b, Value x, int64_t axis, Value places) {
  bool last = axis + 1 == b.rank(x);
  Value taken = b.take(x, last ? b.transpose(places, {1, 0}) : places, axis);
  return {taken, axis + last, axis + !last};
}

Value tcc::placesFrom(PrimBuilder &b, Value first, Dim size) {
  return b.add(b.unsqueeze(first, {1}), b.unsqueeze(b.iota({size}, 0, b.elem(first)), {0}));
}

Value tcc::weightedWindows(PrimBuilder &b, Value x, int64_t axis, Value places, Value weights) {
  constexpr int64_t kFewTaps = 6; // that are cheaper written out
  auto taps = b.known(b.dim(places, 1));
  if (!taps || *taps > kFewTaps || *taps == 0) {
    TakenWindows windows = takeWindows(b, x, axis, places);
    windows.x = b.mul(windows.x, windows.beside(b, weights));
    return windows.reduced(b, prim::ReduceKind::sum);
  }
  auto column = [&](Value matrix, int64_t tap) {
    return b.squeeze(b.sliceAxis(matrix, 1, b.dim(tap), b.dim(1)), {1});
  };
  Value sum;
  for (int64_t tap = 0; tap < *taps; ++tap) {
    Value weight = alongAxis(b, column(weights, tap), axis, b.rank(x));
    Value part = b.mul(b.take(x, column(places, tap), axis), weight);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

Value tcc::unfolded(PrimBuilder &b, Value x, int64_t axis, int64_t size, int64_t step) {
  Dim count = windowsIn(b, b.dim(x, axis), b.dim(size), b.dim(step));
  Value windows = windowsOf(b, x, axis, count, size, step);
  SmallVector<int64_t> order = allAxes(b.rank(windows));
  order.erase(order.begin() + axis + 1);
  order.push_back(axis + 1);
  return b.transpose(windows, order);
}

SmallVector<int64_t> tcc::growingLast(int64_t axes, function_ref<bool(int64_t)> grows) {
  SmallVector<int64_t> order = allAxes(axes);
  llvm::stable_sort(order, [&](int64_t i, int64_t j) { return !grows(i) && grows(j); });
  return order;
}
