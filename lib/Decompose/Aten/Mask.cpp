//===- Mask.cpp - Elements where a condition holds, and counts of them ----===//
//
// How many elements a mask selects is known to the run alone: prim.nonzero gives their positions
// with an open extent, and everything else is a read or write at those. Searches in sorted
// sequences are here too, since they count for how many boundaries a condition holds.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/Mask.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/IndexBounds.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using S = prim::ScatterKind;
using P = prim::ComparePredicate;

SmallVector<Value> aten::positionsOf(PrimBuilder &b, Value mask) {
  Value all = b.nonzero(mask);
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < b.rank(mask); ++i)
    vectors.push_back(b.squeeze(b.sliceAxis(all, 0, b.dim(i), b.dim(1)), {0}));
  return vectors;
}

namespace {

/// Rows of positions; a number that is not 0 has one row without columns.
Value nonzeroRows(PrimBuilder &b, Value x) {
  if (b.rank(x) > 0)
    return b.transpose(b.nonzero(x), {1, 0});
  Value found = b.transpose(b.nonzero(b.unsqueeze(x, {0})), {1, 0});
  return b.sliceAxis(found, 1, b.dim(0), b.dim(0));
}

LogicalResult nonzero(AtenNode &a) { return a.give(nonzeroRows(a.b, a.tensor("self"))); }

/// As many as asked for: the first ones, or filled up.
LogicalResult nonzeroStatic(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto size = a.extent("size");
  if (!size)
    return a.fail("needs a size");
  Value found = nonzeroRows(b, a.tensor("self"));
  Dim missing = b.maxDims(b.subDims(*size, b.dim(found, 0)), b.dim(0));
  Value fill = b.scalar(a.real("fill_value", -1), b.elem(found));
  return a.give(b.sliceAxis(b.pad(found, fill, {b.dim(0), b.dim(0)}, {missing, b.dim(0)}), 0,
                            b.dim(0), *size));
}

LogicalResult nonzeroEach(AtenNode &a) {
  Value x = a.tensor("self") ? a.tensor("self") : a.tensor("condition");
  if (!x)
    return a.fail("needs a tensor");
  for (auto [i, v] : llvm::enumerate(positionsOf(a.b, x)))
    (void)a.give(i, v);
  return success();
}

LogicalResult maskedSelect(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), mask = a.cast(a.tensor("mask"), b.builder().getI1Type());
  Dims shape = b.broadcastShapes(b.dims(x), b.dims(mask));
  Dims flat = {b.productOf(shape)};
  x = b.reshape(b.broadcastTo(x, shape), flat);
  mask = b.reshape(b.broadcastTo(mask, shape), flat);
  return a.give(b.take(x, positionsOf(b, mask)[0], 0));
}

/// Elements of the source, in order, where the mask holds. That there are enough of them is a truth
/// of a tensor, which a GPU finds without the host.
LogicalResult maskedScatter(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), source = a.tensor("source");
  Value mask = a.cast(a.tensor("mask"), b.builder().getI1Type());
  Dims shape = b.broadcastShapes(b.dims(x), b.dims(mask));
  mask = b.broadcastTo(mask, shape);
  x = b.broadcastTo(x, shape);
  Dims flat = {b.productOf(shape)};
  // Places in few bits, where they fit: a vector has more of them.
  auto all = b.known(flat[0]), given = b.known(b.productOf(b.dims(source)));
  bool few = all && *all <= std::numeric_limits<int32_t>::max();
  Type i64 = b.builder().getI64Type();
  Value count = b.reshape(b.cast(mask, few ? b.builder().getI32Type() : i64), flat);
  Value position = prim::CumulativeOp::create(b.builder(), b.location(), count.getType(),
                                              prim::ReduceKind::sum, count, 0, true, false);
  if (!all || !given || *all > *given) {
    Value taken = b.cast(b.reduce(prim::ReduceKind::sum, count, {0}, false), i64);
    Value there = scalarOf(b, b.productOf(b.dims(source)), i64);
    b.check(b.readElements(b.compare(P::le, taken, there))[0],
            "masked_scatter: the mask has more positions than the source has elements");
  }
  Value values = b.take(b.reshape(source, {b.productOf(b.dims(source))}), position, 0);
  return a.give(b.select(mask, b.reshape(values, shape), x));
}

LogicalResult oneHot(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto classes = a.extent("num_classes");
  if (!classes || b.known(*classes).value_or(1) < 1)
    return a.fail("the number of classes must be given");
  Value x = a.tensor("self");
  Dims shape = b.dims(x);
  shape.push_back(*classes);
  requireInRange(b, x, *classes, IndexRange::positions);
  Value each = b.iota(shape, b.rank(x), b.elem(x));
  return a.give(b.compare(P::eq, b.unsqueeze(x, {-1}), each));
}

