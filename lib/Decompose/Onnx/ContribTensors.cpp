//===- ContribTensors.cpp - Tensor operators of com.microsoft ----------------===//
//
// Small operators of ONNX Runtime's own: those that ONNX has under other rules or not at all, from
// gated sums and norms of branches over matrices and transforms to n-grams. None is fused of
// others (ContribFused.cpp) and none attends (ContribAttention.cpp, ContribPacked.cpp).
//
// Where ONNX Runtime rounds a step to the element type, the step is cast here as well.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Fourier.h"
#include "Decompose/Idioms/Matrices.h"
#include "Decompose/Idioms/Standardize.h"
#include "Decompose/Idioms/Unique.h"
#include "Decompose/Idioms/Windows.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/TokenSearch.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

//===-- Of each element -----------------------------------------------------===//

/// X + Y * gate.
LogicalResult gatedAdd(NodeContext &c) {
  return c.give(c.b.add(c.in(0), c.b.mul(c.in(1), c.in(2))));
}

/// SiLU of X times `alpha`, or times operand 1.
LogicalResult scaledSilu(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0));
  Value x = widen(b, c.in(0));
  Value scale = b.scalar(c.floatAttr("alpha", 1), b.elem(x));
  if (c.has(1)) {
    auto given = scalarOperand(c, 1);
    if (failed(given))
      return failure();
    scale = b.cast(*given, b.elem(x));
  }
  Value z = widen(b, b.cast(b.mul(x, scale), own));
  Value gate = widen(b, b.cast(b.logistic(z), own));
  return c.give(b.cast(b.mul(z, gate), own));
}

/// Real and imaginary parts beside one another in the last axis: A B, or A times the conjugate.
template <bool conjugate> LogicalResult complexMul(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0)), y = widen(b, c.in(1));
  if (b.rank(x) == 0 || b.rank(y) == 0)
    return c.fail("needs an axis of real and imaginary parts");
  auto part = [&](Value v, int64_t i) {
    requireSame(b, b.dim(v, b.rank(v) - 1), b.dim(2), "real and imaginary parts");
    return b.sliceAxis(v, b.rank(v) - 1, b.dim(i), b.dim(1));
  };
  Value xr = part(x, 0), xi = part(x, 1), yr = part(y, 0), yi = part(y, 1);
  if (conjugate)
    yi = b.neg(yi);
  Value re = b.sub(b.mul(xr, yr), b.mul(xi, yi)), im = b.add(b.mul(xr, yi), b.mul(xi, yr));
  return c.give(b.cast(b.concat({re, im}, b.rank(re) - 1), b.elem(c.in(0))));
}

/// Softmax of data + bias over the axes from `axis` on.
LogicalResult biasSoftmax(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto axis = axisAttr(c, 1);
  if (failed(axis))
    return failure();
  Value x = widen(b, c.in(0));
  Dims have = b.dims(x);
  x = b.add(x, b.cast(c.in(1), b.elem(x)));
  Dims flat(have.begin(), have.begin() + *axis);
  flat.push_back(b.productOf(ArrayRef(have).drop_front(*axis)));
  Value y = b.reshape(b.softmax(b.reshape(x, flat), *axis), have);
  return c.give(b.cast(y, b.elem(c.in(0))));
}

/// data + bias + residual as in evaluation, and a mask that drops nothing.
LogicalResult biasDropout(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (c.has(4)) {
    auto training = b.constantInts(c.in(4));
    if (!training || training->size() != 1 || training->front() != 0)
      return c.fail("'training_mode' must be a constant that is false");
  }
  Value x = c.in(0);
  Dims have = b.dims(x);
  x = b.add(x, c.in(1));
  if (c.has(2))
    x = b.add(x, c.in(2));
  if (c.numResults() > 1)
    (void)c.give(1, b.full(have, 1, b.builder().getI1Type()));
  return c.give(x);
}

