//===- Slice.cpp - Parts of a tensor, and writes to them ------------------===//
//
// Slices, diagonals and windows are views of strided positions, and each has a counterpart
// that writes to them (select_scatter and the like), which torch.export makes of assignments. Both
// halves of a pair share their arithmetic here, so that they cannot disagree on what is addressed.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/Slice.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Matrices.h"
#include "Decompose/Idioms/Windows.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;

Dim tcc::aten::wrappedIndex(PrimBuilder &b, Dim index, Dim extent) {
  if (b.nonNegative(index))
    return index;
  Dim fromEnd = b.addDims(index, extent);
  return b.selectDims(b.compareDims(Cmp::slt, index, b.dim(0)), fromEnd, index);
}

SliceRange tcc::aten::clampedRange(PrimBuilder &b, Dim extent, std::optional<Dim> start,
                                   std::optional<Dim> end, int64_t step) {
  auto clamped = [&](Dim d) {
    d = wrappedIndex(b, d, extent);
    if (b.same(d, extent))
      return d;
    if (!b.nonNegative(d))
      d = b.maxDims(d, b.dim(0));
    return b.known(d) == 0 ? d : b.minDims(d, extent);
  };
  constexpr int64_t kToTheEnd = INT32_MAX; // far above any extent
  Dim first = start ? clamped(*start) : b.dim(0);
  bool whole = !end || b.known(*end).value_or(0) >= kToTheEnd;
  Dim last = whole ? extent : clamped(*end);
  Dim span = b.subDims(last, first);
  bool ordered = b.known(first) == 0 || (b.known(span) && *b.known(span) >= 0);
  if (!ordered)
    span = b.maxDims(span, b.dim(0));
  return {first, step == 1 ? span : b.ceilDivDims(span, b.dim(step)), step};
}

Value tcc::aten::writeRange(PrimBuilder &b, Value x, Value update, int64_t axis,
                            const SliceRange &range) {
  if (range.step == 1) {
    Dims starts(b.rank(x), b.dim(0));
    starts[axis] = range.start;
    return b.insertSlice(x, update, starts);
  }
  SmallVector<int64_t> statics(b.rank(x), 0), steps(b.rank(x), 1);
  SmallVector<Value> dynamics;
  steps[axis] = range.step;
  if (auto constant = b.known(range.start)) {
    statics[axis] = *constant;
  } else {
    statics[axis] = prim::kDynamicStart;
    dynamics.push_back(b.indexValue(range.start));
  }
  return prim::InsertSliceOp::create(b.builder(), b.location(), x.getType(), x, update, dynamics,
                                     statics, steps)
      .getResult();
}

FailureOr<int64_t> tcc::aten::partedAxis(AtenNode &a) {
  Value x = a.tensor("self");
  if (a.b.rank(x) == 0)
    return a.fail("a rank-0 tensor has no axis to take parts of");
  return a.axis("dim", 0, a.b.rank(x));
}

