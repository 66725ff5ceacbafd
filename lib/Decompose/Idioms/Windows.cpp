//===- Windows.cpp - Windows along an axis, as a view of two axes ----------===//
#include "Decompose/Idioms/Windows.h"
#include "Decompose/Idioms/Axes.h"
#include <numeric>

using namespace mlir;
using namespace tcc;

namespace {

/// The windows of `unfolded` as axes [.., count, size, ..]. What size and step divide by is a
/// piece, and windows of a few whole pieces are those beside each other: each is a slice of the
/// operand's pieces. Other windows, and those of short parts of a step, are taken by index.
Value windowsOf(PrimBuilder &b, Value x, int64_t axis, Dim count, int64_t size, int64_t step) {
  constexpr int64_t kMostPieces = 8, kLongPiece = 16;
  int64_t piece = std::gcd(size, step);
  if (size == 0 || size / piece > kMostPieces || (piece != step && piece < kLongPiece))
    return windowsByIndex(b, x, axis, count, b.dim(size), b.dim(step));
  int64_t steps = step / piece;
  Dim pieces = b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(steps)), b.dim(size / piece));
  Value seen = b.sliceAxis(x, axis, b.dim(0), b.mulDims(pieces, b.dim(piece)));
  Dims split = b.dims(seen);
  split[axis] = pieces;
  split.insert(split.begin() + axis + 1, b.dim(piece));
  seen = b.reshape(seen, split);
  SmallVector<Value> parts;
  for (int64_t first = 0; first < size / piece; ++first)
    parts.push_back(b.sliceAxis(seen, axis, b.dim(first), count, steps));
  return parts.size() == 1 ? parts.front() : b.concat(parts, axis + 1);
}

} // namespace

Dim tcc::windowsIn(PrimBuilder &b, Dim extent, Dim size, Dim step) {
  Dim between = b.floorDivDims(b.subDims(extent, size), b.maxDims(step, b.dim(1)));
  return b.maxDims(b.addDims(between, b.dim(1)), b.dim(0));
}

Value tcc::windowsByIndex(PrimBuilder &b, Value x, int64_t axis, Dim count, Dim size, Dim step) {
  Type index = b.builder().getI64Type();
  Value first = b.mul(b.iota({count}, 0, index), scalarOf(b, step, index));
  Value at = b.add(b.unsqueeze(first, {1}), b.unsqueeze(b.iota({size}, 0, index), {0}));
  return b.take(x, at, axis);
}

Value tcc::unfolded(PrimBuilder &b, Value x, int64_t axis, int64_t size, int64_t step) {
  Dim count = windowsIn(b, b.dim(x, axis), b.dim(size), b.dim(step));
  Value windows = windowsOf(b, x, axis, count, size, step);
  SmallVector<int64_t> order = allAxes(b.rank(windows));
  order.erase(order.begin() + axis + 1);
  order.push_back(axis + 1);
  return b.transpose(windows, order);
}
