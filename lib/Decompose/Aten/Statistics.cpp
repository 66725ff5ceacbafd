//===- Statistics.cpp - Quantiles, counts, sums over samples --------------===//
//
// Order statistics sort once and read at computed positions. Counts whose extent only the data
// tell (bincount) ask the host for the largest value first.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/Mask.h"
#include "Decompose/Checks.h"
#include "tcc/Support/Error.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

Value sortedValues(PrimBuilder &b, Value x, int64_t axis) {
  auto indices = b.type(x).clone(b.builder().getI64Type());
  return prim::SortOp::create(b.builder(), b.location(), x.getType(), indices, x, axis, false)
      .getValues();
}

Value count(PrimBuilder &b, Value condition, int64_t axis, bool keep) {
  return b.reduce(K::sum, b.cast(condition, b.builder().getI64Type()), {axis}, keep);
}

//===----------------------------------------------------------------------===//
// Order statistics
//===----------------------------------------------------------------------===//

/// The operand with the samples on its last axis, and where that axis was.
struct Samples {
  Value x;
  std::optional<int64_t> axis; ///< none: everything was flattened
};
FailureOr<Samples> samplesOf(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (!a.has("dim") || b.rank(x) == 0) {
    Dim count = b.productOf(b.dims(x));
    requireElements(b, count, {}, "an order statistic");
    return Samples{b.reshape(x, {count}), std::nullopt};
  }
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis))
    return failure();
  Dims lines = b.dims(x);
  lines.erase(lines.begin() + *axis);
  requireElements(b, b.dim(x, *axis), lines, "an order statistic");
  SmallVector<int64_t> order = allAxes(b.rank(x));
  order.erase(order.begin() + *axis);
  order.push_back(*axis);
  return Samples{b.transpose(x, order), *axis};
}

/// Row i of v, [samples..., q], at the real positions `rank` (of the same shape but the last).
Value interpolated(AtenNode &a, Value values, Value rank) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  int64_t axis = b.rank(values) - 1;
  StringRef how = a.text("interpolation", "linear");
  if (how == "nearest")
    rank = b.unary<prim::RoundOp>(rank);
  Value low = b.unary<prim::FloorOp>(rank), high = b.unary<prim::CeilOp>(rank);
  if (how == "lower" || how == "nearest")
    return b.takeAlong(values, b.cast(low, i64), axis);
  Value upper = b.takeAlong(values, b.cast(high, i64), axis);
  if (how == "higher")
    return upper;
  Value lower = b.takeAlong(values, b.cast(low, i64), axis);
  Value part = how == "midpoint" ? b.broadcastTo(b.scalar(0.5, b.elem(rank)), b.dims(rank))
                                 : b.sub(rank, low);
  return b.add(lower, b.mul(b.sub(upper, lower), part));
}

template <bool ignoreNan> LogicalResult quantile(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto samples = samplesOf(a);
  Value q = a.number("q", a.own());
  if (failed(samples) || !q || b.rank(q) > 1)
    return a.fail("needs a number or a vector of probabilities");
  Value x = sortedValues(b, samples->x, b.rank(samples->x) - 1); // NaN last
  int64_t last = b.rank(x) - 1;
  Value isNan = b.predicate<prim::IsNanOp>(x);
  Value known = count(b, b.logicalNot(isNan), last, true);
  Value limit = ignoreNan ? known : a.extentTensor(b.dim(x, last), b.builder().getI64Type());
  Value top = b.maximum(b.sub(b.cast(limit, a.own()), 1.0), 0.0);
  bool list = b.rank(q) == 1;
  Value rank = b.mul(list ? q : b.unsqueeze(q, {0}), top); // [samples..., q]
  Dims shape = b.dims(x);
  shape[last] = list ? b.dim(q, 0) : b.dim(1);
  rank = b.broadcastTo(rank, shape);
  Value result = interpolated(a, x, rank);
  Value nan = b.scalar(std::numeric_limits<double>::quiet_NaN(), b.elem(x));
  Value size = a.extentTensor(b.dim(x, last), b.builder().getI64Type());
  Value spoilt = ignoreNan ? b.compare(P::eq, known, 0.0) : b.compare(P::lt, known, size);
  result = b.select(b.broadcastTo(spoilt, shape), nan, result);
  // [samples..., q] as [q, samples...], with the axis of the samples if it is kept.
  SmallVector<int64_t> order = {last};
  order.append(allAxes(last));
  result = b.transpose(result, order);
  if (a.flag("keepdim", false)) {
    int64_t rankX = b.rank(a.tensor("self"));
    SmallVector<int64_t> gone =
        samples->axis ? SmallVector<int64_t>{*samples->axis + 1} : axesFrom(1, rankX + 1);
    if (!gone.empty())
      result = b.unsqueeze(result, gone);
  }
  return a.give(list ? result : b.squeeze(result, {0}));
}

