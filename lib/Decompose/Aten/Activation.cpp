//===- Activation.cpp - ATen activations ----------------------------------===//
//
// Each is a composition that fuses, computed in f32 for narrower types and cast once, because
// torch does so. Those with exponentials have the form that does not overflow.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Gelu.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

Value wideSelf(AtenNode &a) { return a.cast(a.tensor("self"), a.wide()); }

LogicalResult relu(AtenNode &a) {
  Value x = a.tensor("self");
  return a.give(a.b.maximum(x, a.b.scalar(0, a.b.elem(x))));
}

/// x within [low, high]; bounds that an integer type lacks bind nothing.
Value within(AtenNode &a, Value x, double low, double high) {
  if (auto t = dyn_cast<IntegerType>(a.b.elem(x)); t && t.getWidth() < 64) {
    double least = t.isUnsigned() ? 0 : -std::ldexp(1.0, t.getWidth() - 1);
    double most = std::ldexp(1.0, t.isUnsigned() ? t.getWidth() : t.getWidth() - 1) - 1;
    low = std::clamp(low, least, most);
    high = std::clamp(high, least, most);
  }
  return a.b.minimum(a.b.maximum(x, a.b.scalar(low, a.b.elem(x))), a.b.scalar(high, a.b.elem(x)));
}

LogicalResult relu6(AtenNode &a) { return a.give(within(a, a.tensor("self"), 0, 6)); }

LogicalResult hardTanh(AtenNode &a) {
  return a.give(within(a, a.tensor("self"), a.real("min_val", -1), a.real("max_val", 1)));
}

/// relu6(x + 3) / 6.
Value hardSigmoidOf(AtenNode &a, Value x) { return a.b.div(within(a, a.b.add(x, 3.0), 0, 6), 6.0); }

LogicalResult hardSigmoid(AtenNode &a) { return a.give(hardSigmoidOf(a, wideSelf(a))); }

LogicalResult hardSwish(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.b.mul(x, hardSigmoidOf(a, x)));
}

LogicalResult silu(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.b.mul(x, a.b.logistic(x)));
}

LogicalResult gelu(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.text("approximate", "none") == "tanh" ? geluTanh(a.b, x) : geluErf(a.b, x));
}

/// positive * x above 0, negative * (e^(input * x) - 1) below.
Value eluOf(AtenNode &a, Value x, double negative, double positive, double input) {
  PrimBuilder &b = a.b;
  Value below = b.mul(b.unary<prim::Expm1Op>(b.mul(x, input)), negative);
  return b.select(b.compare(P::gt, x, 0.0), b.mul(x, positive), below);
}

LogicalResult elu(AtenNode &a) {
  double scale = a.real("scale", 1);
  return a.give(eluOf(a, wideSelf(a), a.real("alpha", 1) * scale, scale, a.real("input_scale", 1)));
}

LogicalResult selu(AtenNode &a) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  return a.give(eluOf(a, wideSelf(a), alpha * scale, scale, 1));
}

LogicalResult celu(AtenNode &a) {
  double alpha = a.real("alpha", 1);
  return a.give(eluOf(a, wideSelf(a), alpha, 1, 1 / alpha));
}

LogicalResult leakyRelu(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(
      a.b.select(a.b.compare(P::gt, x, 0.0), x, a.b.mul(x, a.real("negative_slope", 0.01))));
}

/// rrelu when evaluating: the mean slope.
LogicalResult rrelu(AtenNode &a) {
  if (a.flag("training", false))
    return a.fail("random slopes (training) are not supported");
  Value x = wideSelf(a);
  double slope = (a.real("lower", 0.125) + a.real("upper", 1.0 / 3)) / 2;
  return a.give(a.b.select(a.b.compare(P::ge, x, 0.0), x, a.b.mul(x, slope)));
}

LogicalResult prelu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideSelf(a), weight = a.cast(a.tensor("weight"), a.wide());
  // One slope, or one a channel (axis 1).
  if (b.rank(weight) == 1 && b.known(b.dim(weight, 0)) == 1)
    weight = b.reshape(weight, ArrayRef<int64_t>{});
  else if (b.rank(weight) == 1 && b.rank(x) >= 2)
    weight = alongAxis(b, weight, 1, b.rank(x));
  return a.give(b.select(b.compare(P::gt, x, 0.0), x, b.mul(x, weight)));
}

