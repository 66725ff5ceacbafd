//===- Reduction.cpp - Reduce*, ArgMax, CumSum, TopK ----------------------===//
//
// A reduction is: widen, a pointwise map, prim.reduce, a pointwise map, narrow.
// The axes are an attribute in old opsets and an operand since; when that is
// not a constant, each axis is reduced or not by a host condition, which works
// since all these reductions are associative.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;
using Eq = arith::CmpIPredicate;

namespace {

enum class Map { None, Abs, Square, Log, Sqrt };

Value apply(PrimBuilder &b, Map map, Value x) {
  switch (map) {
  case Map::Abs:
    return b.abs(x);
  case Map::Square:
    return b.mul(x, x);
  case Map::Log:
    return b.log(x);
  case Map::Sqrt:
    return b.sqrt(x);
  case Map::None:
    return x;
  }
  return x;
}

struct Reduction {
  K kind;
  Map before = Map::None, after = Map::None;
  bool mean = false, logSumExp = false;
};

/// The map after the sum, in floats, and back to the operand's type.
Value finish(PrimBuilder &b, const Reduction &r, Value v, Type own) {
  if (r.after != Map::None && isa<IntegerType>(b.elem(v)))
    v = b.cast(v, b.builder().getF64Type());
  return b.cast(apply(b, r.after, v), own);
}

/// Over the axes for which the host condition `gone` holds, with extents kept.
Value reduceWhere(PrimBuilder &b, K kind, Value v, ArrayRef<Dim> gone) {
  for (auto [axis, condition] : llvm::enumerate(gone))
    v = (*b.branch(
        condition,
        [&, at = static_cast<int64_t>(axis)] {
          return SmallVector<Value>{b.reduce(kind, v, at, true)};
        },
        [&] { return SmallVector<Value>{v}; }))[0];
  return v;
}

/// Shifted by the maximum, where that is finite.
Value logSumExp(PrimBuilder &b, Value x, llvm::function_ref<Value(K, Value)> reduceBy) {
  Value top = reduceBy(K::max, x);
  Value finite = b.predicate<prim::IsFiniteOp>(top);
  Value shift = b.select(finite, top, b.scalar(0, b.elem(x)));
  return b.add(b.log(reduceBy(K::sum, b.exp(b.sub(x, shift)))), shift);
}

/// What the reduction sums or compares. An exponential needs floats, whatever the operand is.
Value prepare(PrimBuilder &b, const Reduction &r, Value x) {
  bool steps = r.mean || r.logSumExp || r.before != Map::None || r.after != Map::None;
  Value v = apply(b, r.before, steps ? widen(b, x) : x);
  return r.logSumExp && isa<IntegerType>(b.elem(v)) ? b.cast(v, b.builder().getF64Type()) : v;
}

/// Reduces over axes that are only known at run time.
LogicalResult reduceDynamic(NodeContext &c, const Reduction &r, bool keepDims) {
  auto axes = hostInts(c, 1);
  if (failed(axes))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x);
  int64_t rank = b.rank(x);
  Dims extents = b.dims(x), gone;
  Dim counted = b.dim(1);
  for (int64_t axis = 0; axis < rank; ++axis) {
    gone.push_back(isNamedAxis(b, *axes, axis, rank));
    counted = b.mulDims(counted, b.selectDims(gone.back(), extents[axis], b.dim(1)));
  }
  Value v = prepare(b, r, x);
  auto reduceBy = [&](K kind, Value of) { return reduceWhere(b, kind, of, gone); };
  v = r.logSumExp ? logSumExp(b, v, reduceBy) : reduceBy(r.kind, v);
  if (r.mean)
    v = b.div(v, scalarOf(b, counted, b.elem(v)));
  v = finish(b, r, v, own);
  if (!keepDims)
    v = b.reshape(v, keptExtents(b, extents, gone, std::max<int64_t>(rank - axes->size(), 0)));
  return c.give(v);
}

