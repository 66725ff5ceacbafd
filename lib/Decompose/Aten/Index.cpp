//===- Index.cpp - Reads and writes at computed positions -----------------===//
//
// `index` and `index_put` take an index tensor (or none) for each axis. The axes
// that have one are brought to the front, their indices broadcast together and
// stacked into tuples, and one gather_nd or scatter_nd does the rest. The axes
// of the indices come in the place of the indexed ones when those are
// neighbours, else first (NumPy's rule). A mask stands for the positions where
// it holds; what is put there is selected where it is the same for all of them.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/Mask.h"
#include "Decompose/Aten/Slice.h"
#include "Decompose/Checks.h"
#include "Decompose/IndexBounds.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using S = prim::ScatterKind;
using P = prim::ComparePredicate;

namespace {

FailureOr<int64_t> axisOf(AtenNode &a, StringRef name = "dim") {
  return a.axis(name, 0, a.b.rank(a.tensor("self")));
}

/// Without elements the type does not matter.
bool isIndex(AtenNode &a, Value v) {
  bool none = llvm::is_contained(a.b.type(v).getShape(), 0);
  return none || a.b.elem(v).isInteger(64) || a.b.elem(v).isInteger(32);
}

//===----------------------------------------------------------------------===//
// One axis
//===----------------------------------------------------------------------===//

LogicalResult embedding(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value weight = a.tensor("weight"), indices = a.tensor("indices");
  if (b.rank(weight) != 2 || !isIndex(a, indices))
    return a.fail("needs a matrix and integer indices");
  requireInRange(b, indices, b.dim(weight, 0), IndexRange::positions);
  return a.give(b.take(weight, indices, 0));
}

LogicalResult indexSelect(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto axis = axisOf(a);
  Value x = a.tensor("self"), index = a.tensor("index");
  if (failed(axis) || b.rank(index) > 1 || !isIndex(a, index))
    return a.fail("needs an axis and a vector of indices");
  requireInRange(b, index, b.dim(x, *axis), IndexRange::positions);
  return a.give(b.take(x, index, *axis));
}

LogicalResult takeFlat(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index");
  Dim count = b.productOf(b.dims(x));
  return a.give(b.take(b.reshape(x, {count}), b.wrapIndices(index, count), 0));
}

/// x cut to the extents of `indices` on every axis but one.
Value cutTo(PrimBuilder &b, Value x, Value indices, int64_t axis) {
  for (int64_t i = 0; i < b.rank(x); ++i) {
    Dim want = b.dim(indices, i);
    if (i != axis && !b.same(want, b.dim(x, i)))
      x = b.sliceAxis(x, i, b.dim(0), want);
  }
  return x;
}

LogicalResult gather(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Value index = a.tensor("index") ? a.tensor("index") : a.tensor("indices");
  if (!index || !isIndex(a, index))
    return a.fail("needs integer indices");
  auto axis = axisOf(a);
  if (failed(axis) || b.rank(index) != b.rank(x))
    return a.fail("operand and indices differ in rank");
  requireInRange(b, index, b.dim(x, *axis), IndexRange::positions);
  if (!b.elem(index).isInteger(32))
    index = b.cast(index, b.builder().getI64Type());
  return a.give(b.takeAlong(cutTo(b, x, index, *axis), index, *axis));
}

/// Indices broadcast against the operand on every other axis, taken modulo its extent.
LogicalResult takeAlongDim(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("indices");
  if (!a.has("dim")) {
    Dim count = b.productOf(b.dims(x));
    requireInRange(b, index, count, IndexRange::positions);
    return a.give(b.take(b.reshape(x, {count}), b.reshape(index, {b.productOf(b.dims(index))}), 0));
  }
  auto axis = axisOf(a);
  if (failed(axis) || b.rank(index) != b.rank(x))
    return a.fail("operand and indices differ in rank");
  Dims dx = b.dims(x), di = b.dims(index);
  dx[*axis] = di[*axis] = b.dim(1);
  Dims shape = b.broadcastShapes(dx, di);
  Dims wantX = shape, wantI = shape;
  wantX[*axis] = b.dim(x, *axis);
  wantI[*axis] = b.dim(index, *axis);
  Value wrapped = b.cast(index, b.builder().getI64Type());
  if (!isAtLeast(b, wrapped, 0) || !isBelow(b, wrapped, b.dim(x, *axis)))
    wrapped = b.binary<prim::ModOp>(wrapped, a.extentTensor(b.dim(x, *axis), b.elem(wrapped)));
  return a.give(b.takeAlong(b.broadcastTo(x, wantX), b.broadcastTo(wrapped, wantI), *axis));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

LogicalResult scatterAlong(AtenNode &a, S kind, Value updates) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index");
  auto axis = axisOf(a);
  if (failed(axis) || !updates || !isIndex(a, index) || b.rank(index) != b.rank(x))
    return a.fail("operand, indices and source differ in rank");
  updates = a.cast(updates, b.elem(x));
  if (b.rank(updates) == 0)
    updates = b.broadcastTo(updates, b.dims(index));
  if (b.rank(updates) != b.rank(index))
    return a.fail("operand, indices and source differ in rank");
  // The source may be larger than the indices.
  updates = cutTo(b, updates, index, -1);
  if (!b.elem(index).isSignlessInteger(32)) // torch takes empty ones of any integers
    index = b.cast(index, b.builder().getI64Type());
  requireInRange(b, index, b.dim(x, *axis), IndexRange::positions);
  return a.give(prim::ScatterAlongOp::create(b.builder(), b.location(), x.getType(), kind, x, index,
                                             updates, *axis)
                    .getResult());
}

std::optional<S> scatterKind(StringRef name) {
  return llvm::StringSwitch<std::optional<S>>(name)
      .Case("", S::assign)
      .Cases({"add", "sum"}, S::add)
      .Cases({"multiply", "prod"}, S::mul)
      .Case("amax", S::max)
      .Case("amin", S::min)
      .Default(std::nullopt);
}

LogicalResult scatter(AtenNode &a) {
  auto kind = scatterKind(a.text("reduce"));
  if (!kind || (a.has("include_self") && !a.flag("include_self", true)))
    return a.fail("this reduction is not supported");
  Value updates = a.tensor("src") ? a.tensor("src") : a.number("value", a.b.elem(a.tensor("self")));
  return scatterAlong(a, *kind, updates);
}

LogicalResult scatterAdd(AtenNode &a) { return scatterAlong(a, S::add, a.tensor("src")); }

/// Slices of `source` written (or added) along one axis of x at `index`, one position each. No axis
/// moves, so that a plan may do it in place.
Value writtenSlices(PrimBuilder &b, S kind, Value x, Value index, Value source, int64_t axis) {
  Value everywhere = b.broadcastTo(alongAxis(b, index, axis, b.rank(x)), b.dims(source));
  return prim::ScatterAlongOp::create(b.builder(), b.location(), x.getType(), kind, x, everywhere,
                                      source, axis);
}

/// The same as the node says it.
LogicalResult writeSlices(AtenNode &a, S kind, Value source, IndexRange range) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index");
  auto axis = axisOf(a);
  if (failed(axis) || !source || b.rank(index) > 1 || !isIndex(a, index))
    return a.fail("needs an axis, a vector of indices and a source");
  if (b.rank(index) == 0)
    index = b.unsqueeze(index, {0});
  source = a.cast(source, b.elem(x));
  Dims want = b.dims(x);
  want[*axis] = b.dim(index, 0);
  if (b.rank(source) == 0)
    source = b.broadcastTo(source, want);
  if (b.rank(source) != b.rank(x) || !b.broadcastable(b.dims(source), want))
    return a.fail("the source does not fit");
  source = b.broadcastTo(source, want);
  if (range == IndexRange::positions)
    requireInRange(b, index, b.dim(x, *axis), range);
  else
    index = b.wrapIndices(index, b.dim(x, *axis));
  return a.give(writtenSlices(b, kind, x, index, source, *axis));
}