namespace {

/// What a node reads or writes of `self`: a range along one axis.
struct Part {
  int64_t axis;
  SliceRange range;
};

FailureOr<Part> slicedPart(AtenNode &a) {
  auto axis = partedAxis(a);
  if (failed(axis))
    return failure();
  int64_t step = a.integer("step", 1);
  if (step < 1)
    return a.fail("the step must be positive");
  return Part{*axis, clampedRange(a.b, a.b.dim(a.tensor("self"), *axis), a.extent("start"),
                                  a.extent("end"), step)};
}

LogicalResult slice(AtenNode &a) {
  auto part = slicedPart(a);
  if (failed(part))
    return failure();
  const SliceRange &range = part->range;
  return a.give(a.b.sliceAxis(a.tensor("self"), part->axis, range.start, range.size, range.step));
}

LogicalResult sliceScatter(AtenNode &a) {
  auto part = slicedPart(a);
  if (failed(part))
    return failure();
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Dims want = b.dims(x);
  want[part->axis] = part->range.size;
  Value src = a.cast(a.tensor("src"), b.elem(x));
  if (b.rank(src) > b.rank(x) || !b.broadcastable(b.dims(src), want))
    return a.fail("the source does not fit the slice");
  return a.give(writeRange(b, x, b.broadcastTo(src, want), part->axis, part->range));
}

/// The one place `index` along `dim`, which is within the axis.
FailureOr<Part> selectedPart(AtenNode &a) {
  auto axis = partedAxis(a);
  if (failed(axis))
    return failure();
  PrimBuilder &b = a.b;
  Dim extent = b.dim(a.tensor("self"), *axis);
  auto index = a.extent("index");
  if (!index)
    return a.fail("'index' must be an integer");
  Dim at = wrappedIndex(b, *index, extent);
  auto known = b.known(at), size = b.known(extent);
  if (known && (*known < 0 || (size && *known >= *size)))
    return a.fail("index " + llvm::Twine(*known) + " is out of range");
  requireInside(b, at, b.dim(1), extent);
  return Part{*axis, {at, b.dim(1), 1}};
}

LogicalResult selectOne(AtenNode &a) {
  auto part = selectedPart(a);
  if (failed(part))
    return failure();
  Value one = a.b.sliceAxis(a.tensor("self"), part->axis, part->range.start, a.b.dim(1));
  return a.give(a.b.squeeze(one, {part->axis}));
}

LogicalResult selectScatter(AtenNode &a) {
  auto part = selectedPart(a);
  if (failed(part))
    return failure();
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Value src = a.cast(a.tensor("src"), b.elem(x));
  Dims want = b.dims(x);
  want.erase(want.begin() + part->axis);
  if (b.rank(src) > b.rank(x) - 1 || !b.broadcastable(b.dims(src), want))
    return a.fail("the source does not fit");
  src = b.unsqueeze(b.broadcastTo(src, want), {part->axis});
  return a.give(writeRange(b, x, src, part->axis, part->range));
}

LogicalResult narrow(AtenNode &a) {
  auto axis = partedAxis(a);
  if (failed(axis))
    return failure();
  auto start = a.extent("start"), length = a.extent("length");
  if (!start || !length)
    return a.fail("needs a start and a length");
  Dim extent = a.b.dim(a.tensor("self"), *axis);
  Dim first = wrappedIndex(a.b, *start, extent);
  requireInside(a.b, first, *length, extent);
  return a.give(a.b.sliceAxis(a.tensor("self"), *axis, first, *length));
}

//===----------------------------------------------------------------------===//
// Diagonals and windows
//===----------------------------------------------------------------------===//

/// A diagonal as positions in the plane of its two axes, which are brought last.
struct Diagonal {
  SmallVector<int64_t> order; ///< the two axes last
  Dims outer, flat;           ///< extents before the plane, and with the plane as one
  Value positions;            ///< in the flat plane
};

/// Position p is element (p + max(-offset, 0), p + max(offset, 0)).
FailureOr<Diagonal> readDiagonal(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self") ? a.tensor("self") : a.tensor("A");
  bool matrices = !a.tensor("self"); // linalg_diagonal counts from the end
  int64_t rank = b.rank(x), offset = a.integer("offset", a.integer("diagonal", 0));
  auto i = a.axis("dim1", matrices ? -2 : 0, rank), j = a.axis("dim2", matrices ? -1 : 1, rank);
  if (failed(i) || failed(j) || rank < 2 || *i == *j)
    return a.fail("needs two axes");
  Diagonal d;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != *i && axis != *j)
      d.order.push_back(axis);
  d.order.append({*i, *j});
  for (int64_t axis : ArrayRef(d.order).drop_back(2))
    d.outer.push_back(b.dim(x, axis));
  Dim rows = b.dim(x, *i), columns = b.dim(x, *j);
  int64_t down = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  Dim length = b.maxDims(b.minDims(b.subDims(rows, b.dim(down)), b.subDims(columns, b.dim(right))),
                         b.dim(0));
  d.flat = d.outer;
  d.flat.push_back(b.mulDims(rows, columns));
  Type index = b.builder().getI64Type();
  Value stride = a.extentTensor(b.addDims(columns, b.dim(1)), index);
  Value first = a.extentTensor(b.addDims(b.mulDims(b.dim(down), columns), b.dim(right)), index);
  d.positions = b.add(b.mul(b.iota({length}, 0, index), stride), first);
  return d;
}

LogicalResult diagonal(AtenNode &a) {
  auto d = readDiagonal(a);
  if (failed(d))
    return failure();
  Value x = a.tensor("self") ? a.tensor("self") : a.tensor("A");
  Value flat = a.b.reshape(a.b.transpose(x, d->order), d->flat);
  return a.give(a.b.take(flat, d->positions, d->outer.size()));
}

/// The diagonal replaced by a source that has it as the last axis.
LogicalResult diagonalScatter(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto d = readDiagonal(a);
  if (failed(d))
    return failure();
  Value turned = b.transpose(a.tensor("self"), d->order);
  Value flat = b.reshape(turned, d->flat), src = a.cast(a.tensor("src"), b.elem(turned));
  Dims want = d->outer;
  want.push_back(b.dim(d->positions, 0));
  if (b.rank(src) > static_cast<int64_t>(want.size()) || !b.broadcastable(b.dims(src), want))
    return a.fail("the source does not fit the diagonal");
  int64_t last = want.size() - 1;
  Value at = b.broadcastInDim(d->positions, want, {last});
  Value written = prim::ScatterAlongOp::create(b.builder(), b.location(), flat.getType(),
                                               prim::ScatterKind::assign, flat, at,
                                               b.broadcastTo(src, want), last);
  SmallVector<int64_t> back(d->order.size());
  for (auto [i, axis] : llvm::enumerate(d->order))
    back[axis] = i;
  return a.give(b.transpose(b.reshape(written, b.dims(turned)), back));
}

