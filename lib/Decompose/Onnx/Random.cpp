//===- Random.cpp - Random tensors and Dropout ------------------------------===//
//
// All come from prim.random_bits. Without a seed attribute the seed is a hash of
// the name of the node's result, so that a model gives the same numbers in every
// build and two nodes give different ones.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Onnx/Operands.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <numbers>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

Value seedOf(NodeContext &c) {
  PrimBuilder &b = c.b;
  uint64_t seed;
  if (auto one = dyn_cast_or_null<IntegerAttr>(c.attr("seed"))) {
    seed = one.getInt();
  } else if (c.hasAttr("seed")) {
    seed = llvm::bit_cast<uint32_t>(static_cast<float>(c.floatAttr("seed", 0)));
  } else {
    ArrayAttr outs = c.node.getOutsAttr();
    auto name = outs && !outs.empty() ? dyn_cast<StringAttr>(outs[0]) : StringAttr();
    seed = llvm::xxh3_64bits(name ? name.getValue() : StringRef());
  }
  auto t = RankedTensorType::get({}, b.builder().getI64Type());
  return b.constant(DenseElementsAttr::get(t, static_cast<int64_t>(seed)));
}

Value randomWords(PrimBuilder &b, Value seed, ArrayRef<Dim> shape) {
  RankedTensorType t = b.typeOf(shape, b.builder().getIntegerType(32, /*isSigned=*/false));
  return prim::RandomBitsOp::create(b.builder(), b.location(), t, seed, b.dynamicSizes(shape))
      .getResult();
}

/// In [0, 1) from 24 bits.
Value uniform(PrimBuilder &b, Value words) {
  Value high = b.binary<prim::ShiftRightOp>(words, b.scalar(8, b.elem(words)));
  return b.mul(b.cast(high, b.builder().getF32Type()), 0x1p-24);
}

/// Box and Muller's transform of two words an element.
Value normal(PrimBuilder &b, Value seed, ArrayRef<Dim> shape) {
  Dims pair = {b.dim(2)};
  pair.append(shape.begin(), shape.end());
  Value u = uniform(b, randomWords(b, seed, pair));
  auto half = [&](int64_t i) { return b.squeeze(b.sliceAxis(u, 0, b.dim(i), b.dim(1)), {0}); };
  Value radius = b.sqrt(b.mul(b.log(b.sub(b.scalar(1, b.elem(u)), half(0))), -2.0));
  return b.mul(radius, b.unary<prim::CosOp>(b.mul(half(1), 2 * std::numbers::pi)));
}

/// The shape and element type of a node that has `shape` or is like operand 0.
FailureOr<std::pair<Dims, Type>> wanted(NodeContext &c, bool like) {
  PrimBuilder &b = c.b;
  Dims shape;
  Type type = b.builder().getF32Type();
  if (like) {
    shape = b.dims(c.in(0));
    type = b.elem(c.in(0));
  } else {
    for (int64_t extent : c.intsAttr("shape").value_or(SmallVector<int64_t>())) {
      if (extent < 0)
        return c.fail("has a negative extent");
      shape.push_back(b.dim(extent));
    }
  }
  if (c.hasAttr("dtype"))
    type = onnxElementType(b.context(), c.intAttr("dtype", 1));
  if (!isa_and_nonnull<FloatType>(type))
    return c.fail("needs a float type");
  return std::pair(shape, type);
}

LogicalResult randomUniform(NodeContext &c, bool like) {
  auto want = wanted(c, like);
  if (failed(want))
    return failure();
  PrimBuilder &b = c.b;
  double low = c.floatAttr("low", 0), high = c.floatAttr("high", 1);
  Value u = uniform(b, randomWords(b, seedOf(c), want->first));
  return c.give(b.cast(b.add(b.mul(u, high - low), low), want->second));
}

LogicalResult randomNormal(NodeContext &c, bool like) {
  auto want = wanted(c, like);
  if (failed(want))
    return failure();
  PrimBuilder &b = c.b;
  Value n = b.mul(normal(b, seedOf(c), want->first), c.floatAttr("scale", 1));
  return c.give(b.cast(b.add(n, c.floatAttr("mean", 0)), want->second));
}