LogicalResult indexCopy(AtenNode &a) {
  return writeSlices(a, S::assign, a.tensor("source"), IndexRange::positions);
}

LogicalResult indexAdd(AtenNode &a) {
  Value source = a.cast(a.tensor("source"), a.own());
  if (a.has("alpha") && a.real("alpha", 1) != 1)
    source = a.b.mul(source, a.number("alpha", a.own()));
  return writeSlices(a, S::add, source, IndexRange::positions);
}

LogicalResult indexFill(AtenNode &a) {
  return writeSlices(a, S::assign, a.number("value", a.own()), IndexRange::fromBothEnds);
}

//===----------------------------------------------------------------------===//
// Several axes
//===----------------------------------------------------------------------===//

struct Indexed {
  Value x;                    ///< indexed axes first
  SmallVector<Value> indices; ///< of each indexed axis, of one shape
  Value tuples;               ///< the same: [.., number of indexed axes]
  SmallVector<int64_t> order; ///< of the axes of the operand in x
  int64_t count = 0;          ///< of indexed axes
  int64_t place = 0;          ///< of the indices' axes in the result
  int64_t indexRank() const { return rank - 1; }
  int64_t rank = 0; ///< of tuples
};

/// `clamps`: an index outside of its axis stands for the nearest one inside.
FailureOr<Indexed> readIndices(AtenNode &a, bool clamps = false) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  SmallVector<Value> perAxis;
  for (Value v : a.tensors("indices")) {
    if (v && (b.elem(v).isInteger(1) || b.elem(v).isUnsignedInteger(8))) {
      for (auto [i, extent] : llvm::enumerate(b.dims(v)))
        if (static_cast<int64_t>(perAxis.size() + i) < b.rank(x))
          requireSame(b, extent, b.dim(x, perAxis.size() + i), "a mask and what it masks");
      perAxis.append(positionsOf(b, a.cast(v, b.builder().getI1Type())));
    } else {
      perAxis.push_back(v);
    }
  }
  if (static_cast<int64_t>(perAxis.size()) > b.rank(x))
    return a.fail("more indices than axes");
  perAxis.resize(b.rank(x));
  Indexed r;
  SmallVector<Value> indices, given;
  Dims shape, extents;
  for (auto [axis, v] : llvm::enumerate(perAxis)) {
    if (!v)
      continue;
    if (!isIndex(a, v) || !b.broadcastable(shape, b.dims(v)))
      return a.fail("the indices do not fit together");
    shape = b.broadcastShapes(shape, b.dims(v));
    r.order.push_back(axis);
    given.push_back(v);
    extents.push_back(b.dim(x, axis));
  }
  if (!clamps)
    requireAllInRange(b, given, extents);
  for (auto [v, extent] : llvm::zip_equal(given, extents)) {
    Type i64 = b.builder().getI64Type();
    if (clamps) {
      Value last = a.extentTensor(b.subDims(extent, b.dim(1)), i64);
      indices.push_back(b.minimum(b.maximum(b.cast(v, i64), 0.0), last));
    } else {
      indices.push_back(b.cast(countedFromStart(b, v, extent), i64));
    }
  }
  r.count = indices.size();
  if (r.count == 0)
    return a.fail("has no indices");
  bool neighbours = r.order.back() - r.order.front() + 1 == r.count;
  r.place = neighbours ? r.order.front() : 0;
  for (auto [axis, v] : llvm::enumerate(perAxis))
    if (!v)
      r.order.push_back(axis);
  for (Value &v : indices) {
    v = b.broadcastTo(v, shape);
    r.indices.push_back(v);
    v = b.unsqueeze(v, {static_cast<int64_t>(shape.size())});
  }
  r.x = b.transpose(x, r.order);
  r.tuples = b.concat(indices, shape.size());
  r.rank = shape.size() + 1;
  return r;
}

