//===- BackwardNormalization.cpp - Gradients of ATen norms ----------------===//
//
// With z the standardised operand, r the inverse deviation and g the gradient of
// z, the operand's gradient is r (g - mean g - z mean(g z)), each mean over what
// was standardised together; norms without a mean lack its term.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;

namespace {

using Axes = SmallVector<int64_t>;

Value wideTensor(AtenNode &a, StringRef name) {
  Value v = a.tensor(name);
  return v ? a.cast(v, a.wide()) : v;
}

Value operandGradient(PrimBuilder &b, Value g, Value z, Value inverse, ArrayRef<int64_t> axes,
                      bool centred) {
  Value rest = b.sub(g, b.mul(z, b.mean(b.mul(g, z), axes, true)));
  if (centred)
    rest = b.sub(rest, b.mean(g, axes, true));
  return b.mul(inverse, rest);
}

Axes allButChannels(int64_t rank) {
  Axes axes = axesFrom(2, rank);
  axes.insert(axes.begin(), 0);
  return axes;
}

/// The gradients of a weight and a bias, from g and g z.
void giveAffine(AtenNode &a, size_t first, Value g, Value z, ArrayRef<int64_t> axes) {
  PrimBuilder &b = a.b;
  if (a.c.wants(first))
    (void)a.give(first, b.reduce(K::sum, b.mul(g, z), axes, false));
  if (a.c.wants(first + 1))
    (void)a.give(first + 1, b.reduce(K::sum, g, axes, false));
}

/// `centred`: layer norm; else RMS norm, which has no mean and no bias.
template <bool centred> LogicalResult layerNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = wideTensor(a, "grad_out"), x = wideTensor(a, "input"), r = wideTensor(a, "rstd");
  auto shape = a.extents("normalized_shape");
  int64_t rank = b.rank(x), first = shape ? rank - int64_t(shape->size()) : -1;
  if (first < 0 || first == rank || (centred && !a.tensor("mean")))
    return a.fail("the normalized shape does not fit the operand");
  Value z = b.mul(centred ? b.sub(x, wideTensor(a, "mean")) : x, r);
  Value weight = wideTensor(a, "weight"), scaled = weight ? b.mul(g, weight) : g;
  (void)a.give(0, operandGradient(b, scaled, z, r, axesFrom(first, rank), centred));
  Axes outer;
  for (int64_t i = 0; i < first; ++i)
    outer.push_back(i);
  giveAffine(a, 1, g, z, outer);
  return success();
}

LogicalResult groupNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = wideTensor(a, "grad_out"), x = wideTensor(a, "input");
  Value mean = wideTensor(a, "mean"), inverse = wideTensor(a, "rstd");
  int64_t groups = a.integer("group", 0), rank = b.rank(x);
  if (groups < 1 || rank < 2 || b.rank(mean) != 2 || b.rank(inverse) != 2)
    return a.fail("needs channels in groups");
  Dims have = b.dims(x), split = {have[0], b.dim(groups), b.floorDivDims(have[1], b.dim(groups))};
  split.append(have.begin() + 2, have.end());
  Axes axes = axesFrom(2, rank + 1);
  Value r = b.unsqueeze(inverse, axes);
  Value z = b.mul(b.sub(b.reshape(x, split), b.unsqueeze(mean, axes)), r);
  // In groups from the beginning: a channel's place in a row would be told from that of its point.
  Value scaled = b.reshape(g, split);
  if (Value weight = wideTensor(a, "weight")) {
    Dims channels(split.size(), b.dim(1));
    std::copy_n(split.begin() + 1, 2, channels.begin() + 1);
    scaled = b.mul(scaled, b.reshape(weight, channels));
  }
  (void)a.give(0, b.reshape(operandGradient(b, scaled, z, r, axes, true), have));
  giveAffine(a, 1, g, b.reshape(z, have), allButChannels(rank));
  return success();
}

LogicalResult batchNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value g = wideTensor(a, "grad_out"), x = wideTensor(a, "input");
  bool training = a.flag("train", a.flag("update", true));
  Value mean = wideTensor(a, training ? "save_mean" : "running_mean"), inverse;
  if (training)
    inverse = wideTensor(a, a.c.hasAttr("save_invstd") ? "save_invstd" : "save_var");
  else if (Value var = wideTensor(a, "running_var"))
    inverse = b.rsqrt(b.add(var, a.real("eps", 1e-5)));
  int64_t rank = b.rank(x);
  if (!mean || !inverse || rank < 2)
    return a.fail("needs the statistics of its batch");
  // A channel's factors leave the sums and the means, which both have in common then. The operand
  // less its mean is another value in each, so that nothing as large is stored for both.
  Axes axes = allButChannels(rank);
  auto along = [&](Value channels) { return alongAxis(b, channels, 1, rank); };
  Value product = b.mul(g, b.sub(x, along(mean))), rest = g;
  if (training) {
    Value factor = b.mul(b.mul(inverse, inverse), b.mean(product, axes, false));
    rest = b.add(rest, b.mul(b.sub(along(mean), x), along(factor)));
    rest = b.sub(rest, along(b.mean(g, axes, false)));
  }
  Value weight = wideTensor(a, "weight");
  (void)a.give(0, b.mul(rest, along(weight ? b.mul(inverse, weight) : inverse)));
  if (a.c.wants(1))
    (void)a.give(1, b.mul(inverse, b.reduce(K::sum, product, axes, false)));
  return a.c.wants(2) ? a.give(2, b.reduce(K::sum, g, axes, false)) : success();
}

} // namespace

void tcc::populateAtenBackwardNormalizationRules(RuleSet &rules) {
  addRules(rules,
           {{"native_layer_norm_backward", "default", "grad_out input rstd", layerNorm<true>},
            {"_fused_rms_norm_backward", "default", "grad_out input rstd", layerNorm<false>},
            {"native_group_norm_backward", "default", "grad_out input mean rstd", groupNorm},
            {"native_batch_norm_backward", "default", "grad_out input", batchNorm},
            {"batch_norm_backward", "default", "grad_out input", batchNorm}});
}