/// The lower median of what is not NaN.
LogicalResult nanMedian(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto samples = samplesOf(a);
  if (failed(samples))
    return failure();
  Value x = samples->x;
  int64_t last = b.rank(x) - 1;
  auto sort = prim::SortOp::create(b.builder(), b.location(), x.getType(),
                                   b.type(x).clone(b.builder().getI64Type()), x, last, false);
  Value known = isa<FloatType>(b.elem(x))
                    ? count(b, b.logicalNot(b.predicate<prim::IsNanOp>(x)), last, true)
                    : b.broadcastTo(a.extentTensor(b.dim(x, last), b.builder().getI64Type()),
                                    b.dims(b.reduce(K::max, x, {last}, true)));
  Value middle =
      b.binary<prim::FloorDivOp>(b.maximum(b.sub(known, 1.0), 0.0), b.scalar(2, b.elem(known)));
  for (auto [i, list] : llvm::enumerate(sort->getResults())) {
    Value v = b.takeAlong(list, middle, last);
    v = b.squeeze(v, {last});
    if (a.flag("keepdim", false) && samples->axis)
      v = b.unsqueeze(v, {*samples->axis});
    (void)a.give(i, v);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// Whether what the node gives is read only for its size, as a result of the model, or by casts,
/// which name their type.
bool isReadAsItIs(AtenNode &a) {
  return llvm::all_of(a.c.node.getResult(0).getUsers(), [](Operation *user) {
    auto node = dyn_cast<graph::NodeOp>(user);
    auto calls = [&](StringRef name) { return node && node.getTarget().starts_with(name); };
    return user->hasTrait<OpTrait::IsTerminator>() || calls("sym_size") || calls("_to_copy.") ||
           calls("to.dtype");
  });
}

/// How often each number from 0 on occurs, or the sum of its weights; as many as
/// the largest needs, which only the data tell.
LogicalResult countNumbers(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type(), own = a.own();
  // The sums are f64 but for weights of f32. PyTorch 2.11 states i64 for them, and types what
  // follows by that.
  Value weights = a.tensor("weights");
  if (weights && isa<IntegerType>(own) && b.known(b.dim(a.tensor("self"), 0)) != 0) {
    own = b.elem(weights).isF32() ? b.elem(weights) : b.builder().getF64Type();
    if (!isReadAsItIs(a))
      return a.fail("is said to give integers, but sums its weights as floats: cast its result "
                    "where it is made, or export with a newer PyTorch");
  }
  Value x = b.cast(a.tensor("self"), i64);
  Dim least = a.extent("minlength", 0);
  if (b.rank(x) != 1 || (weights && b.rank(weights) != 1))
    return a.fail("needs a vector");
  auto extremum = [&](K kind, int64_t ofNone) {
    Value all = x;
    if (b.known(b.dim(x, 0)).value_or(0) < 1) // there may be none
      all = b.concat({x, b.unsqueeze(b.scalar(ofNone, i64), {0})}, 0);
    return b.reduce(kind, all, {0}, false);
  };
  Value needed = b.add(extremum(K::max, -1), 1.0), lowest = extremum(K::min, 0);
  b.check(b.readElements(b.compare(P::ge, lowest, 0.0))[0], "bincount: a number is negative");
  Dim bins = b.maxDims(b.readElements(needed)[0], least);
  Value each = weights ? b.cast(weights, own) : b.full(b.dims(x), 1, own);
  Value none = b.full({bins}, 0, own);
  return a.c.give(prim::ScatterAlongOp::create(b.builder(), b.location(), none.getType(),
                                               prim::ScatterKind::add, none, x, each, 0)
                      .getResult());
}

/// Elements of [min, max] by bins of one width; the last bin has its upper end.
LogicalResult histogram(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide(), i64 = b.builder().getI64Type();
  Value x = a.cast(a.tensor("self"), wide);
  auto bins = a.extent("bins", 100);
  x = b.reshape(x, {b.productOf(b.dims(x))});
  double from = a.real("min", 0), to = a.real("max", 0);
  Value low = b.scalar(from, wide), high = b.scalar(to, wide);
  if (from == to) {
    if (b.known(b.dim(x, 0)).value_or(0) < 1)
      return a.fail("needs bounds, or elements to take them from");
    low = b.reduce(K::min, x, {0}, false);
    high = b.reduce(K::max, x, {0}, false);
    Value flat = b.compare(P::eq, low, high);
    low = b.select(flat, b.sub(low, 1.0), low);
    high = b.select(flat, b.add(high, 1.0), high);
  }
  Value number = a.extentTensor(bins, wide);
  Value place = b.div(b.mul(b.sub(x, low), number), b.sub(high, low));
  Value index =
      b.minimum(b.cast(b.unary<prim::FloorOp>(place), i64), b.sub(a.extentTensor(bins, i64), 1.0));
  Value inside = b.binary<prim::AndOp>(b.compare(P::ge, x, low), b.compare(P::le, x, high));
  // NaN and what lies outside adds nothing to the first bin.
  index = b.select(inside, index, b.scalar(0, i64));
  Value none = b.full({bins}, 0, wide);
  return a.give(prim::ScatterAlongOp::create(b.builder(), b.location(), none.getType(),
                                             prim::ScatterKind::add, none, index,
                                             b.cast(inside, wide), 0)
                    .getResult());
}

/// Whether each value is one of the set: the least that is not below it equals it. A comparison
/// with each of a few; more are sorted, for values that are worth it.
Value isOneOf(PrimBuilder &b, Value x, Value set) {
  auto n = b.known(b.dim(set, 0)), count = b.known(b.productOf(b.dims(x)));
  if (b.elem(set).isInteger(1) || !n || *n <= kFewBoundaries || (count && *count <= kFewBoundaries))
    return b.reduce(K::any, b.compare(P::eq, b.unsqueeze(x, {b.rank(x)}), set), {b.rank(x)}, false);
  set = sortedValues(b, set, 0);
  Value below = countByHalving(b, set, x, *n, Halving::LeftOfNan);
  return b.compare(P::eq, b.take(set, b.minimum(below, static_cast<double>(*n - 1)), 0), x);
}

LogicalResult isIn(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type t = a.promoted({a.has("elements") ? "elements" : "element",
                       a.has("test_elements") ? "test_elements" : "test_element"});
  Value x = a.number(a.has("elements") ? "elements" : "element", t);
  Value set = a.number(a.has("test_elements") ? "test_elements" : "test_element", t);
  if (!x || !set)
    return a.fail("needs elements and a set");
  set = b.reshape(set, {b.productOf(b.dims(set))});
  Value any = isOneOf(b, x, set);
  return a.give(a.flag("invert", false) ? b.logicalNot(any) : any);
}

//===----------------------------------------------------------------------===//
// Differences and sums between neighbours
//===----------------------------------------------------------------------===//

/// x[1:] and x[:-1] along an axis.
std::pair<Value, Value> neighbours(PrimBuilder &b, Value x, int64_t axis) {
  Dim less = b.maxDims(b.subDims(b.dim(x, axis), b.dim(1)), b.dim(0));
  return {b.sliceAxis(x, axis, b.dim(1), less), b.sliceAxis(x, axis, b.dim(0), less)};
}

LogicalResult difference(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own());
  int64_t n = a.integer("n", 1);
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis) || b.rank(x) == 0 || n < 0 || n > 64)
    return a.fail("needs an axis and a small number of turns");
  SmallVector<Value> list = {x};
  if (Value before = a.tensor("prepend"))
    list.insert(list.begin(), a.cast(before, a.own()));
  if (Value after = a.tensor("append"))
    list.push_back(a.cast(after, a.own()));
  x = list.size() == 1 ? x : b.concat(list, *axis);
  for (int64_t i = 0; i < n; ++i) {
    if (b.known(b.dim(x, *axis)) == 0)
      break;
    auto [next, own] = neighbours(b, x, *axis);
    x = b.elem(x).isInteger(1) ? b.binary<prim::XorOp>(next, own) : b.sub(next, own);
  }
  return a.give(x);
}

