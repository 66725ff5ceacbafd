//===- Normalization.cpp - ATen norms -------------------------------------===//
//
// Norms compute mean and variance in f32 or wider and cast once. With given statistics a norm is a
// scale and a shift a channel, computed in f64 where they are constant, because simplify
// multiplies them into the weights of a product before it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Standardize.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

/// x * scale + shift, each along axis 1 and optional.
Value affine(AtenNode &a, Value x, Value scale, Value shift) {
  PrimBuilder &b = a.b;
  if (scale)
    x = b.mul(x, alongAxis(b, a.cast(scale, b.elem(x)), 1, b.rank(x)));
  if (shift)
    x = b.add(x, alongAxis(b, a.cast(shift, b.elem(x)), 1, b.rank(x)));
  return x;
}

LogicalResult checkChannels(AtenNode &a, Value x, std::initializer_list<StringRef> vectors) {
  if (a.b.rank(x) < 2)
    return a.fail("needs a batch and channels");
  for (StringRef name : vectors)
    if (Value v = a.tensor(name))
      if (a.b.rank(v) != 1 || !a.b.broadcastable({a.b.dim(v, 0)}, {a.b.dim(x, 1)}))
        return a.fail("'" + name + "' does not fit the channels");
  return success();
}

SmallVector<int64_t> allButChannels(int64_t rank) {
  SmallVector<int64_t> axes = axesFrom(2, rank);
  axes.insert(axes.begin(), 0);
  return axes;
}

/// With given statistics: x * s + (bias - mean * s), s = weight / sqrt(var + eps), both
/// vectors in f64, which costs nothing where they are constant.
LogicalResult normalizeBy(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  Type f64 = Float64Type::get(b.context());
  Value mean = a.tensor("running_mean"), var = a.tensor("running_var");
  if (!mean || !var)
    return a.fail("needs running statistics");
  Value scale = b.rsqrt(b.add(a.cast(var, f64), a.real("eps", 1e-5)));
  if (Value weight = a.tensor("weight"))
    scale = b.mul(scale, a.cast(weight, f64));
  Value shift = b.neg(b.mul(a.cast(mean, f64), scale));
  if (Value bias = a.tensor("bias"))
    shift = b.add(shift, a.cast(bias, f64));
  (void)a.give(0, affine(a, a.cast(x, a.wide()), scale, shift));
  // Without training there are no saved statistics.
  for (size_t i = 1; i < a.c.numResults(); ++i)
    if (isa<RankedTensorType>(a.c.node.getResult(i).getType()))
      (void)a.give(i, b.full({b.dim(0)}, 0, a.own(i)));
  return success();
}

/// The running statistics `name` moved towards those of now.
Value movedStatistics(AtenNode &a, StringRef name, Value now) {
  PrimBuilder &b = a.b;
  double momentum = a.real("momentum", 0.1);
  return b.add(b.mul(a.cast(a.tensor(name), b.elem(now)), 1 - momentum), b.mul(now, momentum));
}

/// A variance over these axes of x, as that of a sample.
Value unbiased(AtenNode &a, Value variance, Value x, ArrayRef<int64_t> axes) {
  PrimBuilder &b = a.b;
  Dims counted;
  for (int64_t axis : axes)
    counted.push_back(b.dim(x, axis));
  Value count = a.extentTensor(b.productOf(counted), b.elem(variance));
  return b.mul(variance, b.div(count, b.sub(count, 1.0)));
}

/// Results: y, mean, 1 / deviation, where there are six what a GPU's library keeps for the gradient
/// (here nothing), and the new running statistics.
LogicalResult normalizeBatch(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  SmallVector<int64_t> axes = allButChannels(b.rank(x));
  Standardized s = standardize(b, a.cast(x, a.wide()), axes, a.real("eps", 1e-5));
  (void)a.give(0, affine(a, s.value, a.tensor("weight"), a.tensor("bias")));
  Value mean = b.squeeze(s.mean, axes), var = b.squeeze(s.variance, axes);
  (void)a.give(1, mean);
  (void)a.give(2, b.squeeze(s.inverse, axes));
  size_t results = a.c.numResults();
  if (results == 6)
    (void)a.give(3, b.full({b.dim(0)}, 0, a.own(3)));
  if (results < 5 || !a.tensor("running_mean") || !a.tensor("running_var"))
    return success();
  (void)a.give(results - 2, movedStatistics(a, "running_mean", mean));
  return a.give(results - 1, movedStatistics(a, "running_var", unbiased(a, var, x, axes)));
}

