//===- ContribFused.cpp - Fused operators of com.microsoft -------------------===//
//
// What ONNX Runtime's graph optimizer writes into the models that it saves:
// activations, products and normalisations with what stood around them.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Attention.h"
#include "Decompose/Idioms/Gelu.h"
#include "Decompose/Idioms/Standardize.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

/// `body` of x + operand 1 (when there is one) in the wide type.
LogicalResult biased(NodeContext &c, llvm::function_ref<Value(Value)> body) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  if (c.has(1))
    x = b.add(x, b.cast(c.in(1), b.elem(x)));
  return c.give(b.cast(body(x), b.elem(c.in(0))));
}

LogicalResult gelu(NodeContext &c) {
  return biased(c, [&](Value x) { return geluErf(c.b, x); });
}

LogicalResult fastGelu(NodeContext &c) {
  return biased(c, [&](Value x) { return geluTanh(c.b, x); });
}

LogicalResult quickGelu(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 1.702);
  return biased(c, [&](Value x) { return c.b.mul(x, c.b.logistic(c.b.mul(x, alpha))); });
}

/// The activation that a fused operator names, with its parameters as far as given.
FailureOr<Value> fusedActivation(NodeContext &c, Value x, ArrayRef<double> p) {
  PrimBuilder &b = c.b;
  std::string name = c.stringAttr("activation", "");
  auto parameter = [&](size_t i, double otherwise) { return i < p.size() ? p[i] : otherwise; };
  if (name.empty())
    return x;
  if (name == "Relu")
    return b.maximum(x, 0.0);
  if (name == "Sigmoid")
    return b.logistic(x);
  if (name == "Tanh")
    return b.tanh(x);
  if (name == "LeakyRelu")
    return b.select(b.compare(P::lt, x, 0.0), b.mul(x, parameter(0, 0.01)), x);
  if (name == "Clip")
    return b.minimum(b.maximum(x, parameter(0, 0)), parameter(1, 6));
  if (name == "HardSigmoid") {
    Value line = b.add(b.mul(x, parameter(0, 0.2)), parameter(1, 0.5));
    return b.minimum(b.maximum(line, 0.0), 1.0);
  }
  return c.fail("has an unknown activation");
}

/// X, W, B and Z, which is added before the activation; the channels of images first, or last.
template <bool last> LogicalResult fusedConv(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), w = c.in(1);
  if (last) {
    if (b.rank(x) < 3)
      return c.fail("needs images with channels");
    x = channelsFirst(b, x);
  }
  int64_t groups = c.intAttr("group", 1);
  auto window = convolutionWindow(c, x, w, groups);
  if (failed(window))
    return failure();
  Type own = b.elem(x), wide = wideType(own);
  Value y = convolve(b, x, w, *window, groups, wide);
  if (c.has(2))
    y = b.add(y, alongAxis(b, b.cast(c.in(2), wide), 1, b.rank(x)));
  if (c.has(3))
    y = b.add(y, b.cast(last ? channelsFirst(b, c.in(3)) : c.in(3), wide));
  auto result =
      fusedActivation(c, y, c.floatsAttr("activation_params").value_or(SmallVector<double>()));
  if (failed(result))
    return failure();
  return c.give(b.cast(last ? channelsLast(b, *result) : *result, own));
}

/// The last two axes, or the first and the last but one, changed over.
Value swapped(PrimBuilder &b, Value x, bool matrix, bool batch) {
  int64_t rank = b.rank(x);
  SmallVector<int64_t> order = allAxes(rank);
  if (batch) { // [M, batch..., K] for [batch..., M, K]
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (matrix)
    std::swap(order[rank - 1], order[rank - 2]);
  return b.transpose(x, order);
}

LogicalResult fusedMatmul(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), y = c.in(1);
  if (b.rank(x) < 2 || b.rank(y) < 2)
    return c.give(b.mul(b.matmul(x, y), c.floatAttr("alpha", 1)));
  x = swapped(b, x, c.intAttr("transA", 0), c.intAttr("transBatchA", 0));
  y = swapped(b, y, c.intAttr("transB", 0), c.intAttr("transBatchB", 0));
  Type own = b.elem(x);
  double alpha = c.floatAttr("alpha", 1);
  Value product = b.matmul(x, y, alpha == 1 ? own : wideType(own));
  return c.give(b.cast(alpha == 1 ? product : b.mul(product, alpha), own));
}

