//===- Join.cpp - Tensors put together, repeated and turned ---------------===//
//
// Concatenation, repetition, rolls and rotations only move elements, so they are views and
// `concat` wherever extents are known, which fusion then reads in place; only repeats whose counts
// are data need gathers.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;

namespace {

/// The tensors of the list in the result's type; fails when one is missing or
/// the list is empty.
FailureOr<SmallVector<Value>> parts(AtenNode &a) {
  SmallVector<Value> list = a.tensors("tensors");
  if (list.empty() || llvm::is_contained(list, Value()))
    return a.fail("needs a list of tensors");
  for (Value &v : list)
    v = a.cast(v, a.own());
  return list;
}

LogicalResult concatenate(AtenNode &a, ArrayRef<Value> list, int64_t axis) {
  PrimBuilder &b = a.b;
  Dims first = b.dims(list[0]);
  for (Value v : list) {
    if (b.rank(v) != b.rank(list[0]))
      return a.fail("the tensors differ in rank");
    for (int64_t i = 0; i < b.rank(v); ++i) {
      auto x = b.known(first[i]), y = b.known(b.dim(v, i));
      if (i != axis && x && y && *x != *y)
        return a.fail("the tensors differ in extent " + llvm::Twine(i));
    }
  }
  return a.give(b.concat(list, axis));
}

LogicalResult cat(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  if (failed(list))
    return failure();
  // An empty vector among tensors of higher rank counts for nothing (torch).
  if (llvm::any_of(*list, [&](Value v) { return b.rank(v) > 1; }))
    llvm::erase_if(*list, [&](Value v) { return b.rank(v) == 1 && b.known(b.dim(v, 0)) == 0; });
  auto axis = a.axis("dim", 0, b.rank((*list)[0]));
  if (failed(axis) || b.rank((*list)[0]) == 0)
    return a.fail("needs tensors with axes");
  return concatenate(a, *list, *axis);
}

LogicalResult stack(AtenNode &a) {
  auto list = parts(a);
  if (failed(list))
    return failure();
  auto axis = a.axis("dim", 0, a.b.rank((*list)[0]) + 1);
  if (failed(axis))
    return failure();
  for (Value &v : *list) {
    if (a.b.rank(v) + 1 <= *axis)
      return a.fail("the tensors differ in rank");
    v = a.b.unsqueeze(v, {*axis});
  }
  return concatenate(a, *list, *axis);
}

/// Tensors of their own lengths, filled up to the longest of them.
LogicalResult padSequence(AtenNode &a) {
  PrimBuilder &b = a.b;
  SmallVector<Value> list = a.tensors("sequences");
  if (list.empty() || llvm::any_of(list, [&](Value v) {
        return !v || b.rank(v) < 1 || b.rank(v) != b.rank(list[0]) || b.elem(v) != b.elem(list[0]);
      }))
    return a.fail("needs tensors of one rank and type");
  StringRef side = a.text("padding_side", "right");
  if (side != "left" && side != "right")
    return a.fail("has an unknown padding_side '" + side + "'");
  Dim longest = b.dim(list[0], 0);
  for (Value v : list)
    longest = b.maxDims(longest, b.dim(v, 0));
  int64_t axis = a.flag("batch_first", false) ? 0 : 1;
  for (Value &v : list) {
    Dims none(b.rank(v), b.dim(0)), missing = none;
    missing[0] = b.subDims(longest, b.dim(v, 0));
    Value filler = b.scalar(a.real("padding_value", 0), b.elem(v));
    v = side == "left" ? b.pad(v, filler, missing, none) : b.pad(v, filler, none, missing);
    v = b.unsqueeze(v, {axis});
  }
  return concatenate(a, list, axis);
}

/// hstack, vstack, dstack: tensors of at least `least` axes along `axis`.
template <int64_t least, int64_t along> LogicalResult stackAlong(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  if (failed(list))
    return failure();
  for (Value &v : *list) {
    int64_t rank = b.rank(v);
    if (rank >= least)
      continue;
    if (least == 3)
      v = b.unsqueeze(v, rank == 2   ? SmallVector<int64_t>{2}
                         : rank == 1 ? SmallVector<int64_t>{0, 2}
                                     : SmallVector<int64_t>{0, 1, 2});
    else
      v = b.unsqueeze(v, allAxes(least - rank));
  }
  int64_t axis = least == 1 && b.rank((*list)[0]) > 1 ? 1 : along;
  return concatenate(a, *list, axis);
}

/// x repeated `counts` times along each axis.
LogicalResult giveTiled(AtenNode &a, Value x, ArrayRef<Dim> counts) {
  PrimBuilder &b = a.b;
  Dims have = b.dims(x), wide, merged;
  SmallVector<int64_t> axes;
  for (auto [extent, count] : llvm::zip(have, counts)) {
    if (b.known(count).value_or(0) < 0)
      return a.fail("a negative number of repeats");
    if (b.known(count) != 1)
      wide.push_back(count);
    axes.push_back(wide.size());
    wide.push_back(extent);
    merged.push_back(repeatedExtent(b, extent, count));
  }
  return a.give(b.reshape(b.broadcastInDim(x, wide, axes), merged));
}

LogicalResult repeat(AtenNode &a, StringRef name) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto counts = a.extents(name);
  if (!counts)
    return a.fail("'" + name + "' must be a list of integers");
  while (static_cast<int64_t>(counts->size()) < b.rank(x))
    counts->insert(counts->begin(), b.dim(1));
  if (int64_t missing = int64_t(counts->size()) - b.rank(x); missing > 0)
    x = b.unsqueeze(x, allAxes(missing));
  return giveTiled(a, x, *counts);
}
LogicalResult repeatCounts(AtenNode &a) { return repeat(a, "repeats"); }
LogicalResult tile(AtenNode &a) { return repeat(a, "dims"); }