/// The boundaries of all rows one behind the other, and where those of each value's row begin.
std::pair<Value, Value> boundariesInOne(PrimBuilder &b, Value boundaries, Value values,
                                        int64_t last, int64_t n, Type index) {
  Dims outer = b.dims(boundaries), rows = b.dims(values);
  outer.pop_back();
  Value row = b.mul(b.iota({b.productOf(outer)}, 0, index), static_cast<double>(n));
  outer.push_back(b.dim(1));
  return {b.reshape(boundaries, {b.productOf(b.dims(boundaries))}),
          b.broadcastTo(b.reshape(row, outer), rows)};
}

} // namespace

Value tcc::aten::countByHalving(PrimBuilder &b, Value boundaries, Value values, int64_t n,
                                Halving how) {
  int64_t last = b.rank(boundaries) - 1;
  // Places in few bits, where they fit: a vector has more of them.
  auto all = b.known(b.productOf(b.dims(boundaries)));
  bool few = all && *all < std::numeric_limits<int32_t>::max() / 2;
  Type i64 = b.builder().getI64Type(), index = few ? b.builder().getI32Type() : i64;
  Value count = b.full(b.dims(values), 0, index), before;
  if (last > 0)
    std::tie(boundaries, before) = boundariesInOne(b, boundaries, values, last, n, index);
  for (int64_t step = llvm::bit_floor<uint64_t>(n); step > 0; step /= 2) {
    Value next = b.add(count, static_cast<double>(step));
    Value place = b.sub(b.minimum(next, static_cast<double>(n)), 1.0);
    Value e = b.take(boundaries, before ? b.add(place, before) : place, 0);
    Value stop = how == Halving::LeftOfNan
                     ? b.logicalNot(b.compare(P::lt, e, values))
                     : b.compare(how == Halving::Right ? P::gt : P::ge, e, values);
    stop = b.binary<prim::OrOp>(stop, b.compare(P::gt, next, static_cast<double>(n)));
    count = b.select(stop, count, next);
  }
  return b.cast(count, i64);
}

namespace {

/// How many boundaries lie below each value (or not above it, from the right); below NaN all do.
LogicalResult countBelow(AtenNode &a, Value boundaries, Value values, bool right) {
  PrimBuilder &b = a.b;
  if (b.rank(boundaries) == 0)
    return a.fail("needs a sequence of boundaries");
  Type wide = AtenNode::isFloat(b.elem(values)) ? b.elem(values) : b.elem(boundaries);
  constexpr int64_t most = 1 << 24; // many turns
  auto n = b.known(b.dim(boundaries, b.rank(boundaries) - 1));
  if (n && *n > kFewBoundaries && *n < most)
    return a.give(countByHalving(b, b.cast(boundaries, wide), b.cast(values, wide), *n,
                                 right ? Halving::Right : Halving::Left));
  Value v = b.unsqueeze(b.cast(values, wide), {-1}), e = b.cast(boundaries, wide);
  if (b.rank(e) > 1)
    e = b.unsqueeze(e, {-2});
  Value below = b.logicalNot(b.compare(right ? P::gt : P::ge, e, v));
  Value count =
      b.reduce(prim::ReduceKind::sum, b.cast(below, b.builder().getI64Type()), {-1}, false);
  return a.give(count);
}

LogicalResult bucketize(AtenNode &a) {
  Value v = a.number("self", a.tensor("self") ? a.b.elem(a.tensor("self"))
                                              : Type(a.b.builder().getF32Type()));
  return v ? countBelow(a, a.tensor("boundaries"), v, a.flag("right", false))
           : a.fail("needs values");
}

LogicalResult searchSorted(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value e = a.tensor("sorted_sequence");
  Value v = a.number("self", a.tensor("self") ? a.b.elem(a.tensor("self")) : a.b.elem(e));
  if (!v)
    return a.fail("needs values");
  if (Value sorter = a.tensor("sorter")) {
    int64_t last = b.rank(e) - 1;
    requireInRange(b, sorter, b.dim(e, last), IndexRange::positions);
    e = b.takeAlong(e, sorter, last);
  }
  return countBelow(a, e, v, a.flag("right", false) || a.text("side") == "right");
}

} // namespace

void tcc::populateAtenMaskRules(RuleSet &rules) {
  addRules(rules, {{"nonzero", "default", "self", nonzero},
                   {"argwhere", "default", "self", nonzero},
                   {"nonzero_static", "default", "self", nonzeroStatic},
                   {"nonzero_numpy", "default", "self", nonzeroEach},
                   {"where", "default", "condition", nonzeroEach},
                   {"masked_select", "default", "self mask", maskedSelect},
                   {"masked_scatter", "default", "self mask source", maskedScatter},
                   {"one_hot", "default", "self", oneHot},
                   {"bucketize", "Tensor Scalar", "boundaries", bucketize},
                   {"searchsorted", "Tensor Scalar", "sorted_sequence", searchSorted}});
}
