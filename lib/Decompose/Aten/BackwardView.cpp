//===- BackwardView.cpp - Gradients of ATen pads, windows and masks -------===//
//
// What an operator copied gets back the sum of the gradients of its copies. Of a border that
// mirrors or repeats, those are the gradient's own ends, reversed or summed, added where they came
// from; of windows that overlap, positions may be told by the host and scattered to.
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
using S = prim::ScatterKind;

namespace {

/// `v` between `low` and `high` zeros along `axis`.
Value between(PrimBuilder &b, Value v, int64_t axis, Dim low, Dim high) {
  Dims before(b.rank(v), b.dim(0)), after = before;
  before[axis] = low;
  after[axis] = high;
  return b.pad(v, b.scalar(0, b.elem(v)), before, after);
}

/// The gradient along one axis of `extent` elements that got `low` and `high` more; negative ones
/// were cut off.
Value foldedBack(PrimBuilder &b, Value g, int64_t axis, Dim extent, int64_t low, int64_t high,
                 bool mirrors) {
  int64_t before = std::max<int64_t>(low, 0), after = std::max<int64_t>(high, 0);
  int64_t cutBefore = before - low, cutAfter = after - high;
  Dim last = b.subDims(extent, b.dim(1));
  Dim kept = b.subDims(extent, b.dim(cutBefore + cutAfter));
  Value sum = between(b, b.sliceAxis(g, axis, b.dim(before), kept), axis, b.dim(cutBefore),
                      b.dim(cutAfter));
  auto add = [&](Dim start, int64_t count, Dim to) {
    Value end = b.sliceAxis(g, axis, start, b.dim(count));
    end = mirrors ? b.reverse(end, {axis}) : b.reduce(K::sum, end, {axis}, true);
    Dim rest = b.subDims(b.subDims(extent, to), b.dim(mirrors ? count : 1));
    sum = b.add(sum, between(b, end, axis, to, rest));
  };
  if (before)
    add(b.dim(0), before, b.dim(mirrors ? 1 : 0));
  if (after)
    add(b.subDims(b.dim(g, axis), b.dim(after)), after,
        mirrors ? b.subDims(last, b.dim(after)) : last);
  return sum;
}

/// The same where nothing of the axis was kept: what its end beyond that repeated gets all of it.
Value foldedToEnd(PrimBuilder &b, Value g, int64_t axis, int64_t extent, bool last) {
  Value sum = b.reduce(K::sum, g, {axis}, true);
  Dim rest = b.dim(extent - 1), none = b.dim(0);
  return between(b, sum, axis, last ? rest : none, last ? none : rest);
}

template <bool mirrors, int64_t axes> LogicalResult border(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), g = a.cast(a.tensor("grad_output"), a.wide());
  auto list = a.integers("padding");
  int64_t rank = b.rank(x);
  if (!list || static_cast<int64_t>(list->size()) != 2 * axes || rank < axes || b.rank(g) != rank)
    return a.fail("the padding must be known, with two entries for each axis");
  if (llvm::any_of(*list, [](int64_t n) { return n < INT32_MIN || n > INT32_MAX; }))
    return a.fail("'padding' has an entry out of range");
  for (int64_t i = 0; i < axes; ++i) {
    int64_t axis = rank - 1 - i, low = (*list)[2 * i], high = (*list)[2 * i + 1];
    auto have = b.known(b.dim(x, axis)), padded = b.known(b.dim(g, axis));
    int64_t most = std::max(low, high);
    requireSame(b, b.dim(g, axis), b.addDims(b.dim(x, axis), b.dim(low + high)),
                "the gradient and the padded operand");
    int64_t cut = std::max<int64_t>(-low, 0) + std::max<int64_t>(-high, 0);
    if (have && ((padded && *padded != *have + low + high) || (mirrors && most >= *have)))
      return a.fail("the padding does not fit the operand and its gradient");
    if (have && *have > 0 && *have <= cut && !mirrors)
      g = foldedToEnd(b, g, axis, *have, /*last=*/low < 0);
    else if (have && *have < cut)
      return a.fail("the padding cuts off more than there is");
    else if (low || high)
      g = foldedBack(b, g, axis, b.dim(x, axis), low, high, mirrors);
  }
  return a.give(g);
}

