//===- Activation.cpp - Activation functions ------------------------------===//
//
// Each is a short pointwise chain. 16-bit floats compute it in f32 and round
// once at the end.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Gelu.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// Runs `body` on operand 0 in the wide type.
LogicalResult pointwise(NodeContext &c, llvm::function_ref<Value(PrimBuilder &, Value)> body) {
  Value x = c.in(0);
  return c.give(c.b.cast(body(c.b, widen(c.b, x)), c.b.elem(x)));
}

Value positive(PrimBuilder &b, Value x) { return b.compare(P::gt, x, 0.0); }

Value zeroLike(PrimBuilder &b, Value x) { return b.scalar(0, b.elem(x)); }

Value clamp(PrimBuilder &b, Value x, double low, double high) {
  return b.minimum(b.maximum(x, low), high);
}

/// log(1 + e^x) = max(x, 0) + log1p(e^-|x|), which never overflows.
Value softplus(PrimBuilder &b, Value x) {
  Value tail = b.unary<prim::Log1pOp>(b.exp(b.neg(b.abs(x))));
  return b.add(b.maximum(x, 0.0), tail);
}

LogicalResult relu(NodeContext &c) { return c.give(c.b.maximum(c.in(0), 0.0)); }

LogicalResult sigmoid(NodeContext &c) { return c.give(c.b.logistic(c.in(0))); }

LogicalResult tanhRule(NodeContext &c) { return c.give(c.b.tanh(c.in(0))); }

LogicalResult leakyRelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.01);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    return b.select(b.compare(P::lt, x, 0.0), b.mul(x, alpha), x);
  });
}

LogicalResult elu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    return b.select(positive(b, x), x, b.mul(b.unary<prim::Expm1Op>(x), alpha));
  });
}

LogicalResult selu(NodeContext &c) {
  bool old = c.version() < 6;
  double alpha = c.floatAttr("alpha", old ? 1.6732 : 1.67326319217681884765625);
  double gamma = c.floatAttr("gamma", old ? 1.0507 : 1.05070102214813232421875);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    Value negative = b.mul(b.unary<prim::Expm1Op>(x), alpha);
    return b.mul(b.select(positive(b, x), x, negative), gamma);
  });
}

LogicalResult celu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    Value negative = b.mul(b.unary<prim::Expm1Op>(b.div(x, alpha)), alpha);
    return b.add(b.maximum(x, 0.0), b.minimum(negative, 0.0));
  });
}

LogicalResult hardSigmoid(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.2), beta = c.floatAttr("beta", 0.5);
  return pointwise(
      c, [&](PrimBuilder &b, Value x) { return clamp(b, b.add(b.mul(x, alpha), beta), 0, 1); });
}

LogicalResult hardSwish(NodeContext &c) {
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    return b.mul(x, clamp(b, b.add(b.mul(x, 1.0 / 6), 0.5), 0, 1));
  });
}

LogicalResult mish(NodeContext &c) {
  return pointwise(c, [](PrimBuilder &b, Value x) { return b.mul(x, tanhOfSoftplus(b, x)); });
}

LogicalResult softplusRule(NodeContext &c) { return pointwise(c, softplus); }

LogicalResult softsign(NodeContext &c) {
  return pointwise(c, [](PrimBuilder &b, Value x) { return b.div(x, b.add(b.abs(x), 1.0)); });
}

LogicalResult swish(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    return b.mul(x, b.logistic(alpha == 1 ? x : b.mul(x, alpha)));
  });
}

LogicalResult thresholdedRelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    return b.select(b.compare(P::gt, x, alpha), x, zeroLike(b, x));
  });
}

LogicalResult shrink(NodeContext &c) {
  double bias = c.floatAttr("bias", 0), lambda = c.floatAttr("lambd", 0.5);
  return pointwise(c, [&](PrimBuilder &b, Value x) {
    if (isa<IntegerType>(b.elem(x))) {
      Value wide = b.cast(x, b.builder().getF32Type());
      Value high = b.select(b.compare(P::gt, wide, lambda), b.sub(wide, bias), zeroLike(b, wide));
      return b.cast(b.select(b.compare(P::lt, wide, -lambda), b.add(wide, bias), high), b.elem(x));
    }
    Value high = b.select(b.compare(P::gt, x, lambda), b.sub(x, bias), zeroLike(b, x));
    return b.select(b.compare(P::lt, x, -lambda), b.add(x, bias), high);
  });
}

LogicalResult preluRule(NodeContext &c) {
  Value x = c.in(0), slope = c.in(1);
  // Before opset 7 a vector of slopes belonged to axis 1.
  if (c.version() < 7 && c.b.rank(slope) == 1 && c.b.rank(x) > 1)
    slope = alongAxis(c.b, slope, 1, c.b.rank(x));
  return c.give(c.b.select(c.b.compare(P::lt, x, 0.0), c.b.mul(x, slope), x));
}

LogicalResult clip(NodeContext &c) {
  Value x = c.in(0);
  if (c.version() < 11) {
    if (c.hasAttr("min"))
      x = c.b.maximum(x, c.floatAttr("min", 0));
    if (c.hasAttr("max"))
      x = c.b.minimum(x, c.floatAttr("max", 0));
    return c.give(x);
  }
  for (size_t i : {1, 2}) {
    if (!c.has(i))
      continue;
    auto bound = scalarOperand(c, i);
    if (failed(bound))
      return failure();
    x = i == 1 ? c.b.maximum(x, *bound) : c.b.minimum(x, *bound);
  }
  return c.give(x);
}

LogicalResult geluRule(NodeContext &c) {
  bool approximate = c.stringAttr("approximate", "none") == "tanh";
  return pointwise(
      c, [&](PrimBuilder &b, Value x) { return approximate ? geluTanh(b, x) : geluErf(b, x); });
}

} // namespace

void tcc::populateOnnxActivationRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Relu", relu},
      {"Sigmoid", sigmoid},
      {"Tanh", tanhRule},
      {"LeakyRelu", leakyRelu},
      {"Elu", elu},
      {"Selu", selu},
      {"Celu", celu},
      {"HardSigmoid", hardSigmoid},
      {"HardSwish", hardSwish},
      {"Mish", mish},
      {"Softplus", softplusRule},
      {"Softsign", softsign},
      {"Swish", swish},
      {"ThresholdedRelu", thresholdedRelu},
      {"Shrink", shrink},
      {"PRelu", preluRule},
      {"Clip", clip},
      {"Gelu", geluRule}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
