//===- Normalization.cpp - Mean and variance, norms -----------------------===//
//
// All statistics are taken in f32 (or f64) and in two passes: the variance is
// the mean of the squared distance from the mean.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Standardize.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;

namespace {

/// scale * x + shift with vectors along axis 1.
Value affine(PrimBuilder &b, Value x, Value scale, Value shift) {
  int64_t rank = b.rank(x);
  Value y = b.mul(x, alongAxis(b, b.cast(scale, b.elem(x)), 1, rank));
  return b.add(y, alongAxis(b, b.cast(shift, b.elem(x)), 1, rank));
}

/// With known statistics: x * s + (bias - mean * s), s = scale / sqrt(var + eps). The
/// two vectors are computed in f64, which costs nothing where they are constant.
Value normalizeBy(PrimBuilder &b, Value x, Value scale, Value bias, Value mean, Value var,
                  double epsilon) {
  Type wide = wideType(b.elem(x)), f64 = Float64Type::get(b.context());
  Value s = b.div(b.cast(scale, f64), b.sqrt(b.add(b.cast(var, f64), epsilon)));
  Value shift = b.sub(b.cast(bias, f64), b.mul(b.cast(mean, f64), s));
  return b.cast(affine(b, b.cast(x, wide), s, shift), b.elem(x));
}

LogicalResult batchNormalization(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  double epsilon = c.floatAttr("epsilon", 1e-5);
  double momentum = c.floatAttr("momentum", 0.9);
  if (b.rank(x) < 1)
    return c.fail("needs a batch");
  // Before opset 9 each position could be a channel of its own.
  bool perElement = c.version() < 9 && !c.intAttr("spatial", 1) && b.rank(c.in(1)) > 1;
  if (perElement) {
    Dims have = b.dims(x);
    for (size_t i : {1, 2, 3, 4})
      if (b.rank(c.in(i)) != b.rank(x) - 1)
        return c.fail("needs statistics of the shape of an element of the batch");
    x = b.reshape(x, {have[0], b.productOf(ArrayRef(have).drop_front())});
  }
  auto vector = [&](size_t i) { return perElement ? b.reshape(c.in(i), {b.dim(x, 1)}) : c.in(i); };
  if (b.rank(x) == 1) // a batch of scalars: one channel
    x = b.unsqueeze(x, {1});
  bool training = c.version() >= 14  ? c.intAttr("training_mode", 0)
                  : c.version() >= 7 ? c.numResults() > 1
                                     : !c.intAttr("is_test", 0);
  auto shaped = [&](Value y) { return b.reshape(y, b.dims(c.in(0))); };
  if (!training)
    return c.give(shaped(normalizeBy(b, x, vector(1), vector(2), vector(3), vector(4), epsilon)));
  SmallVector<int64_t> axes = axesFrom(2, b.rank(x));
  axes.insert(axes.begin(), 0);
  Standardized s = standardize(b, widen(b, x), axes, epsilon);
  (void)c.give(0, shaped(b.cast(affine(b, s.value, vector(1), vector(2)), b.elem(x))));
  Value statistics[] = {b.squeeze(s.mean, axes), b.squeeze(s.variance, axes)};
  for (size_t i : {0, 1}) {
    Value old = c.in(3 + i);
    Value now = b.cast(b.reshape(statistics[i], b.dims(old)), b.elem(old));
    Value moved = b.add(b.mul(old, momentum), b.mul(now, 1 - momentum));
    if (c.numResults() > 1 + i)
      (void)c.give(1 + i, moved);
    if (c.numResults() > 3 + i) // until opset 13: the batch's own
      (void)c.give(3 + i, now);
  }
  return success();
}

LogicalResult instanceNormalization(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  if (b.rank(x) < 3)
    return c.fail("needs spatial axes");
  Standardized s =
      standardize(b, widen(b, x), axesFrom(2, b.rank(x)), c.floatAttr("epsilon", 1e-5));
  return c.give(b.cast(affine(b, s.value, c.in(1), c.in(2)), b.elem(x)));
}

LogicalResult layerNormalization(NodeContext &c) {
  auto axis = axisAttr(c, -1);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x);
  Standardized s =
      standardize(b, widen(b, x), axesFrom(*axis, b.rank(x)), c.floatAttr("epsilon", 1e-5));
  Value y = b.mul(s.value, widen(b, c.in(1)));
  if (c.has(2))
    y = b.add(y, widen(b, c.in(2)));
  (void)c.give(0, b.cast(y, own));
  Value extra[] = {s.mean, s.inverse};
  Type stash = onnxElementType(b.context(), c.intAttr("stash_type", 1));
  for (size_t i = 1; i < std::min<size_t>(3, c.numResults()); ++i)
    (void)c.give(i, b.cast(extra[i - 1], stash ? stash : own));
  return success();
}