/// Each element `repeats` times in a row, by one number.
LogicalResult repeatInterleave(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto count = a.extent("repeats");
  if (!count)
    return a.fail("'repeats' must be a number");
  if (!a.has("dim"))
    x = b.reshape(x, {b.productOf(b.dims(x))});
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis) || b.rank(x) == 0)
    return a.fail("needs an axis");
  Dims have = b.dims(x), wide = have, merged = have;
  wide.insert(wide.begin() + *axis + 1, *count);
  merged[*axis] = repeatedExtent(b, have[*axis], *count);
  return a.give(b.reshape(b.broadcastTo(b.unsqueeze(x, {*axis + 1}), wide), merged));
}

LogicalResult flipAxes(AtenNode &a, ArrayRef<int64_t> axes) {
  return a.give(axes.empty() ? a.tensor("self") : a.b.reverse(a.tensor("self"), axes));
}

LogicalResult flip(AtenNode &a) {
  int64_t rank = a.b.rank(a.tensor("self"));
  auto listed = a.integers("dims");
  if (!listed || listed->empty() || rank == 0)
    return a.give(a.tensor("self"));
  auto axes = a.axes("dims", rank);
  return failed(axes) ? failure() : flipAxes(a, *axes);
}

template <int64_t axis> LogicalResult flipOne(AtenNode &a) {
  if (a.b.rank(a.tensor("self")) <= axis)
    return a.fail("the operand has too few axes");
  return flipAxes(a, {axis});
}

/// What leaves at one end comes in at the other.
Value rolled(PrimBuilder &b, Value x, int64_t axis, Dim shift) {
  Dim extent = b.dim(x, axis), around = b.maxDims(extent, b.dim(1)); // of none nothing comes round
  // Both steps keep the sign of the divisor, as Python's % does.
  Dim back = b.remDims(b.addDims(b.remDims(shift, around), around), around);
  Dim front = b.subDims(extent, back);
  return b.concat({b.sliceAxis(x, axis, front, back), b.sliceAxis(x, axis, b.dim(0), front)}, axis);
}

LogicalResult roll(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto shifts = a.extents("shifts");
  auto axes = a.integers("dims");
  if (!shifts || b.known(b.productOf(b.dims(x))) == 0)
    return shifts ? a.give(x) : a.fail("needs shifts");
  if (!axes || axes->empty()) {
    if (shifts->size() != 1)
      return a.fail("needs one shift");
    Dims have = b.dims(x);
    return a.give(b.reshape(rolled(b, b.reshape(x, {b.productOf(have)}), 0, (*shifts)[0]), have));
  }
  if (axes->size() != shifts->size())
    return a.fail("needs as many shifts as axes");
  for (auto [axis, shift] : llvm::zip(*axes, *shifts)) {
    auto inside = a.within(axis, b.rank(x));
    if (failed(inside) || b.rank(x) == 0)
      return a.fail("an axis is out of range");
    x = rolled(b, x, *inside, shift);
  }
  return a.give(x);
}