/// In f32 or wider; integers as they are, for torch adds and multiplies them in their own type.
Value ordinates(AtenNode &a, StringRef name) {
  Value v = a.tensor(name);
  return isa<FloatType>(a.b.elem(v)) || a.b.elem(v).isInteger(1) ? a.cast(v, a.wide()) : v;
}

/// The areas under y between neighbours, with abscissae `x` or a step `dx`.
FailureOr<Value> trapezia(AtenNode &a, int64_t &axis) {
  PrimBuilder &b = a.b;
  Value y = ordinates(a, "y");
  auto at = a.axis("dim", -1, b.rank(y));
  if (failed(at) || b.rank(y) == 0)
    return a.fail("needs an axis");
  axis = *at;
  auto [next, own] = neighbours(b, y, axis);
  Value sum = b.add(next, own);
  if (!a.tensor("x"))
    return b.mul(a.cast(sum, a.wide()), a.real("dx", 1) / 2);
  Value x = ordinates(a, "x");
  if (b.rank(x) == 1 && b.rank(y) > 1)
    x = alongAxis(b, x, axis, b.rank(y));
  else if (b.rank(x) < b.rank(y))
    x = b.unsqueeze(x, allAxes(b.rank(y) - b.rank(x)));
  if (b.rank(x) != b.rank(y))
    return a.fail("the abscissae have too many axes");
  auto [right, left] = neighbours(b, x, axis);
  Type common = a.promoted({"x", "y"});
  if (!isa<IntegerType>(common) || common.isInteger(1))
    common = a.wide();
  Value area = b.mul(a.cast(sum, common), a.cast(b.sub(right, left), common));
  return b.mul(a.cast(area, a.wide()), 0.5);
}

