//===- TokenScores.cpp - Scores of the next token ---------------------------===//
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Onnx/TokenSearch.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

/// Tokens are put before the sequence so that one of any length has windows.
Value tcc::withoutRepeats(PrimBuilder &b, Value ids, Value scores, int64_t n) {
  Dim zero = b.dim(0), length = b.dim(ids, 1), count = b.addDims(length, b.dim(1));
  Value padded = b.pad(ids, b.scalar(0, b.elem(ids)), {zero, b.dim(n)}, {zero, zero});
  Value place = b.unsqueeze(b.iota({count}, 0, b.builder().getI64Type()), {0});
  Value banned = b.compare(P::ge, place, static_cast<double>(n));
  for (int64_t i = 0; i + 1 < n; ++i) {
    Value last = b.sliceAxis(padded, 1, b.addDims(count, b.dim(i)), b.dim(1));
    Value same = b.compare(P::eq, b.sliceAxis(padded, 1, b.dim(i), count), last);
    banned = b.binary<prim::AndOp>(banned, same);
  }
  Value ends = b.sliceAxis(padded, 1, b.dim(n - 1), count);
  banned = b.broadcastTo(banned, b.dims(ends));
  Value at = b.select(banned, ends, b.scalar(0, b.elem(ids)));
  requireInRange(b, at, b.dim(scores, 1), IndexRange::positions);
  Value low = extremeOf(b, b.elem(scores), -1), high = extremeOf(b, b.elem(scores), 1);
  Value limits = b.broadcastTo(b.select(banned, low, high), b.dims(ends));
  return prim::ScatterAlongOp::create(b.builder(), b.location(), scores.getType(),
                                      prim::ScatterKind::min, scores, at, limits, 1)
      .getResult();
}

Value tcc::withPenalty(PrimBuilder &b, Value ids, Value scores, Value penalty) {
  requireInRange(b, ids, b.dim(scores, 1), IndexRange::positions);
  Value before = b.takeAlong(scores, ids, 1);
  Value after =
      b.select(b.compare(P::lt, before, 0.0), b.mul(before, penalty), b.div(before, penalty));
  return prim::ScatterAlongOp::create(b.builder(), b.location(), scores.getType(),
                                      prim::ScatterKind::assign, scores, ids, after, 1)
      .getResult();
}