/// The numbers that belong to a fused activation, as far as given.
SmallVector<double> activationNumbers(NodeContext &c) {
  SmallVector<double> parameters;
  for (StringRef name : {"activation_alpha", "activation_beta"}) {
    if (!c.hasAttr(name))
      break;
    parameters.push_back(c.floatAttr(name, 0));
  }
  return parameters;
}

LogicalResult fusedMatmulActivation(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (failed(fusedMatmul(c)))
    return failure();
  Value product = c.results[0].value;
  auto result = fusedActivation(c, widen(b, product), activationNumbers(c));
  return failed(result) ? failure() : c.give(b.cast(*result, b.elem(product)));
}

/// X, W, bias.
LogicalResult gemmFastGelu(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0)), wide = wideType(own);
  Value product = b.matmul(c.in(0), c.in(1), wide);
  if (c.has(2))
    product = b.add(product, b.cast(c.in(2), wide));
  return c.give(b.cast(geluTanh(b, product), own));
}

LogicalResult fusedGemm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), y = c.in(1);
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return c.fail("needs two matrices");
  Type own = b.elem(x), wide = wideType(own);
  Value sum =
      b.dot(x, y, {}, {}, {c.intAttr("transA", 0) ? 0 : 1}, {c.intAttr("transB", 0) ? 1 : 0}, wide);
  sum = b.mul(sum, c.floatAttr("alpha", 1));
  if (c.has(2))
    sum = b.add(sum, b.mul(b.cast(c.in(2), wide), c.floatAttr("beta", 1)));
  auto result = fusedActivation(c, sum, activationNumbers(c));
  return failed(result) ? failure() : c.give(b.cast(*result, own));
}

/// Layer norm over the last axis, or only by the root of the mean square.
Standardized normalizeLast(PrimBuilder &b, Value x, Value gamma, Value beta, double epsilon,
                           bool rms) {
  int64_t last = b.rank(x) - 1;
  Standardized s = rms ? scaleByRms(b, x, last, epsilon) : standardize(b, x, last, epsilon);
  s.value = b.mul(s.value, b.cast(gamma, b.elem(x)));
  if (beta)
    s.value = b.add(s.value, b.cast(beta, b.elem(x)));
  return s;
}

/// input, skip, gamma, (beta,) bias; gives the norm of the sum and the sum.
LogicalResult skipNorm(NodeContext &c, bool rms) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x);
  size_t biasAt = rms ? 3 : 4;
  Value sum = b.add(widen(b, x), widen(b, c.in(1)));
  if (c.has(biasAt))
    sum = b.add(sum, b.cast(c.in(biasAt), b.elem(sum)));
  Value beta = rms ? Value() : c.inOr(3, {});
  Standardized s = normalizeLast(b, sum, c.in(2), beta, c.floatAttr("epsilon", 1e-12), rms);
  (void)c.give(0, b.cast(s.value, own));
  Value extra[] = {{}, s.mean, s.inverse, b.cast(sum, own)};
  for (size_t i = 1; i < std::min<size_t>(4, c.numResults()); ++i)
    if (extra[i])
      (void)c.give(i, extra[i]);
  return success();
}

LogicalResult simplifiedNorm(NodeContext &c) {
  auto axis = axisAttr(c, -1);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  Standardized s = scaleByRms(b, x, axesFrom(*axis, b.rank(x)), c.floatAttr("epsilon", 1e-5));
  Value y = b.mul(s.value, b.cast(c.in(1), b.elem(x)));
  if (c.numResults() > 1)
    (void)c.give(1, s.inverse);
  return c.give(b.cast(y, b.elem(c.in(0))));
}