/// Whether no element of any operand is infinite or NaN.
LogicalResult isAllFinite(NodeContext &c) {
  PrimBuilder &b = c.b;
  bool onlyNan = c.intAttr("isnan_only", 0), onlyInfinite = c.intAttr("isinf_only", 0);
  if (onlyNan && onlyInfinite)
    return c.fail("'isnan_only' and 'isinf_only' exclude each other");
  Value all = b.full({}, 1, b.builder().getI1Type());
  for (size_t i = 0; i < c.numInputs(); ++i) {
    Value x = c.in(i), size = b.abs(x), fine;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (onlyNan)
      fine = b.compare(P::eq, x, x);
    else if (onlyInfinite)
      fine = b.compare(P::ne, size, infinity);
    else
      fine = b.compare(P::lt, size, infinity);
    all = b.binary<prim::AndOp>(all, b.reduce(K::min, fine, allAxes(b.rank(x)), false));
  }
  return c.give(all);
}

/// (A - A_zero_point) * (B - B_zero_point) in i32.
LogicalResult mulInteger(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type i32 = b.builder().getI32Type();
  auto less = [&](size_t i) {
    Value x = b.cast(c.in(i), i32);
    return c.has(i + 1) ? b.sub(x, b.cast(c.in(i + 1), i32)) : x;
  };
  return c.give(b.mul(less(0), less(2)));
}

LogicalResult reduceSumInteger(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto axes = axesWithin(c, c.intsAttr("axes").value_or(SmallVector<int64_t>()), b.rank(x));
  if (failed(axes))
    return failure();
  bool isUnsigned = b.elem(x).isUnsignedInteger();
  Type wide = isUnsigned ? Type(IntegerType::get(b.context(), 32, IntegerType::Unsigned))
                         : Type(b.builder().getI32Type());
  return c.give(b.reduce(K::sum, b.cast(x, wide), *axes, c.intAttr("keepdims", 1)));
}

/// Products of 16-bit numbers, sums in 32 bits.
LogicalResult matmulInteger16(NodeContext &c) {
  PrimBuilder &b = c.b;
  bool isUnsigned = b.elem(c.in(0)).isUnsignedInteger();
  Type wide = isUnsigned ? Type(IntegerType::get(b.context(), 32, IntegerType::Unsigned))
                         : Type(b.builder().getI32Type());
  return c.give(b.matmul(b.cast(c.in(0), wide), b.cast(c.in(1), wide)));
}

//===-- Branches of a residual stream ---------------------------------------===//

/// x [.., C, H] of a flat [.., C * H] where `num_branches` says so.
FailureOr<Value> inBranches(NodeContext &c, Value x) {
  PrimBuilder &b = c.b;
  int64_t branches = c.intAttr("num_branches", 0), last = b.rank(x) - 1;
  if (branches < 0 || last < 0 || (branches == 0 && last == 0))
    return c.fail("needs branches and features");
  if (branches == 0)
    return x;
  Dims split = b.dims(x);
  Dim width = wholeQuotient(b, split[last], b.dim(branches), "features in branches");
  split[last] = b.dim(branches);
  split.push_back(width);
  return b.reshape(x, split);
}

/// A gate [.., C], [.., C * H], [.., C, 1] or [.., C, H] as it broadcasts against branches [.., C,
/// H].
Value gateOf(PrimBuilder &b, Value gate, Value branches) {
  gate = b.cast(gate, b.elem(branches));
  int64_t rank = b.rank(branches);
  if (b.rank(gate) == rank)
    return gate;
  Dims split = b.dims(gate);
  Dim count = b.dim(branches, rank - 2);
  if (split.empty()) {
    b.fault("a gate has no axis of branches");
    return gate;
  }
  Dim width = wholeQuotient(b, split.back(), count, "the gate's branches");
  split.back() = count;
  split.push_back(width);
  return b.reshape(gate, split);
}

