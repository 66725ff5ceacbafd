//===- Segment.cpp - Reductions over runs of an axis ------------------------===//
//
// Segment s of an axis is [offsets[s], offsets[s + 1]): where it lies is a mask over segments and
// positions, which a reduction over the positions sees as an operand like any other.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// The first position of each segment and the one after its last, [.., segments].
struct Bounds {
  Value start, end;
};
FailureOr<Bounds> boundsOf(AtenNode &a, int64_t axis) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  if (Value lengths = a.tensor("lengths")) {
    if (b.rank(lengths) != axis + 1)
      return a.fail("'lengths' needs an axis of segments after those before the reduced one");
    lengths = b.cast(lengths, i64);
    Value end = prim::CumulativeOp::create(b.builder(), b.location(), lengths.getType(), K::sum,
                                           lengths, axis, false, false)
                    .getResult();
    return Bounds{b.sub(end, lengths), end};
  }
  Value offsets = a.tensor("offsets");
  if (!offsets || b.rank(offsets) != axis + 1)
    return a.fail("needs 'lengths' or 'offsets' of segments");
  offsets = b.cast(offsets, i64);
  Dim count = b.subDims(b.dim(offsets, axis), b.dim(1));
  requireAtMost(b, b.dim(1), b.dim(offsets, axis), "segment_reduce: the number of offsets");
  return Bounds{b.sliceAxis(offsets, axis, b.dim(0), count),
                b.sliceAxis(offsets, axis, b.dim(1), count)};
}

LogicalResult segmentReduce(AtenNode &a) {
  PrimBuilder &b = a.b;
  StringRef how = a.text("reduce");
  Value x = a.cast(a.tensor("data"), a.wide());
  auto axis = a.axis("axis", 0, b.rank(x));
  if (failed(axis) || b.rank(x) == 0)
    return a.fail("needs an axis");
  auto bounds = boundsOf(a, *axis);
  if (failed(bounds))
    return failure();
  bool average = how == "mean";
  K kind = how == "max" ? K::max : how == "min" ? K::min : how == "prod" ? K::prod : K::sum;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double neutral = kind == K::max   ? -kInfinity
                   : kind == K::min ? kInfinity
                                    : static_cast<double>(kind == K::prod);
  Value identity = b.scalar(neutral, b.elem(x));
  // [before.., segments, positions, after..]
  int64_t rank = b.rank(x) + 1;
  Dims shape = b.dims(x);
  Value at = alongAxis(b, b.iota({shape[*axis]}, 0, b.builder().getI64Type()), *axis + 1, rank);
  auto spread = [&](Value v) { return b.unsqueeze(v, axesFrom(*axis + 1, rank)); };
  Value inside = b.binary<prim::AndOp>(b.compare(P::ge, at, spread(bounds->start)),
                                       b.compare(P::lt, at, spread(bounds->end)));
  Value seen = b.select(inside, b.unsqueeze(x, {*axis}), identity);
  Value result = b.reduce(kind, seen, {*axis + 1}, false);
  Value first = a.number("initial", neutral, b.elem(x));
  result = kind == K::max    ? b.maximum(result, first)
           : kind == K::min  ? b.minimum(result, first)
           : kind == K::prod ? b.mul(result, first)
                             : b.add(result, first);
  if (!average)
    return a.give(result);
  Value length = b.unsqueeze(b.sub(bounds->end, bounds->start), axesFrom(*axis + 1, rank - 1));
  length = b.cast(length, b.elem(x));
  Value mean = b.div(result, b.maximum(length, 1.0));
  if (a.has("initial"))
    return a.give(mean);
  Value nan = b.scalar(std::numeric_limits<double>::quiet_NaN(), b.elem(x));
  return a.give(b.select(b.compare(P::eq, length, 0.0), nan, mean));
}

/// Every element gets its segments' gradients times the slope of the reduction; the largest or
/// smallest ones of a segment share its.
LogicalResult segmentReduceBackward(AtenNode &a) {
  PrimBuilder &b = a.b;
  StringRef how = a.text("reduce");
  Type wide = a.wide();
  auto operand = [&](StringRef name) { return a.cast(a.tensor(name), wide); };
  Value x = operand("data"), g = operand("grad"), out = operand("output");
  auto axis = a.axis("axis", 0, b.rank(x));
  if (failed(axis) || b.rank(x) == 0 || b.rank(g) != b.rank(x) || b.rank(out) != b.rank(x))
    return a.fail("operands differ in rank");
  auto bounds = boundsOf(a, *axis);
  if (failed(bounds))
    return failure();
  // [before.., segments, positions, after..]
  int64_t rank = b.rank(x) + 1;
  Dim positions = b.dim(x, *axis);
  Value at = alongAxis(b, b.iota({positions}, 0, b.builder().getI64Type()), *axis + 1, rank);
  auto spread = [&](Value v) { return b.unsqueeze(v, axesFrom(*axis + 1, rank)); };
  Value inside = b.binary<prim::AndOp>(b.compare(P::ge, at, spread(bounds->start)),
                                       b.compare(P::lt, at, spread(bounds->end)));
  Value one = b.scalar(1, wide), zero = b.scalar(0, wide);
  x = b.unsqueeze(x, {*axis});
  g = b.unsqueeze(g, {*axis + 1});
  out = b.unsqueeze(out, {*axis + 1});
  auto countOf = [&](Value which) {
    return b.reduce(K::sum, b.cast(which, wide), {*axis + 1}, true);
  };
  if (how == "mean") {
    Value length = b.cast(spread(b.sub(bounds->end, bounds->start)), wide);
    g = b.div(g, b.maximum(length, 1.0));
  } else if (how == "max" || how == "min") {
    Value found = b.binary<prim::OrOp>(b.compare(P::eq, x, out), b.compare(P::ne, x, x));
    inside = b.binary<prim::AndOp>(inside, found);
    g = b.div(g, b.maximum(countOf(inside), 1.0));
  } else if (how == "prod") {
    // The product of the others, which is no quotient where an element is 0.
    Value isZero = b.binary<prim::AndOp>(inside, b.compare(P::eq, x, 0.0));
    Value counts = b.binary<prim::AndOp>(inside, b.logicalNot(isZero));
    Value rest = b.reduce(K::prod, b.select(counts, x, one), {*axis + 1}, true);
    rest = b.mul(rest, a.number("initial", 1, wide));
    Value single = b.select(b.compare(P::eq, countOf(isZero), 1.0), rest, zero);
    g = b.mul(g, b.select(isZero, single, b.div(out, b.select(isZero, one, x))));
  }
  return a.give(b.reduce(K::sum, b.select(inside, g, zero), {*axis}, false));
}

} // namespace

void tcc::populateAtenSegmentRules(RuleSet &rules) {
  addRules(rules,
           {{"segment_reduce", "default", "data", segmentReduce},
            {"_segment_reduce_backward", "default", "grad output data", segmentReduceBackward}});
}
