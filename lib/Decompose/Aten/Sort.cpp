//===- Sort.cpp - ATen scans, sorts, selections and distinct elements -----===//
//
// Everything that needs an order goes through prim.sort, top_k or cumulative, with torch's ties:
// NaN is the largest, equal elements keep their order. logcumsumexp cannot subtract one maximum,
// because what lies far below it would be lost; it takes that of the elements so far.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Unique.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

namespace {

Value scan(PrimBuilder &b, K kind, Value x, int64_t axis) {
  return prim::CumulativeOp::create(b.builder(), b.location(), x.getType(), kind, x, axis, false,
                                    false)
      .getResult();
}

/// Sums of 16 bits are those of f32 in the operator itself.
template <K kind> LogicalResult cumulative(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.own());
  auto axis = a.axis("dim", 0, a.b.rank(x));
  if (failed(axis))
    return failure();
  return a.give(scan(a.b, kind, x, *axis));
}

/// The logarithm of the sum of the exponentials of all elements up to each, relative to the largest
/// of those, m: no shift common to all would do, what lies far below it would be lost. The sums, of
/// exp(x - m), span four times as much after each step (Hillis and Steele 1986, who double it):
/// after that of d, each is of the 4 d elements that end there, and those d, 2 d and 3 d before it
/// are made relative to this m. Of complex x the largest real part counts, and the result's angle
/// is the principal one.
Value runningLogAddExp(PrimBuilder &b, Value x, int64_t axis, int64_t extent) {
  Value size = x;
  if (auto complex = dyn_cast<ComplexType>(b.elem(x)))
    size = prim::RealOp::create(b.builder(), b.location(),
                                tensorType(x).clone(complex.getElementType()), x);
  Value none = b.scalar(0, b.elem(size)), top = scan(b, K::max, size, axis);
  // Nothing is relative to an infinity: its exponential is 0 or infinite by itself.
  Value m = b.select(b.predicate<prim::IsInfOp>(top), none, top);
  auto like = [&](Value v) { return b.cast(v, b.elem(x)); };
  Value sum = b.exp(b.sub(x, like(m)));
  constexpr int64_t kSpan = 4;
  for (int64_t d = 1; d < extent; d *= kSpan) {
    Value all = sum;
    for (int64_t away = d; away < std::min(kSpan * d, extent); away += d) {
      SmallVector<Dim> low(b.rank(x), b.dim(0)), high = low;
      low[axis] = b.dim(away);
      auto before = [&](Value v) {
        return b.pad(b.sliceAxis(v, axis, b.dim(0), b.dim(extent - away)), b.scalar(0, b.elem(v)),
                     low, high);
      };
      Value factor = b.exp(b.minimum(b.sub(before(m), m), none));
      all = b.add(all, b.mul(before(sum), like(factor)));
    }
    sum = all;
  }
  return b.add(like(m), b.log(sum));
}

/// Where the extent is known only at run time, shifted by the maximum, in double: what lies
/// more than 745 below it is lost.
LogicalResult logCumSumExp(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide());
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis))
    return failure();
  int64_t extent = cast<RankedTensorType>(x.getType()).getDimSize(*axis);
  if (!ShapedType::isDynamic(extent))
    return a.give(runningLogAddExp(b, x, *axis, extent));
  Value wide = b.cast(x, b.builder().getF64Type());
  Value top = b.reduce(K::max, wide, {*axis}, true);
  top = b.select(b.predicate<prim::IsInfOp>(top), b.scalar(0, b.elem(top)), top);
  Value sum = b.add(b.log(scan(b, K::sum, b.exp(b.sub(wide, top)), *axis)), top);
  return a.give(b.cast(sum, b.elem(x)));
}

/// cummax, cummin: the running extreme and the last place it was met.
template <K kind> LogicalResult cumulativeExtremum(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis))
    return failure();
  Value best = scan(b, kind, x, *axis);
  (void)a.give(0, best);
  if (!a.c.wants(1))
    return success();
  // Places in few bits, where they fit and fill vectors: those have more of them.
  constexpr int64_t kFewLines = 8;
  int64_t extent = tensorType(x).getDimSize(*axis), beside = 1;
  for (int64_t i = *axis + 1; i < b.rank(x); ++i)
    beside *= std::max<int64_t>(1, tensorType(x).getDimSize(i)); // an open one may be long
  bool open = llvm::any_of(tensorType(x).getShape().drop_front(*axis), ShapedType::isDynamic);
  bool isLast = *axis + 1 == b.rank(x);
  bool few = !ShapedType::isDynamic(extent) && extent <= std::numeric_limits<int32_t>::max() &&
             (isLast || open || beside >= kFewLines);
  Type i64 = b.builder().getI64Type(), index = few ? b.builder().getI32Type() : i64;
  Value here = b.iota(b.dims(x), *axis, index);
  Value met = b.compare(P::eq, x, best);
  if (isa<FloatType>(b.elem(x))) // NaN is never equal
    met = b.binary<prim::OrOp>(met, b.predicate<prim::IsNanOp>(x));
  return a.give(1, b.cast(scan(b, K::max, b.select(met, here, b.scalar(0, index)), *axis), i64));
}