LogicalResult rotate90(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x), turns = ((a.integer("k", 1) % 4) + 4) % 4;
  auto dims = a.integers("dims").value_or(SmallVector<int64_t>{0, 1});
  if (dims.size() != 2)
    return a.fail("needs two axes");
  auto i = a.within(dims[0], rank), j = a.within(dims[1], rank);
  if (failed(i) || failed(j) || rank < 2 || *i == *j)
    return a.fail("needs two axes");
  SmallVector<int64_t> order = allAxes(rank);
  std::swap(order[*i], order[*j]);
  if (turns == 2)
    return a.give(b.reverse(x, {std::min(*i, *j), std::max(*i, *j)}));
  if (turns == 1)
    return a.give(b.transpose(b.reverse(x, {*j}), order));
  return a.give(turns == 3 ? b.reverse(b.transpose(x, order), {*j}) : x);
}

LogicalResult meshgrid(AtenNode &a) {
  PrimBuilder &b = a.b;
  SmallVector<Value> list = a.tensors("tensors");
  int64_t rank = list.size();
  bool xy = a.text("indexing", "ij") == "xy" && rank >= 2;
  Dims shape;
  for (Value v : list) {
    if (!v || b.rank(v) > 1)
      return a.fail("needs vectors");
    shape.push_back(b.rank(v) ? b.dim(v, 0) : b.dim(1));
  }
  if (xy)
    std::swap(shape[0], shape[1]);
  for (auto [i, v] : llvm::enumerate(list)) {
    int64_t axis = xy && i < 2 ? 1 - i : i;
    (void)a.give(i, b.broadcastInDim(b.reshape(v, {shape[axis]}), shape, {axis}));
  }
  return success();
}

/// Vectors as columns, beside matrices.
LogicalResult columnStack(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  if (failed(list))
    return failure();
  for (Value &v : *list)
    if (b.rank(v) < 2)
      v = b.reshape(v, {b.productOf(b.dims(v)), b.dim(1)});
  return concatenate(a, *list, 1);
}

/// Matrices along the diagonal of a matrix of zeros.
LogicalResult blockDiagonal(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  if (failed(list))
    return failure();
  Dims whole(2, b.dim(0)), at = whole;
  for (Value &v : *list) {
    if (b.rank(v) > 2)
      return a.fail("needs matrices");
    v = b.rank(v) < 2 ? b.unsqueeze(v, allAxes(2 - b.rank(v))) : v;
    for (int64_t i : {0, 1})
      whole[i] = b.addDims(whole[i], b.dim(v, i));
  }
  SmallVector<Value> rows;
  for (Value v : *list) {
    Dim right = b.subDims(b.subDims(whole[1], at[1]), b.dim(v, 1));
    rows.push_back(b.pad(v, b.scalar(0, b.elem(v)), {b.dim(0), at[1]}, {b.dim(0), right}));
    at[1] = b.addDims(at[1], b.dim(v, 1));
  }
  return a.give(b.concat(rows, 0));
}

/// Each tensor cut along an axis into so many chunks, the last ones filled up with zeros; the
/// chunks of all of one number side by side, flat.
LogicalResult chunksSideBySide(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  int64_t chunks = a.integer("num_chunks", 1);
  if (failed(list) || chunks < 1)
    return a.fail("needs tensors and a number of chunks");
  int64_t axis = a.integer("dim", 0);
  for (Value &v : *list) {
    auto inside = a.within(axis, b.rank(v));
    if (failed(inside) || b.rank(v) == 0)
      return a.fail("the axis is out of range");
    axis = *inside;
    Dim count = b.dim(chunks), extent = b.dim(v, axis);
    Dims low(b.rank(v), b.dim(0)), high = low;
    high[axis] = b.subDims(b.mulDims(b.ceilDivDims(extent, count), count), extent);
    v = b.pad(v, b.scalar(0, b.elem(v)), low, high);
    Dims dims = b.dims(v), flat(dims.begin(), dims.begin() + axis);
    Dim rest = b.productOf(ArrayRef(dims).drop_front(axis + 1));
    flat.append({count, b.mulDims(b.floorDivDims(dims[axis], count), rest)});
    v = b.reshape(v, flat);
  }
  return concatenate(a, *list, axis + 1);
}