/// The axes of [indices.., rest..] in the order of the result.
SmallVector<int64_t> resultOrder(const Indexed &r, int64_t rank) {
  int64_t lead = r.indexRank();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < r.place; ++i)
    order.push_back(lead + i);
  for (int64_t i = 0; i < lead; ++i)
    order.push_back(i);
  for (int64_t i = lead + r.place; i < rank; ++i)
    order.push_back(i);
  return order;
}

/// What lies at the tuples. Where the indexed axes are the first ones in memory too, they are one
/// axis, whose position each reader computes for itself.
Value gatherAt(PrimBuilder &b, const Indexed &r) {
  if (!llvm::is_sorted(r.order))
    return b.gatherNd(r.x, r.tuples, 0);
  Value place;
  for (auto [i, v] : llvm::enumerate(r.indices)) {
    Value size = b.fromHost({b.dim(r.x, i)}, {}, b.builder().getI64Type());
    place = place ? b.add(b.mul(place, size), v) : v;
  }
  Dims joined = b.dims(r.x), extents(ArrayRef(joined).take_front(r.count));
  joined.erase(joined.begin(), joined.begin() + r.count);
  joined.insert(joined.begin(), b.productOf(extents));
  return b.take(b.reshape(r.x, joined), place, 0);
}

LogicalResult indexTensors(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto r = readIndices(a);
  if (failed(r))
    return failure();
  if (r->count == 1) // as take does it, without moving axes
    return a.give(b.take(x, r->indices[0], r->order[0]));
  Value found = gatherAt(b, *r);
  return a.give(b.transpose(found, resultOrder(*r, b.rank(found))));
}