struct Sorted {
  Value values, indices;
};
/// Lines that lie side by side are sorted much faster than they are turned.
Sorted sorted(PrimBuilder &b, Value x, int64_t axis, bool descending) {
  int64_t last = b.rank(x) - 1;
  if (axis < last) {
    SmallVector<int64_t> order = allAxes(b.rank(x));
    std::swap(order[axis], order[last]);
    Sorted s = sorted(b, b.transpose(x, order), last, descending);
    return {b.transpose(s.values, order), b.transpose(s.indices, order)};
  }
  auto op = prim::SortOp::create(b.builder(), b.location(), x.getType(),
                                 b.type(x).clone(b.builder().getI64Type()), x, axis, descending);
  return {op.getValues(), op.getIndices()};
}

template <bool positions> LogicalResult sort(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis))
    return failure();
  Sorted s = sorted(b, x, *axis, a.flag("descending", false));
  if (positions)
    return a.give(s.indices);
  (void)a.give(0, s.values);
  return a.give(1, s.indices);
}

LogicalResult sortRows(AtenNode &a) {
  return a.give(sorted(a.b, a.tensor("self"), 0, false).values);
}

LogicalResult topK(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", -1, b.rank(x));
  auto k = a.extent("k");
  if (failed(axis) || !k)
    return a.fail("needs an axis and a number");
  Dims list = b.dims(x);
  auto fixed = b.known(*k), extent = b.known(list[*axis]);
  if ((fixed && *fixed < 0) || (fixed && extent && *fixed > *extent))
    return a.fail("k is out of range");
  if (!fixed || !extent)
    b.check(b.compareDims(Cmp::sle, *k, list[*axis]), "topk: k is larger than the axis");
  list[*axis] = *k;
  auto values = b.typeOf(list, b.elem(x));
  auto op = prim::TopKOp::create(
      b.builder(), b.location(), values, values.clone(b.builder().getI64Type()), x,
      fixed ? Value() : b.indexValue(*k), *axis, a.flag("largest", true));
  (void)a.give(0, op.getValues());
  return a.give(1, op.getIndices());
}

/// The first elements of the last axis in order, up to and with `place`: all, unless those are few.
Sorted sortedUpTo(PrimBuilder &b, Value lines, Dim place) {
  // As many are kept in order while a line is looked through; short ones are sorted as fast.
  constexpr int64_t kFew = 16, kLongLine = 64, kShare = 8;
  int64_t last = b.rank(lines) - 1;
  auto known = b.known(place), extent = b.known(b.dim(lines, last));
  if (!known || !extent || *extent < kLongLine || *known < 0 || *known >= kFew ||
      *known >= *extent / kShare)
    return sorted(b, lines, last, false);
  Dims list = b.dims(lines);
  list[last] = b.dim(*known + 1);
  auto values = b.typeOf(list, b.elem(lines));
  auto op = prim::TopKOp::create(b.builder(), b.location(), values,
                                 values.clone(b.builder().getI64Type()), lines, /*k=*/Value(), last,
                                 /*largest=*/false);
  return {op.getValues(), op.getIndices()};
}

/// Element `place` (from 0) of the sorted axis, which stays, and where it came from.
Sorted ranked(PrimBuilder &b, Value x, int64_t axis, Dim place) {
  requireElements(b, b.dim(x, axis), {}, "an order statistic");
  requireInside(b, place, b.dim(1), b.dim(x, axis));
  int64_t last = b.rank(x) - 1;
  SmallVector<int64_t> order = allAxes(b.rank(x));
  std::swap(order[axis], order[last]);
  Sorted s = sortedUpTo(b, axis < last ? b.transpose(x, order) : x, place);
  auto taken = [&](Value v) {
    v = b.sliceAxis(v, last, place, b.dim(1));
    return axis < last ? b.transpose(v, order) : v;
  };
  return {taken(s.values), taken(s.indices)};
}