LogicalResult reduceRule(NodeContext &c, const Reduction &r) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x);
  int64_t rank = b.rank(x);
  bool keepDims = c.intAttr("keepdims", 1);
  if (c.has(1) && !b.constantInts(c.in(1)) && b.rank(c.in(1)) == 1 &&
      !b.type(c.in(1)).isDynamicDim(0) && b.type(c.in(1)).getDimSize(0) != 0)
    return reduceDynamic(c, r, keepDims);
  SmallVector<int64_t> list;
  if (!c.has(1) || !b.type(c.in(1)).hasStaticShape() || b.type(c.in(1)).getNumElements() != 0) {
    auto given = c.intsFrom("axes", 1);
    if (failed(given))
      return failure();
    if (*given)
      list = **given;
  }
  bool everything = list.empty() && !c.intAttr("noop_with_empty_axes", 0);
  auto axes = axesWithin(c, everything ? ArrayRef<int64_t>(allAxes(rank)) : list, rank);
  if (failed(axes))
    return failure();
  Value v = prepare(b, r, x);
  auto reduceBy = [&](K kind, Value of) { return b.reduce(kind, of, *axes, true); };
  if (r.logSumExp)
    v = keepDims ? logSumExp(b, v, reduceBy) : b.squeeze(logSumExp(b, v, reduceBy), *axes);
  else
    v = r.mean ? b.mean(v, *axes, keepDims) : b.reduce(r.kind, v, *axes, keepDims);
  return c.give(finish(b, r, v, own));
}

template <K kind> LogicalResult argReduce(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  if (failed(axis))
    return failure();
  return c.give(c.b.argReduce(kind, c.in(0), *axis, c.intAttr("keepdims", 1) != 0,
                              c.intAttr("select_last_index", 0) != 0));
}

template <K kind> LogicalResult cumulative(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto given = hostInt(c, 1);
  if (failed(given))
    return failure();
  auto along = [&](int64_t axis) {
    return prim::CumulativeOp::create(b.builder(), b.location(), x.getType(), kind, x, axis,
                                      c.intAttr("exclusive", 0) != 0, c.intAttr("reverse", 0) != 0)
        .getResult();
  };
  if (auto constant = b.known(*given)) {
    auto axis = axisWithin(c, *constant, b.rank(x));
    return failed(axis) ? failure() : c.give(along(*axis));
  }
  // The axis is data: one branch for each.
  Value result = along(0);
  for (int64_t axis = 1; axis < b.rank(x); ++axis) {
    Dim here = isNamedAxis(b, *given, axis, b.rank(x));
    result = (*b.branch(
        here, [&] { return SmallVector<Value>{along(axis)}; },
        [&] { return SmallVector<Value>{result}; }))[0];
  }
  return c.give(result);
}

LogicalResult topK(NodeContext &c) {
  auto axis = axisAttr(c, -1);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Dim k = b.dim(c.intAttr("k", 0));
  if (c.version() >= 10) {
    auto given = hostInt(c, 1);
    if (failed(given))
      return failure();
    k = *given;
  }
  Dims list = b.dims(x);
  auto fixed = b.known(k), extent = b.known(list[*axis]);
  if ((fixed && *fixed < 0) || (fixed && extent && *fixed > *extent))
    return c.fail("k is out of range");
  if (!fixed || !extent)
    b.check(b.compareDims(Eq::sle, k, list[*axis]), "TopK: k is larger than the axis");
  list[*axis] = k;
  auto values = b.typeOf(list, b.elem(x));
  auto op = prim::TopKOp::create(
      b.builder(), b.location(), values, values.clone(b.builder().getI64Type()), x,
      fixed ? Value() : b.indexValue(k), *axis, c.intAttr("largest", 1) != 0);
  (void)c.give(0, op.getValues());
  return c.numResults() > 1 ? c.give(1, op.getIndices()) : success();
}

} // namespace

void tcc::populateOnnxReductionRules(RuleSet &rules) {
  static const std::pair<StringRef, Reduction> kTable[] = {
      {"ReduceSum", {K::sum}},
      {"ReduceProd", {K::prod}},
      {"ReduceMax", {K::max}},
      {"ReduceMin", {K::min}},
      {"ReduceMean", {K::sum, Map::None, Map::None, true}},
      {"ReduceL1", {K::sum, Map::Abs}},
      {"ReduceL2", {K::sum, Map::Square, Map::Sqrt}},
      {"ReduceSumSquare", {K::sum, Map::Square}},
      {"ReduceLogSum", {K::sum, Map::None, Map::Log}},
      {"ReduceLogSumExp", {K::sum, Map::None, Map::None, false, true}}};
  for (const auto &[op, reduction] : kTable)
    rules.add("onnx", op, [r = reduction](NodeContext &c) { return reduceRule(c, r); });
  rules.add("onnx", "ArgMax", argReduce<K::max>);
  rules.add("onnx", "ArgMin", argReduce<K::min>);
  rules.add("onnx", "CumSum", cumulative<K::sum>);
  rules.add("onnx", "CumProd", cumulative<K::prod>);
  rules.add("onnx", "TopK", topK);
}