template <bool alwaysTrains> LogicalResult batchNorm(AtenNode &a) {
  Value x = a.tensor("input");
  if (failed(checkChannels(a, x, {"weight", "bias", "running_mean", "running_var"})))
    return failure();
  bool training = alwaysTrains || a.flag("training", false) || !a.tensor("running_mean");
  return training ? normalizeBatch(a, x) : normalizeBy(a, x);
}

/// Results: y and, in training, the new running statistics: the mean over the batch of what
/// each instance would make of them.
LogicalResult instanceNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("input");
  if (failed(checkChannels(a, x, {"weight", "bias", "running_mean", "running_var"})))
    return failure();
  if (!a.flag("use_input_stats", true))
    return normalizeBy(a, x);
  SmallVector<int64_t> axes = axesFrom(2, b.rank(x));
  Standardized s = standardize(b, a.cast(x, a.wide()), axes, a.real("eps", 1e-5));
  (void)a.give(0, affine(a, s.value, a.tensor("weight"), a.tensor("bias")));
  if (a.c.numResults() < 3 || !a.tensor("running_mean") || !a.tensor("running_var"))
    return success();
  Value var = unbiased(a, b.squeeze(s.variance, axes), x, axes);
  (void)a.give(1, movedStatistics(a, "running_mean", b.mean(b.squeeze(s.mean, axes), {0}, false)));
  return a.give(2, movedStatistics(a, "running_var", b.mean(var, {0}, false)));
}

/// Weight and bias have the normalized shape, which is that of the last axes.
LogicalResult layerNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.wide());
  auto shape = a.extents("normalized_shape");
  int64_t rank = b.rank(x), first = shape ? rank - int64_t(shape->size()) : -1;
  if (first < 0 || first == rank)
    return a.fail("the normalized shape does not fit the operand");
  Dims tail = b.dims(x);
  tail.erase(tail.begin(), tail.begin() + first);
  Standardized s = standardize(b, x, axesFrom(first, rank), a.real("eps", 1e-5));
  Value y = s.value;
  for (StringRef name : {"weight", "bias"}) {
    Value v = a.tensor(name);
    if (!v)
      continue;
    if (b.rank(v) > rank - first || !b.broadcastable(b.dims(v), tail))
      return a.fail("'" + name + "' does not fit the normalized shape");
    v = a.cast(v, b.elem(y));
    y = name == "weight" ? b.mul(y, v) : b.add(y, v);
  }
  (void)a.give(0, y);
  if (a.c.numResults() > 1)
    (void)a.give(1, s.mean);
  return a.c.numResults() > 2 ? a.give(2, s.inverse) : success();
}

LogicalResult rmsNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.wide());
  auto shape = a.extents("normalized_shape");
  int64_t rank = b.rank(x), first = shape ? rank - int64_t(shape->size()) : -1;
  auto f = dyn_cast<FloatType>(complexmath::realType(a.own()));
  if (first < 0 || first == rank || !f)
    return a.fail("the normalized shape does not fit the operand");
  // That of what is computed in: bf16 and f16 are in f32.
  double machine =
      f.isF64() ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  Value square = b.mean(b.mul(x, x), axesFrom(first, rank), true);
  Value inverse = b.rsqrt(b.add(square, a.real("eps", machine)));
  Value y = b.mul(x, inverse);
  if (Value weight = a.tensor("weight")) {
    if (!b.broadcastable(b.dims(weight), b.dims(x)))
      return a.fail("'weight' does not fit the normalized shape");
    y = b.mul(y, a.cast(weight, b.elem(y)));
  }
  (void)a.give(0, y);
  return a.c.numResults() > 1 ? a.give(1, inverse) : success();
}

