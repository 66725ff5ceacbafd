//===- TokenScores.cpp - Scores of the next token ---------------------------===//
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Onnx/TokenSearch.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

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

Value tcc::withTimes(PrimBuilder &b, Value ids, Value scores, const TimeTokens &t) {
  constexpr int64_t kFirstAtMost = 50; // steps of 0.02 s
  constexpr double kLeast = std::numeric_limits<float>::lowest();
  Type index = b.builder().getI64Type();
  ids = b.cast(ids, index);
  auto first = static_cast<double>(t.firstTime);
  auto both = [&](Value x, Value y) { return b.binary<prim::AndOp>(x, y); };
  auto either = [&](Value x, Value y) { return b.binary<prim::OrOp>(x, y); };
  auto tokenAt = [&](int64_t fromEnd) {
    Dim place = b.maxDims(b.subDims(b.dim(ids, 1), b.dim(fromEnd)), b.dim(0));
    return b.sliceAxis(ids, 1, place, b.dim(1));
  };
  Value place = b.unsqueeze(b.iota({b.dim(ids, 1)}, 0, index), {0});
  Value length = scalarOf(b, b.dim(ids, 1), index);
  Value isTime = b.compare(P::ge, ids, first);
  Value begin = b.add(b.reduce(K::min, b.select(isTime, place, length), {1}, true), 1.0);
  Value later = b.compare(P::lt, begin, length); // behind the first time
  Value ends = b.compare(P::ge, tokenAt(1), first);
  Value pair = either(b.logicalNot(later), b.compare(P::ge, tokenAt(2), first));
  Value single = both(ends, b.logicalNot(pair));
  Value last = b.reduce(K::max, b.select(isTime, place, b.scalar(-1, index)), {1}, true);
  Value lastTime = b.takeAlong(ids, b.maximum(last, 0.0), 1);
  Value low = b.select(single, lastTime, b.add(lastTime, 1.0));

  Value token = b.unsqueeze(b.iota({b.dim(scores, 1)}, 0, index), {0});
  auto is = [&](int64_t which) { return b.compare(P::eq, token, static_cast<double>(which)); };
  Value time = b.compare(P::ge, token, first);
  Value hidden = either(is(t.noTimes), is(t.startOfLanguageModel));
  Value tasks = either(is(t.start), either(is(t.translate), is(t.transcribe)));
  hidden = either(hidden, both(later, tasks));
  hidden = either(hidden, both(both(ends, pair), time));
  hidden = either(hidden, both(single, b.compare(P::lt, token, static_cast<double>(t.end))));
  Value passed = both(b.compare(P::ge, last, 0.0), b.compare(P::lt, token, low));
  hidden = either(hidden, both(passed, time));
  Value late = b.compare(P::gt, token, static_cast<double>(t.firstTime + kFirstAtMost));
  hidden = either(hidden, both(b.logicalNot(later), late));
  Value never = extremeOf(b, b.elem(scores), -1);
  scores = b.select(hidden, never, scores);

  Value times = b.select(time, scores, never);
  Value most = b.maximum(b.reduce(K::max, times, {1}, true), kLeast);
  Value together = b.add(b.log(b.reduce(K::sum, b.exp(b.sub(times, most)), {1}, true)), most);
  Value text = b.maximum(b.reduce(K::max, b.select(time, never, scores), {1}, true), kLeast);
  Value chooses = both(b.compare(P::gt, together, text), b.logicalNot(time));
  return b.select(chooses, never, scores);
}