LogicalResult trapezoid(AtenNode &a) {
  PrimBuilder &b = a.b;
  int64_t axis = 0;
  auto areas = trapezia(a, axis);
  if (failed(areas))
    return failure();
  Value y = ordinates(a, "y");
  if (a.tensor("x") || b.known(b.dim(y, axis)) == 0)
    return a.give(b.reduce(K::sum, *areas, {axis}, false));
  // The sum, of integers in i64, less half of both ends: with infinite ends NaN, as in torch.
  Type i64 = b.builder().getI64Type();
  Value all = b.reduce(K::sum, isa<IntegerType>(b.elem(y)) ? b.cast(y, i64) : y, {axis}, false);
  Value last = a.extentTensor(b.subDims(b.dim(y, axis), b.dim(1)), i64);
  Value ends = b.add(b.take(y, b.scalar(0, i64), axis), b.take(y, last, axis));
  Value half = b.mul(a.cast(ends, a.wide()), 0.5);
  return a.give(b.mul(b.sub(a.cast(all, a.wide()), half), a.real("dx", 1)));
}

LogicalResult cumulativeTrapezoid(AtenNode &a) {
  PrimBuilder &b = a.b;
  int64_t axis = 0;
  auto areas = trapezia(a, axis);
  if (failed(areas))
    return failure();
  return a.give(prim::CumulativeOp::create(b.builder(), b.location(), (*areas).getType(), K::sum,
                                           *areas, axis, false, false)
                    .getResult());
}

} // namespace

void tcc::populateAtenStatisticsRules(RuleSet &rules) {
  addRules(rules, {{"quantile", "default scalar", "self", quantile<false>},
                   {"nanquantile", "default scalar", "self", quantile<true>},
                   {"nanmedian", "default dim", "self", nanMedian},
                   {"histc", "default", "self", histogram},
                   {"bincount", "default", "self", countNumbers},
                   {"isin", "Tensor_Tensor Tensor_Scalar Scalar_Tensor", "", isIn},
                   {"diff", "default", "self", difference},
                   {"trapezoid", "x dx", "y", trapezoid},
                   {"trapz", "x dx", "y", trapezoid},
                   {"cumulative_trapezoid", "x dx", "y", cumulativeTrapezoid}});
}