LogicalResult rmsNormalization(NodeContext &c) {
  auto axis = axisAttr(c, -1);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  Value y = scaleByRms(b, x, axesFrom(*axis, b.rank(x)), c.floatAttr("epsilon", 1e-5)).value;
  return c.give(b.cast(b.mul(y, widen(b, c.in(1))), b.elem(c.in(0))));
}

/// Channels in groups; scale and bias are per channel since opset 21, per group before.
LogicalResult groupNormalization(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t groups = c.intAttr("num_groups", 0), rank = b.rank(x);
  if (groups < 1 || rank < 2)
    return c.fail("needs groups and channels");
  Dims have = b.dims(x);
  Dims split = {have[0], b.dim(groups),
                wholeQuotient(b, have[1], b.dim(groups), "channels in groups")};
  split.append(have.begin() + 2, have.end());
  Value grouped = widen(b, b.reshape(x, split));
  Standardized s = standardize(b, grouped, axesFrom(2, rank + 1), c.floatAttr("epsilon", 1e-5));
  bool perGroup = c.version() < 21;
  Value y = perGroup ? b.reshape(affine(b, s.value, c.in(1), c.in(2)), have)
                     : affineOfGroups(b, s.value, have, c.in(1), c.in(2), b.elem(x));
  return c.give(b.cast(y, b.elem(x)));
}

/// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta.
LogicalResult lrn(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  int64_t size = c.intAttr("size", 1), rank = b.rank(x);
  constexpr int64_t kMost = int64_t(1) << 30;
  if (rank < 2 || size < 1 || size > kMost)
    return c.fail("needs channels and a size from 1 to " + llvm::Twine(kMost));
  // A sum pool along the channels of [N, 1, C, rest].
  Dims have = b.dims(x);
  Dim rest = b.productOf(ArrayRef(have).drop_front(2));
  Value square = b.reshape(b.mul(x, x), {have[0], b.dim(1), have[1], rest});
  PrimBuilder::Window w;
  w.window = {size, 1};
  w.strides = w.dilations = w.inputDilation = {1, 1};
  w.low = {(size - 1) / 2, 0};
  w.high = {size - 1 - (size - 1) / 2, 0};
  Value sum = b.reshape(b.pool(K::sum, square, w, false), have);
  Value scaled = b.add(b.mul(sum, c.floatAttr("alpha", 1e-4) / static_cast<double>(size)),
                       c.floatAttr("bias", 1));
  return c.give(b.cast(b.div(x, b.pow(scaled, c.floatAttr("beta", 0.75))), b.elem(c.in(0))));
}

LogicalResult lpNormalization(NodeContext &c) {
  auto axis = axisAttr(c, -1);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  bool one = c.intAttr("p", 2) == 1;
  Value norm = b.reduce(K::sum, one ? b.abs(x) : b.mul(x, x), *axis, true);
  norm = one ? norm : b.sqrt(norm);
  Value zero = b.scalar(0, b.elem(x));
  Value isZero = b.compare(prim::ComparePredicate::eq, norm, zero);
  Value safe = b.select(isZero, b.scalar(1, b.elem(x)), norm);
  return c.give(b.cast(b.select(isZero, zero, b.div(x, safe)), b.elem(c.in(0))));
}

LogicalResult meanVarianceNormalization(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  auto axes = axesWithin(c, c.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3}), b.rank(x));
  if (failed(axes))
    return failure();
  Value centred = b.sub(x, b.mean(x, *axes, true));
  Value deviation = b.sqrt(b.mean(b.mul(centred, centred), *axes, true));
  return c.give(b.cast(b.div(centred, b.add(deviation, 1e-9)), b.elem(c.in(0))));
}

} // namespace

void tcc::populateOnnxNormalizationRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"BatchNormalization", batchNormalization},
      {"InstanceNormalization", instanceNormalization},
      {"LayerNormalization", layerNormalization},
      {"RMSNormalization", rmsNormalization},
      {"GroupNormalization", groupNormalization},
      {"LRN", lrn},
      {"LpNormalization", lpNormalization},
      {"MeanVarianceNormalization", meanVarianceNormalization}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