/// The mask for values of this shape, or null and the reason reported.
Value maskFor(AtenNode &a, Value values) {
  PrimBuilder &b = a.b;
  Value mask = a.cast(a.tensor("mask"), b.builder().getI1Type());
  if (b.rank(mask) <= b.rank(values) && b.broadcastable(b.dims(mask), b.dims(values)))
    return mask;
  (void)a.fail("the mask does not fit the indices");
  return {};
}

/// The elements where the mask holds, elsewhere a fill.
LogicalResult maskedIndex(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto r = readIndices(a, true);
  if (failed(r))
    return failure();
  Value found = b.gatherNd(r->x, r->tuples, 0);
  found = b.transpose(found, resultOrder(*r, b.rank(found)));
  Value mask = maskFor(a, found);
  return mask ? a.give(b.select(mask, found, a.number("fill", 0, b.elem(found)))) : failure();
}

/// Values written, or added, where the indices say.
LogicalResult putAt(AtenNode &a, const FailureOr<Indexed> &r, Value values, S kind) {
  PrimBuilder &b = a.b;
  if (failed(r) || !values)
    return failure();
  Dims want = b.dims(r->tuples), tail = b.dims(r->x);
  want.pop_back();
  want.append(tail.begin() + r->count, tail.end());
  int64_t rank = want.size();
  SmallVector<int64_t> order = resultOrder(*r, rank), back(rank);
  Dims stated;
  for (auto [i, axis] : llvm::enumerate(order)) {
    stated.push_back(want[axis]);
    back[axis] = i;
  }
  values = a.cast(values, b.elem(r->x));
  if (b.rank(values) > rank || !b.broadcastable(b.dims(values), stated))
    return a.fail("the values do not fit");
  values = b.broadcastTo(values, stated);
  if (r->count == 1 && r->indexRank() == 1)
    return a.give(
        writtenSlices(b, kind, a.tensor("self"), b.squeeze(r->tuples, {-1}), values, r->order[0]));
  values = b.transpose(values, back);
  Value written = prim::ScatterNdOp::create(b.builder(), b.location(), r->x.getType(), kind, r->x,
                                            r->tuples, values);
  SmallVector<int64_t> home(r->order.size());
  for (auto [i, axis] : llvm::enumerate(r->order))
    home[axis] = i;
  return a.give(b.transpose(written, home));
}