/// log(1 + e^(beta x)) / beta, x itself above the threshold.
LogicalResult softplus(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideSelf(a);
  double beta = a.real("beta", 1);
  Value z = b.mul(x, beta);
  Value soft = b.div(b.unary<prim::Log1pOp>(b.exp(z)), beta);
  return a.give(b.select(b.compare(P::gt, z, a.real("threshold", 20)), x, soft));
}

/// log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
Value softplusOf(PrimBuilder &b, Value x) {
  return b.add(b.maximum(x, 0.0), b.unary<prim::Log1pOp>(b.exp(b.neg(b.abs(x)))));
}

LogicalResult logSigmoid(AtenNode &a) {
  (void)a.give(a.b.neg(softplusOf(a.b, a.b.neg(wideSelf(a)))));
  // log_sigmoid_forward also gives a buffer for the backward pass.
  return a.c.numResults() > 1 ? a.give(1, a.b.exp(a.b.neg(a.b.abs(wideSelf(a))))) : success();
}

LogicalResult mish(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.b.mul(x, tanhOfSoftplus(a.b, x)));
}

LogicalResult softsign(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.b.div(x, a.b.add(a.b.abs(x), 1.0)));
}

LogicalResult tanhShrink(AtenNode &a) {
  Value x = wideSelf(a);
  return a.give(a.b.sub(x, a.b.tanh(x)));
}

LogicalResult softShrink(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideSelf(a);
  double lambda = a.real("lambd", 0.5);
  Value zero = b.mul(x, 0.0); // NaN stays NaN
  Value low = b.select(b.compare(P::lt, x, -lambda), b.add(x, lambda), zero);
  return a.give(b.select(b.compare(P::gt, x, lambda), b.sub(x, lambda), low));
}

LogicalResult hardShrink(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideSelf(a);
  Value inside = b.compare(P::le, b.abs(x), a.real("lambd", 0.5));
  return a.give(b.select(inside, b.scalar(0, b.elem(x)), x));
}

LogicalResult threshold(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  Value at = a.number("threshold", b.elem(x)), value = a.number("value", b.elem(x));
  if (!at || !value)
    return a.fail("needs a threshold and a value");
  return a.give(b.select(b.compare(P::le, x, at), value, x));
}

/// The first half times the sigmoid of the second.
LogicalResult glu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideSelf(a);
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis) || b.rank(x) == 0)
    return a.fail("needs an axis to split");
  Dim half = b.floorDivDims(b.dim(x, *axis), b.dim(2));
  return a.give(
      b.mul(b.sliceAxis(x, *axis, b.dim(0), half), b.logistic(b.sliceAxis(x, *axis, half, half))));
}

} // namespace

void tcc::populateAtenActivationRules(RuleSet &rules) {
  addRules(rules, {{"relu", "default", "self", relu},
                   {"relu6", "default", "self", relu6},
                   {"hardtanh", "default", "self", hardTanh},
                   {"hardsigmoid", "default", "self", hardSigmoid},
                   {"hardswish", "default", "self", hardSwish},
                   {"silu", "default", "self", silu},
                   {"gelu", "default", "self", gelu},
                   {"elu", "default", "self", elu},
                   {"selu", "default", "self", selu},
                   {"celu", "default", "self", celu},
                   {"leaky_relu", "default", "self", leakyRelu},
                   {"rrelu", "default", "self", rrelu},
                   {"rrelu_with_noise", "default", "self", rrelu},
                   {"rrelu_with_noise_functional", "default", "self", rrelu},
                   {"prelu", "default", "self weight", prelu},
                   {"_prelu_kernel", "default", "self weight", prelu},
                   {"softplus", "default", "self", softplus},
                   {"log_sigmoid", "default", "self", logSigmoid},
                   {"log_sigmoid_forward", "default", "self", logSigmoid},
                   {"mish", "default", "self", mish},
                   {"softsign", "default", "self", softsign},
                   {"tanhshrink", "default", "self", tanhShrink},
                   {"softshrink", "default", "self", softShrink},
                   {"hardshrink", "default", "self", hardShrink},
                   {"threshold", "default", "self", threshold},
                   {"glu", "default", "self", glu}});
}
