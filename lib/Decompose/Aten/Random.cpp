//===- Random.cpp - ATen's random numbers ---------------------------------===//
//
// The distributions are torch's, the numbers are not: they come from Philox by
// the node's name, as for ONNX (Onnx/Random.cpp), so that every build and every
// run of a model draws the same ones.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

/// Of standard uniform or normal numbers.
FailureOr<Value> draw(AtenNode &a, StringRef op, ArrayRef<Dim> shape) {
  Type wide = isa<FloatType>(a.own()) ? a.wide() : Type(a.b.builder().getF32Type());
  auto results = a.onnx(op, {a.b.full(shape, 0, wide)}, {});
  return failed(results) ? FailureOr<Value>(failure()) : FailureOr<Value>((*results)[0]);
}

/// `size`, or the shape of self.
FailureOr<Dims> shapeOf(AtenNode &a) {
  if (Value like = a.tensor("self"))
    return a.b.dims(like);
  auto size = a.extents("size");
  if (!size)
    return a.fail("needs a list of extents");
  return *size;
}

template <bool normal> LogicalResult standard(AtenNode &a) {
  auto shape = shapeOf(a);
  if (failed(shape))
    return failure();
  auto drawn = draw(a, normal ? "RandomNormalLike" : "RandomUniformLike", *shape);
  return failed(drawn) ? failure() : a.give(*drawn);
}

/// Uniform in [from, to).
LogicalResult uniform(AtenNode &a) {
  auto shape = shapeOf(a);
  if (failed(shape))
    return failure();
  auto drawn = draw(a, "RandomUniformLike", *shape);
  double from = a.real("from", 0), to = a.real("to", 1);
  return failed(drawn) ? failure() : a.give(a.b.add(a.b.mul(*drawn, to - from), from));
}

LogicalResult normalNumbers(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value mean = a.number("mean", 0, wide), deviation = a.number("std", 1, wide);
  Dims shape = b.broadcastShapes(b.dims(mean), b.dims(deviation));
  if (a.tensor("self") || a.has("size")) {
    auto stated = shapeOf(a);
    if (failed(stated))
      return failure();
    shape = *stated;
  }
  auto drawn = draw(a, "RandomNormalLike", shape);
  if (failed(drawn))
    return failure();
  return a.give(b.add(b.mul(*drawn, deviation), mean));
}

/// Integers of [low, high).
LogicalResult integers(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto shape = shapeOf(a);
  auto drawn = failed(shape) ? FailureOr<Value>(failure()) : draw(a, "RandomUniformLike", *shape);
  auto high = a.extent("high");
  if (failed(drawn) || !high)
    return a.fail("needs bounds");
  Type i64 = b.builder().getI64Type(), f64 = b.builder().getF64Type();
  Value low = a.extentTensor(a.extent("low", 0), f64), top = a.extentTensor(*high, f64);
  Value real = b.add(b.mul(b.cast(*drawn, f64), b.sub(top, low)), low);
  return a.give(b.cast(b.unary<prim::FloorOp>(real), i64));
}

/// The order in which drawn numbers sort.
LogicalResult permutation(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto n = a.extent("n");
  auto drawn = n ? draw(a, "RandomUniformLike", {*n}) : FailureOr<Value>(failure());
  if (failed(drawn))
    return a.fail("needs a length");
  auto sort =
      prim::SortOp::create(b.builder(), b.location(), (*drawn).getType(),
                           b.type(*drawn).clone(b.builder().getI64Type()), *drawn, 0, false);
  return a.give(sort.getIndices());
}

LogicalResult bernoulli(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto shape = shapeOf(a);
  auto drawn = failed(shape) ? FailureOr<Value>(failure()) : draw(a, "RandomUniformLike", *shape);
  if (failed(drawn))
    return failure();
  Value p = a.has("p") ? a.number("p", b.elem(*drawn)) : a.cast(a.tensor("self"), b.elem(*drawn));
  return a.give(b.compare(P::lt, *drawn, p));
}

/// -log(1 - u) / lambda.
LogicalResult exponential(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto drawn = draw(a, "RandomUniformLike", b.dims(a.tensor("self")));
  if (failed(drawn))
    return failure();
  return a.give(b.mul(b.unary<prim::Log1pOp>(b.neg(*drawn)), -1 / a.real("lambd", 1)));
}

/// Classes by their weights; without replacement, those of the largest w / e of
/// exponential e (Efraimidis and Spirakis).
LogicalResult multinomial(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = b.builder().getF32Type();
  Value weights = a.cast(a.tensor("self"), wide);
  auto samples = a.extent("num_samples");
  int64_t axis = b.rank(weights) - 1;
  if (!samples || axis < 0 || axis > 1)
    return a.fail("needs weights of classes and a number");
  if (!a.flag("replacement", false)) {
    auto drawn = draw(a, "RandomUniformLike", b.dims(weights));
    if (failed(drawn))
      return failure();
    Value e = b.neg(b.unary<prim::Log1pOp>(b.neg(b.cast(*drawn, wide))));
    Value key = b.div(weights, b.maximum(e, 1e-30));
    auto sort = prim::SortOp::create(b.builder(), b.location(), key.getType(),
                                     b.type(key).clone(b.builder().getI64Type()), key, axis, true);
    return a.give(b.sliceAxis(sort.getIndices(), axis, b.dim(0), *samples));
  }
  Value sums = prim::CumulativeOp::create(b.builder(), b.location(), weights.getType(),
                                          prim::ReduceKind::sum, weights, axis, false, false);
  Value total = b.sliceAxis(sums, axis, b.subDims(b.dim(sums, axis), b.dim(1)), b.dim(1));
  Dims shape = b.dims(weights);
  shape[axis] = *samples;
  auto drawn = draw(a, "RandomUniformLike", shape);
  if (failed(drawn))
    return failure();
  Value at = b.mul(b.cast(*drawn, wide), total);
  Value passed = b.compare(P::le, b.unsqueeze(sums, {axis}), b.unsqueeze(at, {axis + 1}));
  Type i64 = b.builder().getI64Type();
  Value index = b.reduce(prim::ReduceKind::sum, b.cast(passed, i64), {axis + 1}, false);
  Value last = a.extentTensor(b.subDims(b.dim(weights, axis), b.dim(1)), i64);
  return a.give(b.minimum(index, last));
}

} // namespace

void tcc::populateAtenRandomRules(RuleSet &rules) {
  addRules(rules,
           {{"rand", "default generator", "", standard<false>},
            {"rand_like", "default", "self", standard<false>},
            {"randn", "default generator", "", standard<true>},
            {"randn_like", "default", "self", standard<true>},
            {"randint", "default low generator low_generator", "", integers},
            {"randint_like", "default low_dtype", "self", integers},
            {"randperm", "default generator", "", permutation},
            {"uniform", "default", "self", uniform},
            {"normal", "float_float Tensor_float float_Tensor Tensor_Tensor", "", normalNumbers},
            {"normal_functional", "default", "self", normalNumbers},
            {"bernoulli", "default p float Tensor", "self", bernoulli},
            {"exponential", "default", "self", exponential},
            {"multinomial", "default", "self", multinomial}});
}