/// A matrix of zeros but for a vector on one diagonal.
Value onDiagonal(PrimBuilder &b, Value x, int64_t offset) {
  Dims low = {b.dim(std::max<int64_t>(-offset, 0))}, high = {b.dim(std::max<int64_t>(offset, 0))};
  Value padded = b.pad(x, b.scalar(0, b.elem(x)), low, high);
  Dim side = b.dim(padded, 0);
  Value on = b.compare(prim::ComparePredicate::eq, matrices::distance(b, side, side),
                       static_cast<double>(offset));
  return b.select(on, b.unsqueeze(padded, {1}), b.scalar(0, b.elem(x)));
}

/// The diagonal of a matrix, or a matrix with a vector as its diagonal.
LogicalResult diag(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (b.rank(x) == 2)
    return diagonal(a);
  if (b.rank(x) != 1)
    return a.fail("needs a vector or a matrix");
  return a.give(onDiagonal(b, x, a.integer("diagonal", 0)));
}

/// A matrix with the flattened operand as its diagonal.
LogicalResult diagFlat(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = b.reshape(a.tensor("self"), {b.productOf(b.dims(a.tensor("self")))});
  return a.give(onDiagonal(b, x, a.integer("offset", 0)));
}

/// Windows of `size` every `step` along an axis, as a new last axis.
LogicalResult unfold(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x), size = a.integer("size", 0), step = a.integer("step", 1);
  auto axis = a.axis("dimension", 0, rank);
  if (failed(axis) || size < 0 || step < 1)
    return a.fail("needs an axis, a size and a step");
  if (b.rank(a.c.arg("self")) == 0) // has one window, without an axis that counts it
    return a.give(b.sliceAxis(x, 0, b.dim(0), b.dim(size)));
  requireInside(b, b.dim(0), b.dim(size), b.dim(x, *axis));
  return a.give(unfolded(b, x, *axis, size, step));
}

/// What `unfold` sees replaced by `src`: what it views is written through. Windows that overlap
/// cannot be written, as in torch.
LogicalResult unfoldScatter(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), windows = a.tensor("src");
  int64_t rank = b.rank(x), size = a.integer("size", 0), step = a.integer("step", 1);
  auto axis = a.axis("dimension", 0, rank);
  if (failed(axis) || size < 1 || rank < 1 || b.rank(windows) != rank + 1)
    return a.fail("needs an axis and a size");
  if (step < size)
    return a.fail("windows that overlap cannot be written");
  SmallVector<int64_t> order = allAxes(rank);
  order.insert(order.begin() + *axis + 1, rank);
  windows = b.transpose(windows, order);
  // As many elements as whole steps have, those beyond the end for nothing.
  Dims have = b.dims(x), low(rank, b.dim(0)), high = low;
  Dim count = b.dim(windows, *axis), whole = b.mulDims(count, b.dim(step));
  high[*axis] = b.maxDims(b.subDims(whole, have[*axis]), b.dim(0));
  Value all = b.pad(x, b.scalar(0, b.elem(x)), low, high);
  Value body = b.sliceAxis(all, *axis, b.dim(0), whole);
  Dims flat = b.dims(body), split = flat;
  split[*axis] = count;
  split.insert(split.begin() + *axis + 1, b.dim(step));
  body = b.insertSlice(b.reshape(body, split), windows, Dims(rank + 1, b.dim(0)));
  all = b.insertSlice(all, b.reshape(body, flat), Dims(rank, b.dim(0)));
  return a.give(b.sliceAxis(all, *axis, b.dim(0), have[*axis]));
}

} // namespace

void tcc::populateAtenSliceRules(RuleSet &rules) {
  addRules(rules, {{"slice", "Tensor", "self", slice},
                   {"slice_copy", "Tensor", "self", slice},
                   {"slice_scatter", "default", "self src", sliceScatter},
                   {"select", "int", "self", selectOne},
                   {"select_copy", "int", "self", selectOne},
                   {"select_scatter", "default", "self src", selectScatter},
                   {"narrow", "default Tensor", "self", narrow},
                   {"diagonal", "default", "self", diagonal},
                   {"diag", "default", "self", diag},
                   {"diagonal_scatter", "default", "self src", diagonalScatter},
                   {"diagonal_copy", "default", "self", diagonal},
                   {"linalg_diagonal", "default", "A", diagonal},
                   {"diagflat", "default", "self", diagFlat},
                   {"narrow_copy", "default", "self", narrow},
                   {"unfold_copy", "default", "self", unfold, "self"},
                   {"unfold_scatter", "default", "self src", unfoldScatter},
                   {"unfold", "default", "self", unfold, "self"}});
}
