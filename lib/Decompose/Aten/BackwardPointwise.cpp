//===- BackwardPointwise.cpp - Gradients of ATen activations and losses ---===//
//
// What autograd leaves in an exported training graph: g times the derivative, in
// the wide type. Losses divide by the number of elements first where they are
// means.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Gelu.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

Value wideTensor(AtenNode &a, StringRef name) { return a.cast(a.tensor(name), a.wide()); }
Value gradient(AtenNode &a) {
  return wideTensor(a, a.c.hasAttr("grad_output") ? "grad_output" : "grad_out");
}
Value zero(PrimBuilder &b, Value like) { return b.scalar(0, b.elem(like)); }
Value logicalAnd(PrimBuilder &b, Value x, Value y) { return b.binary<prim::AndOp>(x, y); }

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// g where `passes`, else 0.
LogicalResult giveWhere(AtenNode &a, Value passes) {
  Value g = gradient(a);
  return a.give(a.b.select(passes, g, zero(a.b, g)));
}

LogicalResult threshold(AtenNode &a) {
  Value x = a.tensor("self");
  return giveWhere(a, a.b.compare(P::gt, x, a.number("threshold", a.b.elem(x))));
}

LogicalResult hardTanh(AtenNode &a) {
  Value x = wideTensor(a, "self");
  return giveWhere(a, logicalAnd(a.b, a.b.compare(P::gt, x, a.real("min_val", -1)),
                                 a.b.compare(P::lt, x, a.real("max_val", 1))));
}

LogicalResult shrink(AtenNode &a) {
  return giveWhere(a, a.b.compare(P::gt, a.b.abs(wideTensor(a, "self")), a.real("lambd", 0.5)));
}

/// (1 - y) y g, (1 - y^2) g of the results, conjugate where they are complex.
LogicalResult sigmoid(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value y = a.conjugate(wideTensor(a, "output"));
  return a.give(b.mul(b.mul(gradient(a), b.sub(b.scalar(1, b.elem(y)), y)), y));
}
LogicalResult tanhSlope(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value y = a.conjugate(wideTensor(a, "output"));
  return a.give(b.mul(gradient(a), b.sub(b.scalar(1, b.elem(y)), b.mul(y, y))));
}

LogicalResult gelu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self");
  if (a.text("approximate", "none") == "none") {
    Value cdf = b.mul(b.add(b.unary<prim::ErfOp>(b.mul(x, std::numbers::sqrt2 / 2)), 1.0), 0.5);
    Value pdf =
        b.mul(b.exp(b.mul(b.mul(x, x), -0.5)), std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
    return a.give(b.mul(gradient(a), b.add(cdf, b.mul(x, pdf))));
  }
  double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kappa = 0.044715; // sqrt(2 / pi)
  Value square = b.mul(x, x), inner = b.mul(b.mul(b.add(b.mul(square, kappa), 1.0), x), beta);
  Value t = b.tanh(inner), one = b.scalar(1, b.elem(x));
  Value slope = b.mul(b.add(b.mul(square, 3 * kappa), 1.0), beta);
  Value left = b.mul(b.add(t, 1.0), 0.5);
  Value right = b.mul(b.mul(b.mul(x, b.sub(one, b.mul(t, t))), slope), 0.5);
  return a.give(b.mul(gradient(a), b.add(left, right)));
}

LogicalResult silu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), s = b.logistic(x), one = b.scalar(1, b.elem(x));
  return a.give(b.mul(gradient(a), b.mul(s, b.add(b.mul(x, b.sub(one, s)), 1.0))));
}

LogicalResult mish(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), t = tanhOfSoftplus(b, x), one = b.scalar(1, b.elem(x));
  Value slope = b.mul(b.mul(x, b.logistic(x)), b.sub(one, b.mul(t, t)));
  return a.give(b.mul(gradient(a), b.add(t, slope)));
}

LogicalResult hardSwish(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), g = gradient(a);
  Value middle = b.mul(g, b.add(b.div(x, 3.0), 0.5));
  Value upper = b.select(b.compare(P::le, x, 3.0), middle, g);
  return a.give(b.select(b.compare(P::lt, x, -3.0), zero(b, g), upper));
}

LogicalResult hardSigmoid(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), g = gradient(a);
  Value inside = logicalAnd(b, b.compare(P::gt, x, -3.0), b.compare(P::lt, x, 3.0));
  return a.give(b.select(inside, b.div(g, 6.0), zero(b, g)));
}

LogicalResult leakyRelu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = gradient(a);
  Value low = b.mul(g, a.number("negative_slope", 0.01, b.elem(g)));
  return a.give(b.select(b.compare(P::gt, wideTensor(a, "self"), 0.0), g, low));
}