/// Every choice of one element a vector, as rows.
LogicalResult cartesianProduct(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto list = parts(a);
  if (failed(list))
    return failure();
  Dims shape;
  for (Value v : *list) {
    if (b.rank(v) != 1)
      return a.fail("needs vectors");
    shape.push_back(b.dim(v, 0));
  }
  if (list->size() == 1)
    return a.give((*list)[0]);
  SmallVector<Value> columns;
  for (auto [i, v] : llvm::enumerate(*list)) {
    Value each = b.broadcastInDim(v, shape, {static_cast<int64_t>(i)});
    columns.push_back(b.reshape(each, {b.productOf(shape), b.dim(1)}));
  }
  return a.give(b.concat(columns, 1));
}

/// Each slice (of 0, 1, .. when there is no operand) as often as its own number says:
/// output position p is of the first slice whose running total exceeds p.
LogicalResult repeatEach(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), counts = a.tensor("repeats");
  Type i64 = b.builder().getI64Type();
  if (!x)
    x = b.iota({b.productOf(b.dims(counts))}, 0, i64);
  if (!a.has("dim"))
    x = b.reshape(x, {b.productOf(b.dims(x))});
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis) || b.rank(x) == 0 || b.rank(counts) > 1)
    return a.fail("needs an axis and a vector of numbers");
  counts = b.broadcastTo(b.reshape(a.cast(counts, i64), {b.productOf(b.dims(counts))}),
                         {b.dim(x, *axis)});
  Value total = prim::CumulativeOp::create(b.builder(), b.location(), counts.getType(),
                                           prim::ReduceKind::sum, counts, 0, false, false);
  Value negative = b.compare(prim::ComparePredicate::lt, counts, 0.0);
  negative = b.reduce(prim::ReduceKind::any, negative, {0}, false);
  b.check(b.notDim(b.readElements(negative)[0]), "repeat_interleave: a number is negative");
  Dim size = b.readElements(b.reduce(prim::ReduceKind::sum, counts, {0}, false))[0];
  if (auto given = a.extent("output_size")) {
    requireSame(b, *given, size, "repeat_interleave: output_size and the numbers");
    size = *given;
  } else {
    size = b.maxDims(size, b.dim(0));
  }
  Value passed = b.compare(prim::ComparePredicate::le, b.unsqueeze(total, {0}),
                           b.iota({size, b.dim(1)}, 0, i64));
  Value from = b.reduce(prim::ReduceKind::sum, b.cast(passed, i64), {1}, false);
  return a.give(b.take(x, from, *axis));
}

} // namespace

void tcc::populateAtenJoinRules(RuleSet &rules) {
  addRules(rules, {{"cat", "default", "", cat},
                   {"concat", "default", "", cat},
                   {"concatenate", "default", "", cat},
                   {"stack", "default", "", stack},
                   {"pad_sequence", "default", "", padSequence},
                   {"hstack", "default", "", stackAlong<1, 0>},
                   {"vstack", "default", "", stackAlong<2, 0>},
                   {"row_stack", "default", "", stackAlong<2, 0>},
                   {"dstack", "default", "", stackAlong<3, 2>},
                   {"repeat", "default", "self", repeatCounts},
                   {"tile", "default", "self", tile},
                   {"repeat_interleave", "self_int", "self", repeatInterleave},
                   {"repeat_interleave", "self_Tensor", "self repeats", repeatEach},
                   {"repeat_interleave", "Tensor", "repeats", repeatEach},
                   {"column_stack", "default", "", columnStack},
                   {"_chunk_cat", "default", "", chunksSideBySide},
                   {"block_diag", "default", "", blockDiagonal},
                   {"cartesian_prod", "default", "", cartesianProduct},
                   {"flip", "default", "self", flip},
                   {"fliplr", "default", "self", flipOne<1>},
                   {"flipud", "default", "self", flipOne<0>},
                   {"roll", "default", "self", roll},
                   {"rot90", "default", "self", rotate90},
                   {"meshgrid", "default indexing", "", meshgrid}});
}