/// Rows of an embedding table, each of which must exist.
Value rowsOf(PrimBuilder &b, Value table, Value ids) {
  requireInRange(b, ids, b.dim(table, 0), IndexRange::positions);
  return b.take(table, ids, 0);
}

/// How the operand i of an embedding is read once its rows are taken.
using Read = llvm::function_ref<Value(size_t i, Value rows)>;

/// input_ids, segment_ids, word, position and segment tables, gamma, beta, mask; `positions` is
/// null where a token's place is its position.
LogicalResult normalizedEmbedding(NodeContext &c, Value positions, Type own, Read read) {
  PrimBuilder &b = c.b;
  Value ids = c.in(0);
  if (b.rank(ids) != 2 || b.rank(c.in(2)) != 2)
    return c.fail("needs a batch of token ids and a table");
  auto rows = [&](size_t i, Value at) { return read(i, rowsOf(b, c.in(i), at)); };
  Value sum = rows(2, ids), position;
  Dim length = b.dim(ids, 1);
  if (positions) {
    position = rows(3, positions);
  } else {
    requireAtMost(b, length, b.dim(c.in(3), 0), c.node.getTarget().str() + "'s positions");
    position = read(3, b.unsqueeze(b.sliceAxis(c.in(3), 0, b.dim(0), length), {0}));
  }
  sum = b.add(sum, position);
  if (c.has(1) && c.has(4))
    sum = b.add(sum, rows(4, c.in(1)));
  Standardized s = normalizeLast(b, sum, read(5, c.in(5)), read(6, c.in(6)),
                                 c.floatAttr("epsilon", 1e-12), false);
  (void)c.give(0, b.cast(s.value, own));
  Type i32 = b.builder().getI32Type();
  if (c.numResults() > 1)
    (void)c.give(1, c.has(7) ? b.reduce(prim::ReduceKind::sum, b.cast(c.in(7), i32), 1, false)
                             : b.full({b.dim(ids, 0)}, 0, i32));
  if (c.numResults() > 2)
    (void)c.give(2, b.cast(sum, own));
  return success();
}

LogicalResult embedLayerNorm(NodeContext &c) {
  return normalizedEmbedding(c, c.inOr(8, {}), c.b.elem(c.in(2)),
                             [&](size_t, Value rows) { return widen(c.b, rows); });
}

/// The same of tables in 8 bits, whose scales are operands 8 to 12 and zero points 13 to 17.
LogicalResult quantizedEmbedLayerNorm(NodeContext &c) {
  for (size_t i = 2; i < 7; ++i)
    if (c.has(i) != c.has(i + 6) || c.has(i) != c.has(i + 11))
      return c.fail("needs a scale and a zero point of each table");
  bool sized = true;
  auto read = [&](size_t i, Value rows) {
    auto scale = scalarOperand(c, i + 6), zero = scalarOperand(c, i + 11);
    sized &= succeeded(scale) && succeeded(zero);
    return sized ? dequantize(c.b, rows, *scale, *zero) : rows;
  };
  if (failed(normalizedEmbedding(c, {}, c.b.builder().getF32Type(), read)) || !sized)
    return failure();
  return success();
}

/// Group norm of [N, H, W, C], or of [N, C, H, W], with an optional SiLU.
LogicalResult normalizeGroups(NodeContext &c, Value x) {
  PrimBuilder &b = c.b;
  int64_t rank = b.rank(x), groups = c.intAttr("groups", 0);
  if (rank < 3 || groups < 1)
    return c.fail("needs groups and channels");
  bool last = c.intAttr("channels_last", 1);
  if (last)
    x = channelsFirst(b, x);
  Dims have = b.dims(x);
  Dims split = {have[0], b.dim(groups), b.floorDivDims(have[1], b.dim(groups))};
  split.append(have.begin() + 2, have.end());
  Standardized s =
      standardize(b, b.reshape(x, split), axesFrom(2, rank + 1), c.floatAttr("epsilon", 1e-5));
  Value y = b.reshape(s.value, have);
  y = b.mul(y, alongAxis(b, b.cast(c.in(1), b.elem(x)), 1, rank));
  y = b.add(y, alongAxis(b, b.cast(c.in(2), b.elem(x)), 1, rank));
  if (c.intAttr("activation", 0))
    y = b.mul(y, b.logistic(y));
  return c.give(b.cast(last ? channelsLast(b, y) : y, b.elem(c.in(0))));
}