/// X by the root of the mean square of each branch, times a scale of [C * H], [C, H] or [H].
LogicalResult branchwiseNorm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Dims have = b.dims(c.in(0));
  auto x = inBranches(c, widen(b, c.in(0)));
  if (failed(x))
    return failure();
  int64_t rank = b.rank(*x);
  Value y = scaleByRms(b, *x, axesFrom(rank - 1, rank), c.floatAttr("epsilon", 1e-5)).value;
  if (c.has(1)) {
    Value scale = b.cast(c.in(1), b.elem(y));
    Dim branches = b.dim(*x, rank - 2), width = b.dim(*x, rank - 1);
    if (b.rank(scale) == 1 && !b.same(b.dim(scale, 0), width)) { // one for all branches, or each
      Type index = b.builder().getI64Type();
      Dim shared = b.compareDims(arith::CmpIPredicate::eq, b.dim(scale, 0), width);
      Dim stride = b.selectDims(shared, b.dim(0), width);
      Dim size = b.selectDims(shared, width, b.mulDims(branches, width));
      requireSame(b, b.dim(scale, 0), size, "BranchwiseRMSNorm: the scale");
      Value first = b.mul(b.iota({branches}, 0, index), scalarOf(b, stride, index));
      scale = b.take(
          scale, b.add(b.unsqueeze(first, {1}), b.unsqueeze(b.iota({width}, 0, index), {0})), 0);
    }
    y = b.mul(y, scale);
  }
  return c.give(b.cast(b.reshape(y, have), b.elem(c.in(0))));
}

/// streams, pre_mix: the gated sum of the branches.
LogicalResult preMix(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto x = inBranches(c, widen(b, c.in(0)));
  if (failed(x))
    return failure();
  Value mixed = b.reduce(K::sum, b.mul(*x, gateOf(b, c.in(1), *x)), {b.rank(*x) - 2}, false);
  return c.give(b.cast(b.mul(mixed, c.floatAttr("reduction_scale", 1)), b.elem(c.in(0))));
}

/// streams, block_output, post_mix, stream_mix: branches mixed, and an output added to each.
LogicalResult postMix(NodeContext &c) {
  PrimBuilder &b = c.b;
  Dims have = b.dims(c.in(0));
  auto x = inBranches(c, widen(b, c.in(0)));
  if (failed(x))
    return failure();
  Type wide = b.elem(*x);
  int64_t rank = b.rank(*x);
  Value kept = *x; // Y[k, h] = sum over c of mix[c, k] x[c, h]
  if (c.has(3))
    kept = b.matmul(matrices::transposed(b, b.cast(c.in(3), wide)), kept);
  Value added = b.unsqueeze(b.cast(c.in(1), wide), {rank - 2});
  Value y = b.add(kept, b.mul(gateOf(b, c.in(2), *x), added));
  return c.give(b.cast(b.reshape(y, have), b.elem(c.in(0))));
}

/// key, query [B, S, C, H], value [B, S, H], scales: the value gated by how alike key and query
/// are.
LogicalResult engramGate(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0));
  double epsilon = c.floatAttr("epsilon", 1e-5);
  auto normal = [&](Value x, size_t scale) {
    int64_t rank = b.rank(x);
    Value y = scaleByRms(b, x, axesFrom(rank - 1, rank), epsilon).value;
    return b.mul(y, b.cast(c.in(scale), b.elem(x)));
  };
  Value key = widen(b, c.in(0)), query = widen(b, c.in(1)), value = widen(b, c.in(2));
  if (b.rank(key) != 4 || b.rank(query) != 4 || b.rank(value) != 3)
    return c.fail("needs keys and queries of rank 4 and values of rank 3");
  Value dot = b.reduce(K::sum, b.mul(normal(key, 3), normal(query, 4)), {3}, true);
  Value width = scalarOf(b, b.dim(key, 3), b.elem(key));
  dot = b.div(dot, b.sqrt(width));
  Value root = b.sqrt(b.maximum(b.abs(dot), 1e-6));
  Value zero = b.scalar(0, b.elem(dot));
  Value sign = b.select(b.compare(P::eq, dot, 0.0), zero,
                        b.select(b.compare(P::lt, dot, 0.0), b.neg(root), root));
  Value y = b.mul(b.logistic(sign), b.unsqueeze(value, {2}));
  if (c.numResults() > 1) {
    if (!c.has(5))
      return c.fail("needs 'conv_norm_scale' for its second result");
    (void)c.give(1, b.cast(normal(y, 5), own));
  }
  return c.give(b.cast(y, own));
}