LogicalResult groupNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("input");
  bool native = a.has("group");
  int64_t groups = a.integer(native ? "group" : "num_groups", 0), rank = b.rank(x);
  if (groups < 1 || failed(checkChannels(a, x, {"weight", "bias"})))
    return a.fail("needs channels in groups");
  Dims have = b.dims(x);
  if (auto channels = b.known(have[1]); channels && *channels % groups != 0)
    return a.fail("the channels do not split into the groups");
  Dims split = {have[0], b.dim(groups), b.floorDivDims(have[1], b.dim(groups))};
  split.append(have.begin() + 2, have.end());
  SmallVector<int64_t> axes = axesFrom(2, rank + 1);
  Standardized s = standardize(b, a.cast(b.reshape(x, split), a.wide()), axes, a.real("eps", 1e-5));
  (void)a.give(0, affineOfGroups(b, s.value, have, a.tensor("weight"), a.tensor("bias"), a.own()));
  if (a.c.numResults() > 1)
    (void)a.give(1, b.squeeze(s.mean, axes));
  return a.c.numResults() > 2 ? a.give(2, b.squeeze(s.inverse, axes)) : success();
}

/// The norm of each slice along an axis, all others kept as 1.
Value normExcept(AtenNode &a, Value v, int64_t axis) {
  PrimBuilder &b = a.b;
  SmallVector<int64_t> others;
  for (int64_t i = 0; i < b.rank(v); ++i)
    if (i != axis)
      others.push_back(i);
  return b.sqrt(b.reduce(prim::ReduceKind::sum, b.mul(v, v), others, true));
}

/// v g / |v|, the norm over all axes but one (-1: over all).
template <bool norms> LogicalResult weightNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value v = a.cast(a.tensor("v"), a.wide()), g = a.cast(a.tensor("g"), a.wide());
  int64_t axis = a.integer("dim", 0);
  if (axis < -1 || axis >= b.rank(v) || !b.broadcastable(b.dims(g), b.dims(v)))
    return a.fail("the magnitudes do not fit the weight");
  Value norm = normExcept(a, v, axis);
  (void)a.give(0, b.mul(v, b.div(g, norm)));
  return norms ? a.give(1, norm) : success();
}

LogicalResult normExceptDim(AtenNode &a) {
  int64_t axis = a.integer("dim", 0);
  Value v = a.cast(a.tensor("v"), a.wide());
  if (a.integer("pow", 2) != 2 || axis < -1 || axis >= a.b.rank(v))
    return a.fail("needs the power 2 and an axis");
  return a.give(normExcept(a, v, axis));
}

} // namespace

void tcc::populateAtenNormalizationRules(RuleSet &rules) {
  addRules(rules, {{"batch_norm", "default", "input", batchNorm<false>},
                   {"native_batch_norm", "default", "input", batchNorm<false>},
                   {"_native_batch_norm_legit", "default no_stats", "input", batchNorm<false>},
                   {"_native_batch_norm_legit_functional", "default", "input", batchNorm<false>},
                   {"_native_batch_norm_legit_no_training", "default", "input", batchNorm<false>},
                   {"_batch_norm_with_update_functional", "default", "input", batchNorm<true>},
                   {"_batch_norm_no_update", "default", "input", batchNorm<false>},
                   {"cudnn_batch_norm", "default", "input", batchNorm<false>},
                   {"instance_norm", "default", "input", instanceNorm},
                   {"layer_norm", "default", "input", layerNorm},
                   {"native_layer_norm", "default", "input", layerNorm},
                   {"rms_norm", "default", "input", rmsNorm},
                   {"_fused_rms_norm", "default", "input", rmsNorm},
                   {"_weight_norm", "default", "v g", weightNorm<false>},
                   {"_weight_norm_interface", "default", "v g", weightNorm<true>},
                   {"norm_except_dim", "default", "v", normExceptDim},
                   {"group_norm", "default", "input", groupNorm},
                   {"native_group_norm", "default", "input", groupNorm}});
}