LogicalResult groupNorm(NodeContext &c) { return normalizeGroups(c, widen(c.b, c.in(0))); }

/// X, gamma, beta, skip, bias: the group norm of the sum, and the sum. A skip may have no extents
/// but the batch and the channels.
LogicalResult skipGroupNorm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0)), skip = b.cast(c.in(3), b.elem(x));
  int64_t rank = b.rank(x), channel = c.intAttr("channels_last", 1) ? rank - 1 : 1;
  if (rank < 3 || (b.rank(skip) != 2 && b.rank(skip) != rank))
    return c.fail("needs a skip of the input's rank, or of rank 2");
  if (b.rank(skip) == 2) {
    Dims spread(rank, b.dim(1));
    spread[0] = b.dim(skip, 0);
    spread[channel] = b.dim(skip, 1);
    skip = b.reshape(skip, spread);
  }
  Value sum = b.add(x, skip);
  if (c.has(4))
    sum = b.add(sum, alongAxis(b, b.cast(c.in(4), b.elem(x)), channel, rank));
  if (c.numResults() > 1)
    (void)c.give(1, b.cast(sum, b.elem(c.in(0))));
  return normalizeGroups(c, sum);
}

/// A + B + C: an image, a bias vector and a residual.
LogicalResult biasAdd(NodeContext &c) {
  return c.give(c.b.add(c.b.add(c.in(0), c.in(1)), c.in(2)));
}

/// First half times the GELU of the second, of x + bias.
LogicalResult biasSplitGelu(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = b.add(widen(b, c.in(0)), widen(b, c.in(1)));
  int64_t last = b.rank(x) - 1;
  Dim half = b.floorDivDims(b.dim(x, last), b.dim(2));
  Value left = b.sliceAxis(x, last, b.dim(0), half), right = b.sliceAxis(x, last, half, half);
  return c.give(b.cast(b.mul(left, geluErf(b, right)), b.elem(c.in(0))));
}

} // namespace

void tcc::populateOnnxContribFusedRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Gelu", gelu},
      {"BiasGelu", gelu},
      {"FastGelu", fastGelu},
      {"QuickGelu", quickGelu},
      {"FusedConv", fusedConv<false>},
      {"NhwcConv", fusedConv<true>},
      {"NhwcFusedConv", fusedConv<true>},
      {"FusedMatMul", fusedMatmul},
      {"TransposeMatMul", fusedMatmul},
      {"FusedGemm", fusedGemm},
      {"SimplifiedLayerNormalization", simplifiedNorm},
      {"EmbedLayerNormalization", embedLayerNorm},
      {"QEmbedLayerNormalization", quantizedEmbedLayerNorm},
      {"GroupNorm", groupNorm},
      {"SkipGroupNorm", skipGroupNorm},
      {"GemmFastGelu", gemmFastGelu},
      {"FusedMatMulActivation", fusedMatmulActivation},
      {"BiasAdd", biasAdd},
      {"BiasSplitGelu", biasSplitGelu}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
  rules.add("com.microsoft", "SkipLayerNormalization",
            [](NodeContext &c) { return skipNorm(c, false); });
  rules.add("com.microsoft", "SkipSimplifiedLayerNormalization",
            [](NodeContext &c) { return skipNorm(c, true); });
  rules.add("onnx", "SimplifiedLayerNormalization", simplifiedNorm);
}