LogicalResult bernoulli(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value p = widen(b, c.in(0));
  Type to =
      c.hasAttr("dtype") ? onnxElementType(b.context(), c.intAttr("dtype", 1)) : b.elem(c.in(0));
  if (!to)
    return c.fail("has an unknown element type");
  Value u = b.cast(uniform(b, randomWords(b, seedOf(c), b.dims(p))), b.elem(p));
  return c.give(b.cast(b.compare(P::lt, u, p), to));
}

/// Draws classes by the inverse of the cumulative distribution.
LogicalResult multinomial(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value logits = c.in(0);
  if (b.rank(logits) != 2)
    return c.fail("needs a batch of class weights");
  int64_t draws = c.intAttr("sample_size", 1);
  Value probabilities = softmaxOver(b, b.cast(logits, b.builder().getF32Type()), 1);
  Value sums = prim::CumulativeOp::create(b.builder(), b.location(), probabilities.getType(),
                                          prim::ReduceKind::sum, probabilities, 1)
                   .getResult();
  Value u = uniform(b, randomWords(b, seedOf(c), {b.dim(logits, 0), b.dim(draws)}));
  Type to = onnxElementType(b.context(), c.intAttr("dtype", 6));
  if (!isa_and_nonnull<IntegerType>(to))
    return c.fail("needs an integer type");
  Value passed = b.compare(P::le, b.unsqueeze(sums, {1}), b.unsqueeze(u, {2}));
  Value index = b.reduce(prim::ReduceKind::sum, b.cast(passed, to), {2}, false);
  Value last =
      b.cast(scalarOf(b, b.subDims(b.dim(logits, 1), b.dim(1)), b.builder().getI64Type()), to);
  return c.give(b.minimum(index, last));
}

/// A condition as a rank-0 tensor.
FailureOr<Value> trainingMode(NodeContext &c) {
  Type boolean = c.b.builder().getI1Type();
  if (c.version() < 7)
    return c.b.scalar(c.intAttr("is_test", 0) ? 0 : 1, boolean);
  if (c.version() < 12 || !c.has(2))
    return c.b.scalar(0, boolean);
  return scalarOperand(c, 2);
}

LogicalResult dropout(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x), boolean = b.builder().getI1Type();
  auto training = trainingMode(c);
  if (failed(training))
    return failure();
  Type maskType = c.version() < 10 ? own : boolean;
  auto constant = b.constantInts(*training);
  if (constant && (*constant)[0] == 0) {
    if (c.numResults() > 1)
      (void)c.give(1, b.full(b.dims(x), 1, maskType));
    return c.give(x);
  }
  Type wide = wideType(own);
  Value ratio = b.scalar(c.floatAttr("ratio", 0.5), wide);
  if (c.version() >= 12 && c.has(1)) {
    auto given = scalarOperand(c, 1);
    if (failed(given))
      return failure();
    ratio = b.cast(*given, wide);
  }
  Value u = b.cast(uniform(b, randomWords(b, seedOf(c), b.dims(x))), wide);
  Value off = b.logicalNot(*training);
  Value keep = b.binary<prim::OrOp>(b.compare(P::ge, u, ratio), off);
  Value one = b.scalar(1, wide), rest = b.sub(one, ratio);
  Value scale =
      b.select(*training, b.div(one, b.select(b.compare(P::gt, rest, 0.0), rest, one)), one);
  Value scaled = b.cast(b.mul(b.cast(x, wide), scale), own);
  if (c.numResults() > 1)
    (void)c.give(1, b.cast(keep, maskType));
  return c.give(b.select(keep, scaled, b.scalar(0, own)));
}

} // namespace

void tcc::populateOnnxRandomRules(RuleSet &rules) {
  rules.add("onnx", "RandomUniform", [](NodeContext &c) { return randomUniform(c, false); });
  rules.add("onnx", "RandomUniformLike", [](NodeContext &c) { return randomUniform(c, true); });
  rules.add("onnx", "RandomNormal", [](NodeContext &c) { return randomNormal(c, false); });
  rules.add("onnx", "RandomNormalLike", [](NodeContext &c) { return randomNormal(c, true); });
  rules.add("onnx", "Bernoulli", bernoulli);
  rules.add("onnx", "Multinomial", multinomial);
  rules.add("onnx", "Dropout", dropout);
}