LogicalResult kthValue(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", -1, b.rank(x));
  auto k = a.extent("k");
  if (failed(axis) || !k)
    return a.fail("needs an axis and a number");
  auto [value, index] = ranked(b, x, *axis, b.subDims(*k, b.dim(1)));
  bool keep = a.flag("keepdim", false);
  (void)a.give(0, keep ? value : b.squeeze(value, {*axis}));
  return a.give(1, keep ? index : b.squeeze(index, {*axis}));
}

/// The lower one of two medians; of an axis that holds NaN the first NaN.
LogicalResult medianAlong(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis))
    return failure();
  bool keep = a.flag("keepdim", false);
  Dim middle = b.floorDivDims(b.subDims(b.dim(x, *axis), b.dim(1)), b.dim(2));
  auto [value, index] = ranked(b, x, *axis, middle);
  if (isa<FloatType>(b.elem(x))) {
    Dim count = b.dim(x, *axis);
    std::optional<int64_t> known = b.known(count);
    bool narrow = known && *known <= std::numeric_limits<int32_t>::max();
    Type place = b.builder().getIntegerType(narrow ? 32 : 64);
    Value none = a.extentTensor(count, place);
    Value here = alongAxis(b, b.iota({count}, 0, place), *axis, b.rank(x));
    Value first =
        b.reduce(K::min, b.select(b.predicate<prim::IsNanOp>(x), here, none), {*axis}, true);
    Value any = b.compare(P::lt, first, none);
    index = b.select(any, b.cast(first, b.elem(index)), index);
    value = b.takeAlong(x, index, *axis);
  }
  (void)a.give(0, keep ? value : b.squeeze(value, {*axis}));
  return a.give(1, keep ? index : b.squeeze(index, {*axis}));
}

LogicalResult median(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Dim count = b.productOf(b.dims(x));
  if (b.known(count) == 0 && isa<FloatType>(b.elem(x)))
    return a.give(b.scalar(std::numeric_limits<double>::quiet_NaN(), b.elem(x)));
  requireAtMost(b, b.dim(1), count, "the least number of elements that have a median");
  Value flat = sorted(b, b.reshape(x, {count}), 0, false).values;
  Dim middle = b.floorDivDims(b.subDims(count, b.dim(1)), b.dim(2));
  Value value = b.reshape(b.sliceAxis(flat, 0, middle, b.dim(1)), ArrayRef<int64_t>{});
  if (!isa<FloatType>(b.elem(x)))
    return a.give(value);
  Value any = b.reduce(K::any, b.predicate<prim::IsNanOp>(x), allAxes(b.rank(x)), false);
  Value nan = b.scalar(std::numeric_limits<double>::quiet_NaN(), b.elem(x));
  return a.give(b.select(any, nan, value));
}

//===----------------------------------------------------------------------===//
// Distinct and most frequent elements
//===----------------------------------------------------------------------===//

/// An operand as rows along one axis, and back.
struct Rows {
  Value rows;                ///< [count, elements of a row]
  SmallVector<int64_t> back; ///< what undoes the axis' move to the front
  Dims dims;                 ///< with the axis in front
};

Rows rowsAlong(PrimBuilder &b, Value x, int64_t axis) {
  Rows r;
  SmallVector<int64_t> order = allAxes(b.rank(x));
  order.erase(order.begin() + axis);
  order.insert(order.begin(), axis);
  r.back.resize(order.size());
  for (auto [i, from] : llvm::enumerate(order))
    r.back[from] = i;
  Value moved = b.transpose(x, order);
  r.dims = b.dims(moved);
  r.rows = b.reshape(moved, {r.dims[0], b.productOf(ArrayRef(r.dims).drop_front())});
  return r;
}

/// Values, which one each element is, and how often each appears.
LogicalResult giveDistinct(AtenNode &a, Value values, const Distinct &d, ArrayRef<Dim> shape) {
  (void)a.give(0, values);
  if (a.c.wants(1))
    (void)a.give(1, a.b.reshape(d.inverse, shape));
  return a.c.wants(2) ? a.give(2, d.counts) : success();
}

LogicalResult giveDistinctRows(AtenNode &a, Rows r, const Distinct &d) {
  PrimBuilder &b = a.b;
  Dims count = {r.dims[0]};
  r.dims[0] = b.dim(d.values, 0);
  return giveDistinct(a, b.transpose(b.reshape(d.values, r.dims), r.back), d, count);
}

