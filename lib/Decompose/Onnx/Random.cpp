//===- Random.cpp - Random tensors and Dropout ------------------------------===//
//
// A node without `seed` draws from the context's generator. With one, "seed to the
// random generator", it has a generator of its own, which in ONNX Runtime lives as
// long as the session: from the seed on, the numbers go on from run to run and from
// turn to turn. So they do here; a new context, or a new seed of it, starts anew.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/RandomNumbers.h"
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Onnx/Operands.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// A seed of an integer attribute is that integer, one of a float attribute its bits.
RandomNumbers numbersOf(NodeContext &c) {
  if (!c.hasAttr("seed"))
    return RandomNumbers(c.b);
  auto integer = dyn_cast_or_null<IntegerAttr>(c.attr("seed"));
  int64_t seed = integer ? integer.getInt()
                         : llvm::bit_cast<uint32_t>(static_cast<float>(c.floatAttr("seed", 0)));
  return RandomNumbers(c.b, seed, c.node);
}

/// The type to draw in: that of the result if it has random numbers of its own.
FloatType drawnType(PrimBuilder &b, Type result) {
  auto type = cast<FloatType>(result);
  return type.getWidth() < 16 ? b.builder().getF32Type() : type;
}

/// That in which several steps are computed.
FloatType wideFloat(PrimBuilder &b, Type result) {
  return result.isF64() ? cast<FloatType>(b.builder().getF64Type()) : b.builder().getF32Type();
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
  auto [shape, type] = *want;
  double low = c.floatAttr("low", 0), high = c.floatAttr("high", 1);
  if (!(low <= high))
    return c.fail("'low' is above 'high'");
  Value u = b.cast(numbersOf(c).uniform(shape, drawnType(b, type)), wideFloat(b, type));
  return c.give(b.cast(b.add(b.mul(u, high - low), low), type));
}

LogicalResult randomNormal(NodeContext &c, bool like) {
  auto want = wanted(c, like);
  if (failed(want))
    return failure();
  PrimBuilder &b = c.b;
  auto [shape, type] = *want;
  Value n = b.mul(numbersOf(c).normal(shape, wideFloat(b, type)), c.floatAttr("scale", 1));
  return c.give(b.cast(b.add(n, c.floatAttr("mean", 0)), type));
}

LogicalResult bernoulli(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value p = widen(b, c.in(0));
  Type to =
      c.hasAttr("dtype") ? onnxElementType(b.context(), c.intAttr("dtype", 1)) : b.elem(c.in(0));
  if (!to)
    return c.fail("has an unknown element type");
  if (!isa<FloatType>(b.elem(p)))
    return c.fail("needs probabilities of a float type");
  Value u = numbersOf(c).uniform(b.dims(p), cast<FloatType>(b.elem(p)));
  return c.give(b.cast(b.compare(P::lt, u, p), to));
}

LogicalResult multinomial(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value logits = c.in(0);
  if (b.rank(logits) != 2)
    return c.fail("needs a batch of class weights");
  Type to = onnxElementType(b.context(), c.intAttr("dtype", 6));
  if (!isa_and_nonnull<IntegerType>(to))
    return c.fail("needs an integer type");
  int64_t draws = c.intAttr("sample_size", 1);
  if (draws < 1)
    return c.fail("draws fewer than one class");
  Value probabilities = softmaxOver(b, b.cast(logits, b.builder().getF32Type()), 1);
  return c.give(b.cast(numbersOf(c).classes(probabilities, b.dim(draws)), to));
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
  FloatType wide = wideFloat(b, own);
  Value ratio = b.scalar(c.floatAttr("ratio", 0.5), wide);
  if (c.version() >= 12 && c.has(1)) {
    auto given = scalarOperand(c, 1);
    if (failed(given))
      return failure();
    auto known = b.constantFloats(*given);
    if (known && !(known->front() >= 0 && known->front() <= 1))
      return c.fail("the share that it drops is not from 0 to 1");
    ratio = b.cast(*given, wide);
  }
  Value u = numbersOf(c).uniform(b.dims(x), wide);
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