/// The slopes that were drawn are the noise; without noise all are their mean.
LogicalResult randomRelu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = gradient(a);
  double lower = a.real("lower", 0.125), upper = a.real("upper", 1.0 / 3);
  if (a.flag("training", false) && upper - lower > 1e-6)
    return a.give(b.mul(g, wideTensor(a, "noise")));
  Value low = b.mul(g, (lower + upper) / 2);
  return a.give(b.select(b.compare(P::gt, wideTensor(a, "self"), 0.0), g, low));
}

/// g / (x (1 - x)), 0 where `eps` held x; without it NaN outside of [0, 1].
LogicalResult logit(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), one = b.scalar(1, b.elem(x));
  double eps = a.real("eps", 0), outside = a.has("eps") ? 0 : NAN;
  Value low = b.compare(P::ge, x, eps), high = b.compare(P::le, x, 1 - eps);
  Value slope = b.div(gradient(a), b.mul(x, b.sub(one, x)));
  return a.give(b.select(logicalAnd(b, low, high), slope, b.scalar(outside, b.elem(x))));
}

LogicalResult elu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self_or_result"), g = gradient(a);
  double alpha = a.real("alpha", 1), scale = a.real("scale", 1), input = a.real("input_scale", 1);
  Value grown = a.flag("is_result", false) ? b.mul(b.add(x, alpha * scale), input)
                                           : b.mul(b.exp(b.mul(x, input)), input * alpha * scale);
  return a.give(b.select(b.compare(P::le, x, 0.0), b.mul(g, grown), b.mul(g, scale)));
}

LogicalResult softplus(AtenNode &a) {
  PrimBuilder &b = a.b;
  double beta = a.real("beta", 1);
  Value g = gradient(a), x = b.mul(wideTensor(a, "self"), beta);
  Value linear = b.compare(P::gt, x, a.real("threshold", 20));
  return a.give(b.select(linear, g, b.mul(g, b.logistic(x))));
}

LogicalResult logSigmoid(AtenNode &a) {
  PrimBuilder &b = a.b;
  return a.give(b.mul(gradient(a), b.logistic(b.neg(wideTensor(a, "self")))));
}

/// Of x s(y): s(y) and x s(y) (1 - s(y)), along the split axis.
LogicalResult glu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value both = wideTensor(a, "self"), g = gradient(a);
  auto axis = a.axis("dim", -1, b.rank(both));
  if (failed(axis) || b.rank(both) == 0)
    return a.fail("needs an axis");
  Dim half = b.floorDivDims(b.dim(both, *axis), b.dim(2));
  Value x = b.sliceAxis(both, *axis, b.dim(0), half);
  Value s = b.logistic(b.sliceAxis(both, *axis, half, half));
  Value first = b.mul(g, s);
  Value second = b.mul(b.mul(first, b.sub(b.scalar(1, b.elem(s)), s)), x);
  return a.give(b.concat({first, second}, *axis));
}

LogicalResult dropout(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = gradient(a);
  return a.give(b.mul(b.mul(g, b.cast(a.tensor("mask"), b.elem(g))), a.real("scale", 1)));
}

/// Gradients of the operand and, not yet added up, of the slope.
LogicalResult prelu(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), g = gradient(a), w = wideTensor(a, "weight");
  Value above = b.compare(P::gt, x, 0.0);
  (void)a.give(0, b.select(above, g, b.mul(g, w)));
  return a.give(1, b.select(above, zero(b, g), b.mul(g, x)));
}