//===-- Matrices and transforms ---------------------------------------------===//

LogicalResult inverse(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  if (b.rank(x) < 2)
    return c.fail("needs matrices");
  requireSame(b, b.dim(x, b.rank(x) - 1), b.dim(x, b.rank(x) - 2), "the sides of a matrix");
  Dims batch = matrices::batchOf(b, x);
  Value unit = matrices::identity(b, batch, b.dim(x, b.rank(x) - 1), b.elem(x));
  return c.give(b.cast(matrices::solve(b, matrices::factorLU(b, x), unit), b.elem(c.in(0))));
}

/// Of every row of A and every row of B.
LogicalResult cdist(NodeContext &c) {
  PrimBuilder &b = c.b;
  std::string metric = c.stringAttr("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return c.fail("the metric '" + metric +
                  "' is not supported; 'sqeuclidean' and 'euclidean' are");
  if (b.rank(c.in(0)) != 2 || b.rank(c.in(1)) != 2)
    return c.fail("needs two matrices");
  Value d = b.sub(b.unsqueeze(c.in(0), {1}), b.unsqueeze(c.in(1), {0}));
  Value squares = b.reduce(K::sum, b.mul(d, d), {2}, false);
  return c.give(metric == "euclidean" ? b.sqrt(squares) : squares);
}

/// One-sided, along the last axis; real and imaginary parts in a new one.
LogicalResult rfft(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  int64_t rank = b.rank(x);
  if (rank < 1 || c.intAttr("signal_ndim", 1) != 1)
    return c.fail("needs signals of one axis");
  Dim count = b.addDims(b.floorDivDims(b.dim(x, rank - 1), b.dim(2)), b.dim(1));
  ComplexParts z = fourier(b, c.weightTable(), {x, {}}, rank - 1, false, count);
  Value both = b.concat({b.unsqueeze(z.re, {rank}), b.unsqueeze(z.im, {rank})}, rank);
  return c.give(b.cast(both, b.elem(c.in(0))));
}

/// The real signal of an even length, divided by it, whose rfft X is.
LogicalResult irfft(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  int64_t axis = b.rank(x) - 2;
  if (axis < 0 || c.intAttr("signal_ndim", 1) != 1)
    return c.fail("needs signals of one axis");
  requireSame(b, b.dim(x, axis + 1), b.dim(2), "real and imaginary parts");
  auto part = [&](int64_t i) {
    return b.squeeze(b.sliceAxis(x, axis + 1, b.dim(i), b.dim(1)), {axis + 1});
  };
  Dim half = b.dim(x, axis), length = b.mulDims(b.subDims(half, b.dim(1)), b.dim(2));
  requireAtMost(b, b.dim(2), half, "Irfft: a spectrum");
  Value re = part(0), im = part(1);
  // z[k] for k <= n / 2, the conjugate of z[n - k] after; at 0 and n / 2 there is no imaginary
  // part.
  Dim inner = b.subDims(half, b.dim(2));
  Value reEnd = b.reverse(b.sliceAxis(re, axis, b.dim(1), inner), {axis});
  Value imInner = b.sliceAxis(im, axis, b.dim(1), inner);
  Value none = b.mul(b.sliceAxis(re, axis, b.dim(0), b.dim(1)), 0.0);
  Value fullRe = b.concat({re, reEnd}, axis);
  Value fullIm = b.concat({none, imInner, none, b.neg(b.reverse(imInner, {axis}))}, axis);
  Value y = fourier(b, c.weightTable(), {fullRe, fullIm}, axis, true, length).re;
  return c.give(b.cast(y, b.elem(c.in(0))));
}