/// Where the only index is a mask, and the values are the same wherever it holds, a selection; null
/// elsewhere.
Value putWhereMasked(AtenNode &a, bool adds) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), values = a.tensor("values"), mask;
  int64_t first = 0;
  for (auto [i, v] : llvm::enumerate(a.tensors("indices"))) {
    bool isMask = v && (b.elem(v).isInteger(1) || b.elem(v).isUnsignedInteger(8));
    if (v && (mask || !isMask))
      return {};
    if (v)
      std::tie(mask, first) = std::pair(v, static_cast<int64_t>(i));
  }
  if (!mask || !values || first + b.rank(mask) > b.rank(x) || (adds && b.elem(x).isInteger(1)))
    return {};
  // From the last axis: those that the mask lacks, one of what it chooses, those before.
  int64_t masked = b.rank(mask), behind = b.rank(x) - first - masked;
  Dims shape = b.dims(values);
  if (int64_t before = static_cast<int64_t>(shape.size()) - behind; before > 0) {
    if (b.known(shape[before - 1]) != 1)
      return {};
    shape.erase(shape.begin() + before - 1);
    shape.insert(shape.begin() + before - 1, masked, b.dim(1));
  }
  if (static_cast<int64_t>(shape.size()) > b.rank(x) || !b.broadcastable(shape, b.dims(x)))
    return {};
  for (auto [i, extent] : llvm::enumerate(b.dims(mask)))
    requireSame(b, extent, b.dim(x, first + i), "a mask and what it masks");
  values = b.broadcastTo(b.reshape(a.cast(values, b.elem(x)), shape), b.dims(x));
  Dims held(b.rank(x), b.dim(1)), own = b.dims(mask);
  std::copy(own.begin(), own.end(), held.begin() + first);
  mask = b.reshape(a.cast(mask, b.builder().getI1Type()), held);
  return b.select(b.broadcastTo(mask, b.dims(x)), adds ? b.add(x, values) : values, x);
}

LogicalResult indexPut(AtenNode &a) {
  if (Value chosen = putWhereMasked(a, a.flag("accumulate", false)))
    return a.give(chosen);
  return putAt(a, readIndices(a), a.tensor("values"),
               a.flag("accumulate", false) ? S::add : S::assign);
}

/// The values where the mask holds, added.
LogicalResult maskedPut(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value values = a.tensor("values"), mask = maskFor(a, values);
  Value zero = b.scalar(0, b.elem(values));
  return putAt(a, readIndices(a, true), mask ? b.select(mask, values, zero) : Value(), S::add);
}

} // namespace

void tcc::populateAtenIndexRules(RuleSet &rules) {
  addRules(rules,
           {{"embedding", "default", "weight indices", embedding},
            {"index_select", "default", "self index", indexSelect, "self index"},
            {"take", "default", "self index", takeFlat},
            {"gather", "default", "self index", gather, "self index"},
            {"take_along_dim", "default", "self indices", takeAlongDim, "self indices"},
            {"scatter", "src value reduce value_reduce", "self index", scatter, "self index src"},
            {"scatter_add", "default", "self index src", scatterAdd, "self index src"},
            {"index_copy", "default", "self index source", indexCopy, "self index source"},
            {"index_add", "default", "self index source", indexAdd, "self index source"},
            {"index_fill", "int_Scalar int_Tensor", "self index", indexFill, "self index"},
            {"index", "Tensor", "self", indexTensors},
            {"_unsafe_index", "Tensor", "self", indexTensors},
            {"_unsafe_masked_index", "default", "self mask", maskedIndex},
            {"_unsafe_masked_index_put_accumulate", "default", "self mask values", maskedPut},
            {"index_put", "default", "self values", indexPut},
            {"_unsafe_index_put", "default", "self values", indexPut}});
}