/// torch sorts also when it need not.
LogicalResult unique(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Dims shape = b.dims(x);
  Distinct d = distinct(b, b.reshape(x, {b.productOf(shape)}), /*sorted=*/true, /*nanIsOne=*/false);
  return giveDistinct(a, d.values, d, shape);
}

LogicalResult uniqueRows(AtenNode &a) {
  Value x = a.tensor("self");
  auto axis = a.axis("dim", 0, a.b.rank(x));
  if (failed(axis))
    return failure();
  Rows r = rowsAlong(a.b, x, *axis);
  return giveDistinctRows(a, r, distinct(a.b, r.rows, /*sorted=*/true, /*nanIsOne=*/false));
}

LogicalResult uniqueRuns(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (!a.has("dim")) {
    Dims shape = b.dims(x);
    Distinct d = runs(b, b.reshape(x, {b.productOf(shape)}));
    return giveDistinct(a, d.values, d, shape);
  }
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis))
    return failure();
  Rows r = rowsAlong(b, x, *axis);
  return giveDistinctRows(a, r, runs(b, r.rows));
}

/// The most frequent element, the least of several, and the last place that has it.
LogicalResult mode(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x);
  auto axis = a.axis("dim", -1, rank);
  if (failed(axis))
    return failure();
  Type i64 = b.builder().getI64Type();
  bool keep = a.flag("keepdim", false);
  requireElements(b, b.dim(x, *axis), {}, "a mode");
  // In order, equal elements are a run; the first of the longest ones has the least element, and
  // ends with the last place that has it.
  Sorted s = sorted(b, x, *axis, /*descending=*/false);
  int64_t extent = tensorType(x).getDimSize(*axis);
  bool isKnown = !ShapedType::isDynamic(extent);
  bool few = isKnown && extent <= std::numeric_limits<int32_t>::max();
  Type index = few ? b.builder().getI32Type() : i64;
  Value before;
  if (isKnown && extent > 1) {
    before = b.concat({b.sliceAxis(s.values, *axis, b.dim(0), b.dim(1)),
                       b.sliceAxis(s.values, *axis, b.dim(0), b.dim(extent - 1))},
                      *axis);
  } else {
    Value place = b.iota({b.dim(x, *axis)}, 0, i64);
    before = b.take(s.values, b.maximum(b.sub(place, 1.0), 0.0), *axis);
  }
  Value here = b.iota(b.dims(x), *axis, index), none = b.scalar(0, index);
  Value begins = b.select(b.compare(P::ne, s.values, before), here, none);
  Value length = b.sub(here, scan(b, K::max, begins, *axis));
  Dims shape = b.dims(x);
  shape.erase(shape.begin() + *axis);
  Value end = prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(shape, i64), K::max,
                                        length, *axis);
  end = b.unsqueeze(end, {*axis});
  Value most = b.takeAlong(s.values, end, *axis), place = b.takeAlong(s.indices, end, *axis);
  (void)a.give(0, keep ? most : b.squeeze(most, {*axis}));
  return a.give(1, keep ? place : b.squeeze(place, {*axis}));
}

} // namespace

void tcc::populateAtenSortRules(RuleSet &rules) {
  addRules(rules, {{"cumsum", "default", "self", cumulative<K::sum>, "self"},
                   {"cumprod", "default", "self", cumulative<K::prod>, "self"},
                   {"logcumsumexp", "default", "self", logCumSumExp, "self"},
                   {"cummax", "default", "self", cumulativeExtremum<K::max>, "self"},
                   {"cummin", "default", "self", cumulativeExtremum<K::min>, "self"},
                   {"sort", "default stable", "self", sort<false>, "self"},
                   {"msort", "default", "self", sortRows, "self"},
                   {"argsort", "default stable", "self", sort<true>, "self"},
                   {"topk", "default", "self", topK, "self"},
                   {"kthvalue", "default", "self", kthValue, "self"},
                   {"median", "dim", "self", medianAlong, "self"},
                   {"median", "default", "self", median},
                   {"_unique2", "default", "self", unique},
                   {"_unique", "default", "self", unique},
                   {"unique_dim", "default", "self", uniqueRows, "self"},
                   {"unique_consecutive", "default", "self", uniqueRuns},
                   {"unique_dim_consecutive", "default", "self", uniqueRuns},
                   {"mode", "default", "self", mode, "self"}});
}