//===-- Places ---------------------------------------------------------------===//

/// X with an axis of extent 1 at `axis`.
LogicalResult expandDims(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto axis = b.constantInts(c.in(1));
  if (!axis || axis->size() != 1)
    return c.fail("the axis must be a constant");
  auto at = axisWithin(c, axis->front(), b.rank(c.in(0)) + 1);
  return failed(at) ? failure() : c.give(b.unsqueeze(c.in(0), {*at}));
}

/// Windows of `size` elements along `dim`, in a new last axis.
LogicalResult unfoldTensor(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  int64_t size = c.intAttr("size", 0), step = c.intAttr("step", 1);
  auto axis = axisWithin(c, c.intAttr("dim", -1), b.rank(x));
  if (failed(axis))
    return failure();
  if (size < 1 || step < 1)
    return c.fail("needs a positive 'size' and 'step'");
  requireAtMost(b, b.dim(size), b.dim(x, *axis), "UnfoldTensor: a window");
  return c.give(unfolded(b, x, *axis, size, step));
}

/// The distinct elements in the order of their first appearance, where each input is, how often.
LogicalResult unique(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (b.rank(c.in(0)) != 1)
    return c.fail("needs a vector");
  Distinct found = distinct(b, c.in(0), /*sorted=*/false);
  Value results[] = {found.values, found.inverse, found.counts};
  for (size_t i = 0; i < std::min<size_t>(3, c.numResults()); ++i)
    (void)c.give(i, results[i]);
  return success();
}

/// weight, indices: rows of a table.
LogicalResult torchEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (b.rank(c.in(0)) != 2)
    return c.fail("needs a table of rank 2");
  requireInRange(b, c.in(1), b.dim(c.in(0), 0), IndexRange::positions);
  return c.give(b.take(c.in(0), c.in(1), 0));
}

LogicalResult ngramRepeatBlock(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value ids = c.in(0), scores = c.in(1);
  int64_t n = c.intAttr("ngram_size", 0);
  if (n < 1 || b.rank(ids) != 2 || b.rank(scores) != 2)
    return c.fail("needs a positive 'ngram_size' and operands of rank 2");
  requireSame(b, b.dim(ids, 0), b.dim(scores, 0), "NGramRepeatBlock: the batch");
  return c.give(withoutRepeats(b, ids, scores, n));
}

} // namespace

void tcc::populateOnnxContribTensorRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"BiasDropout", biasDropout},
      {"BiasSoftmax", biasSoftmax},
      {"BranchwiseRMSNorm", branchwiseNorm},
      {"CDist", cdist},
      {"ComplexMul", complexMul<false>},
      {"ComplexMulConj", complexMul<true>},
      {"EngramGate", engramGate},
      {"ExpandDims", expandDims},
      {"GatedAdd", gatedAdd},
      {"HyperConnectionPostMix", postMix},
      {"HyperConnectionPreMix", preMix},
      {"Inverse", inverse},
      {"Irfft", irfft},
      {"IsAllFinite", isAllFinite},
      {"MatMulInteger16", matmulInteger16},
      {"MulInteger", mulInteger},
      {"NGramRepeatBlock", ngramRepeatBlock},
      {"ReduceSumInteger", reduceSumInteger},
      {"Rfft", rfft},
      {"ScaledSiLU", scaledSilu},
      {"TorchEmbedding", torchEmbedding},
      {"UnfoldTensor", unfoldTensor},
      {"Unique", unique}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
}