template <bool log> LogicalResult softmax(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = gradient(a), y = wideTensor(a, "output");
  auto axis = a.axis("dim", -1, b.rank(y));
  if (failed(axis))
    return failure();
  auto total = [&](Value v) { return b.rank(v) == 0 ? v : b.reduce(K::sum, v, {*axis}, true); };
  if (log)
    return a.give(b.sub(g, b.mul(b.exp(y), total(g))));
  Value weighed = b.mul(g, y);
  return a.give(b.sub(weighed, b.mul(y, total(weighed))));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

/// g times the slope of one element's loss.
LogicalResult giveSlope(AtenNode &a, Value slope) {
  PrimBuilder &b = a.b;
  Value g = b.mul(gradient(a), slope);
  if (a.integer("reduction", kMean) == kMean)
    g = b.div(g, a.extentTensor(b.productOf(b.dims(slope)), b.elem(g)));
  return a.give(g);
}

LogicalResult squaredLoss(AtenNode &a) {
  return giveSlope(a, a.b.mul(a.b.sub(wideTensor(a, "self"), wideTensor(a, "target")), 2.0));
}

/// The distance cut to `knee` on both sides, divided.
LogicalResult roundedLoss(AtenNode &a, double knee, double divisor) {
  PrimBuilder &b = a.b;
  Value d = b.sub(wideTensor(a, "self"), wideTensor(a, "target"));
  if (knee == 0)
    return giveSlope(a, b.unary<prim::SignOp>(d));
  return giveSlope(a, b.div(b.minimum(b.maximum(d, -knee), knee), divisor));
}
LogicalResult smoothLoss(AtenNode &a) {
  double beta = a.real("beta", 1);
  return roundedLoss(a, beta, beta);
}
LogicalResult huberLoss(AtenNode &a) { return roundedLoss(a, a.real("delta", 1), 1); }

LogicalResult softMarginLoss(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value t = wideTensor(a, "target");
  return giveSlope(a, b.mul(b.neg(t), b.logistic(b.neg(b.mul(t, wideTensor(a, "self"))))));
}

LogicalResult crossEntropy(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = wideTensor(a, "self"), t = wideTensor(a, "target"), one = b.scalar(1, b.elem(x));
  Value slope = b.div(b.sub(x, t), b.maximum(b.mul(b.sub(one, x), x), 1e-12));
  if (a.tensor("weight"))
    slope = b.mul(slope, wideTensor(a, "weight"));
  return giveSlope(a, slope);
}

/// -g (over the sum of weights) at each target's class.
LogicalResult classLoss(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), target = a.tensor("target"), g = gradient(a);
  int64_t axis = b.rank(x) == 1 ? 0 : 1;
  if (b.rank(x) < 1 || b.rank(target) != b.rank(x) - 1)
    return a.fail("the targets do not fit the operand");
  Type i64 = b.builder().getI64Type();
  if (a.integer("reduction", kMean) == kMean)
    g = b.div(g, wideTensor(a, "total_weight"));
  Value classes = b.unsqueeze(b.cast(target, i64), {axis});
  Value here = alongAxis(b, b.iota({b.dim(x, axis)}, 0, i64), axis, b.rank(x));
  Value counts = b.compare(P::ne, classes, static_cast<double>(a.integer("ignore_index", -100)));
  Value hit = logicalAnd(b, b.compare(P::eq, classes, here), counts);
  Value slope = b.neg(b.rank(g) == 0 ? g : b.unsqueeze(g, {axis}));
  if (a.tensor("weight"))
    slope = b.mul(slope, alongAxis(b, wideTensor(a, "weight"), axis, b.rank(x)));
  return a.give(b.broadcastTo(b.select(hit, slope, zero(b, slope)), b.dims(x)));
}

} // namespace

void tcc::populateAtenBackwardPointwiseRules(RuleSet &rules) {
  addRules(rules,
           {{"threshold_backward", "default", "grad_output self", threshold},
            {"hardtanh_backward", "default", "grad_output self", hardTanh},
            {"hardshrink_backward", "default", "grad_out self", shrink},
            {"softshrink_backward", "default", "grad_output self", shrink},
            {"sigmoid_backward", "default", "grad_output output", sigmoid},
            {"tanh_backward", "default", "grad_output output", tanhSlope},
            {"gelu_backward", "default", "grad_output self", gelu},
            {"silu_backward", "default", "grad_output self", silu},
            {"mish_backward", "default", "grad_output self", mish},
            {"hardswish_backward", "default", "grad_output self", hardSwish},
            {"hardsigmoid_backward", "default", "grad_output self", hardSigmoid},
            {"leaky_relu_backward", "default", "grad_output self", leakyRelu},
            {"rrelu_with_noise_backward", "default", "grad_output self noise", randomRelu},
            {"logit_backward", "default", "grad_output self", logit},
            {"elu_backward", "default", "grad_output self_or_result", elu},
            {"softplus_backward", "default", "grad_output self", softplus},
            {"log_sigmoid_backward", "default", "grad_output self", logSigmoid},
            {"glu_backward", "default", "grad_output self", glu},
            {"native_dropout_backward", "default", "grad_output mask", dropout},
            {"_prelu_kernel_backward", "default", "grad_output self weight", prelu},
            {"_softmax_backward_data", "default", "grad_output output", softmax<false>},
            {"_log_softmax_backward_data", "default", "grad_output output", softmax<true>},
            {"mse_loss_backward", "default", "grad_output self target", squaredLoss},
            {"smooth_l1_loss_backward", "default", "grad_output self target", smoothLoss},
            {"huber_loss_backward", "default", "grad_output self target", huberLoss},
            {"soft_margin_loss_backward", "default", "grad_output self target", softMarginLoss},
            {"binary_cross_entropy_backward", "default", "grad_output self target", crossEntropy},
            {"nll_loss_backward", "default", "grad_output self target total_weight", classLoss},
            {"nll_loss2d_backward", "default", "grad_output self target total_weight", classLoss}});
}