/// Windows along one axis, of `size` elements each `step`: the gradient's last axis.
LogicalResult windows(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_in"), a.wide());
  auto sizes = a.extents("input_sizes");
  int64_t rank = b.rank(g) - 1, size = a.integer("size", 1), step = a.integer("step", 1);
  if (!sizes || rank < 0 || static_cast<int64_t>(sizes->size()) != rank || size < 0 || step < 1)
    return a.fail("the sizes do not fit the gradient");
  if (rank == 0) // one window of one element
    return a.give(b.reduce(K::sum, g, {0}, false));
  auto axis = a.axis("dim", 0, rank);
  if (failed(axis))
    return failure();
  if (b.known(b.dim(g, rank)).value_or(size) != size || size > INT32_MAX || step > INT32_MAX)
    return a.fail("the windows do not have the size that is stated");
  Dim last = b.mulDims(b.subDims(b.dim(g, *axis), b.dim(1)), b.dim(step));
  requireAtMost(b, b.addDims(last, b.dim(size)), (*sizes)[*axis], "elements of windows");
  SmallVector<int64_t> order = allAxes(rank);
  order.insert(order.begin() + *axis + 1, rank);
  g = b.transpose(g, order);
  Type i64 = b.builder().getI64Type();
  Dims pairs = {b.dim(g, *axis), b.dim(size)}, flat = b.dims(g);
  Value at = b.add(b.mul(b.iota(pairs, 0, i64), static_cast<double>(step)), b.iota(pairs, 1, i64));
  Dim count = b.productOf(pairs);
  flat.erase(flat.begin() + *axis);
  flat[*axis] = count;
  Value index = b.broadcastTo(alongAxis(b, b.reshape(at, {count}), *axis, rank), flat);
  Value into = b.full(*sizes, 0, b.elem(g));
  return a.give(prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), S::add,
                                             into, index, b.reshape(g, flat), *axis)
                    .getResult());
}

/// Zeros but for a diagonal, which is the gradient's last axis.
LogicalResult diagonal(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.own());
  auto sizes = a.extents("input_sizes");
  int64_t rank = b.rank(g) + 1, offset = a.integer("offset", 0);
  if (!sizes || rank < 2 || static_cast<int64_t>(sizes->size()) != rank)
    return a.fail("the sizes do not fit the gradient");
  auto rows = a.axis("dim1", 0, rank), columns = a.axis("dim2", 1, rank);
  if (failed(rows) || failed(columns) || *rows == *columns)
    return a.fail("a diagonal lies between two axes");
  // Above the main one a point's place is its row, below its column.
  int64_t along = offset >= 0 ? *rows : *columns;
  g = between(b, g, rank - 2, b.dim(0), b.subDims((*sizes)[along], b.dim(g, rank - 2)));
  g = b.unsqueeze(g, {offset >= 0 ? rank - 1 : rank - 2});
  SmallVector<int64_t> order;
  for (int64_t i = 0, outer = 0; i < rank; ++i)
    order.push_back(i == *rows ? rank - 2 : i == *columns ? rank - 1 : outer++);
  g = b.transpose(g, order);
  Type i64 = b.builder().getI64Type();
  auto places = [&](int64_t axis) {
    return alongAxis(b, b.iota({(*sizes)[axis]}, 0, i64), axis, rank);
  };
  Value hit = b.compare(P::eq, b.sub(places(*columns), places(*rows)), static_cast<double>(offset));
  return a.give(b.broadcastTo(b.select(hit, g, b.scalar(0, b.elem(g))), *sizes));
}

/// The gradients where the mask holds, in order, then zeros.
LogicalResult maskedSource(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.own());
  Value mask = a.cast(a.tensor("mask"), b.builder().getI1Type());
  auto sizes = a.extents("sizes");
  if (!sizes)
    return a.fail("the sizes must be given");
  b.broadcastTogether(g, mask);
  Dims flat = {b.productOf(b.dims(g))};
  Dim count = b.productOf(*sizes);
  Type i64 = b.builder().getI64Type();
  mask = b.reshape(mask, flat);
  Value taken = b.cast(mask, i64);
  Value place = prim::CumulativeOp::create(b.builder(), b.location(), taken.getType(), K::sum,
                                           taken, 0, true, false);
  // What is not taken, or finds no room, lands behind the end.
  Value end = a.extentTensor(count, i64);
  place = b.select(mask, b.minimum(place, end), end);
  Value into = b.full({b.addDims(count, b.dim(1))}, 0, b.elem(g));
  Value all = prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), S::assign,
                                           into, place, b.reshape(g, flat), 0);
  return a.give(b.reshape(b.sliceAxis(all, 0, b.dim(0), count), *sizes));
}

} // namespace

void tcc::populateAtenBackwardViewRules(RuleSet &rules) {
  addRules(rules, {{"reflection_pad1d_backward", "default", "grad_output self", border<true, 1>},
                   {"reflection_pad2d_backward", "default", "grad_output self", border<true, 2>},
                   {"reflection_pad3d_backward", "default", "grad_output self", border<true, 3>},
                   {"replication_pad1d_backward", "default", "grad_output self", border<false, 1>},
                   {"replication_pad2d_backward", "default", "grad_output self", border<false, 2>},
                   {"replication_pad3d_backward", "default", "grad_output self", border<false, 3>},
                   {"unfold_backward", "default", "grad_in", windows},
                   {"diagonal_backward", "default", "grad_output", diagonal},
                   {"masked_scatter_backward", "default", "grad_output mask", maskedSource}});
}
