//===- Pool.cpp - Pooling --------------------------------------------------===//
//
// Max pools are prim.pool. An average is a sum pool divided by the number of
// elements that count, which is a product of one small vector an axis:
// position o of the result starts at o * stride - low, and the offsets
// j * dilation from there that fall within the bounds are counted in closed form.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/WindowMaxima.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Window.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

FailureOr<OnnxWindow> poolWindow(NodeContext &c, Value x) {
  auto kernel = c.intsAttr("kernel_shape");
  if (!kernel)
    return c.fail("has no 'kernel_shape'");
  return onnxWindow(c, x, *kernel);
}

/// How many of the window's elements lie in [bottom, top) at each position of one axis.
Value countAlong(PrimBuilder &b, Dim positions, Dim low, int64_t stride, int64_t window,
                 int64_t dilation, Dim bottom, Dim top) {
  Type index = b.builder().getI64Type();
  Value start = b.sub(b.mul(b.iota({positions}, 0, index), static_cast<double>(stride)),
                      scalarOf(b, low, index));
  // First j with start + j d >= bottom, and first with start + j d >= top.
  auto firstAtOrAbove = [&](Dim bound) {
    Value gap = b.sub(scalarOf(b, bound, index), start);
    Value j = b.binary<prim::FloorDivOp>(b.add(gap, static_cast<double>(dilation - 1)),
                                         b.scalar(static_cast<double>(dilation), index));
    return b.minimum(b.maximum(j, 0.0), static_cast<double>(window));
  };
  return b.sub(firstAtOrAbove(top), firstAtOrAbove(bottom));
}

LogicalResult averagePool(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type own = b.elem(x);
  auto w = poolWindow(c, x);
  if (failed(w))
    return failure();
  bool ceilMode = c.intAttr("ceil_mode", 0), all = c.intAttr("count_include_pad", 0);
  Value padded = padForWindow(b, widen(b, x), *w, b.scalar(0, wideType(own)));
  Value sum = b.pool(K::sum, padded, w->window, ceilMode);
  bool simple = !ceilMode;
  for (auto [low, high] : llvm::zip(w->low, w->high))
    simple &= all || (b.known(low) == 0 && b.known(high) == 0);
  if (simple) {
    int64_t count = 1;
    for (int64_t extent : w->window.window)
      count *= extent;
    return c.give(b.cast(b.div(sum, static_cast<double>(count)), own));
  }
  Value result = sum;
  for (int64_t i = 0; i < w->axes(); ++i) {
    Dim extent = b.dim(x, i + 2), zero = b.dim(0);
    Dim bottom = all ? b.subDims(zero, w->low[i]) : zero;
    Dim top = all ? b.addDims(extent, w->high[i]) : extent;
    Value count = countAlong(b, b.dim(sum, i + 2), w->low[i], w->window.strides[i],
                             w->window.window[i], w->window.dilations[i], bottom, top);
    result = b.div(result, alongAxis(b, b.cast(count, b.elem(sum)), i + 2, b.rank(x)));
  }
  return c.give(b.cast(result, own));
}

/// Maximum and its position in all of x.
LogicalResult maxPoolWithIndices(NodeContext &c, const OnnxWindow &w, Value best) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  constexpr int64_t kLargest = 1024;
  if (elementsOf(w.window) > kLargest)
    return c.fail("positions of maxima in windows above 1024 elements are not supported");
  Value at =
      placesOfMaxima(b, x, w.window, w.low, b.dims(best), c.intAttr("storage_order", 0) != 0);
  // The planes before this one.
  Type index = b.elem(at);
  Dims have = b.dims(x);
  Dim plane = b.productOf(ArrayRef(have).drop_front(2));
  Value n = alongAxis(
      b, b.mul(b.iota({have[0]}, 0, index), scalarOf(b, b.mulDims(plane, have[1]), index)), 0,
      b.rank(x));
  Value ch =
      alongAxis(b, b.mul(b.iota({have[1]}, 0, index), scalarOf(b, plane, index)), 1, b.rank(x));
  (void)c.give(0, best);
  return c.give(1, b.add(at, b.add(n, ch)));
}

LogicalResult maxPool(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  auto w = poolWindow(c, x);
  if (failed(w))
    return failure();
  Value padded = padForWindow(b, x, *w, extremeOf(b, b.elem(x), -1));
  Value best = b.pool(K::max, padded, w->window, c.intAttr("ceil_mode", 0));
  return c.wants(1) ? maxPoolWithIndices(c, *w, best) : c.give(best);
}

/// Maxima of [N, spatial.., C].
LogicalResult maxPoolLast(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (b.rank(c.in(0)) < 3)
    return c.fail("needs spatial axes");
  Value x = channelsFirst(b, c.in(0));
  auto w = poolWindow(c, x);
  if (failed(w))
    return failure();
  Value padded = padForWindow(b, x, *w, extremeOf(b, b.elem(x), -1));
  return c.give(channelsLast(b, b.pool(K::max, padded, w->window, c.intAttr("ceil_mode", 0))));
}

/// (sum |x|^p)^(1/p) from a function that sums.
Value lpNorm(PrimBuilder &b, Value x, int64_t p, llvm::function_ref<Value(Value)> sum) {
  Value magnitude = b.abs(widen(b, x));
  Value total = sum(p == 1   ? magnitude
                    : p == 2 ? b.mul(magnitude, magnitude)
                             : b.pow(magnitude, static_cast<double>(p)));
  Value root = p == 1 ? total : p == 2 ? b.sqrt(total) : b.pow(total, 1.0 / static_cast<double>(p));
  return b.cast(root, b.elem(x));
}

/// Before opset 2, p was a float.
int64_t exponent(NodeContext &c) {
  return c.version() < 2 ? static_cast<int64_t>(c.floatAttr("p", 2)) : c.intAttr("p", 2);
}

LogicalResult lpPool(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto w = poolWindow(c, c.in(0));
  if (failed(w))
    return failure();
  return c.give(lpNorm(b, c.in(0), exponent(c), [&](Value x) {
    Value padded = padForWindow(b, x, *w, b.scalar(0, b.elem(x)));
    return b.pool(K::sum, padded, w->window, c.intAttr("ceil_mode", 0));
  }));
}

template <typename Body> LogicalResult global(NodeContext &c, Body body) {
  int64_t rank = c.b.rank(c.in(0));
  if (rank < 2)
    return c.fail("needs a batch and a channel axis");
  return c.give(body(axesFrom(2, rank)));
}

LogicalResult globalAverage(NodeContext &c) {
  return global(c, [&](ArrayRef<int64_t> axes) {
    Value x = c.in(0);
    return c.b.cast(c.b.mean(widen(c.b, x), axes, true), c.b.elem(x));
  });
}

LogicalResult globalMax(NodeContext &c) {
  return global(c, [&](ArrayRef<int64_t> axes) { return c.b.reduce(K::max, c.in(0), axes, true); });
}

LogicalResult globalLp(NodeContext &c) {
  return global(c, [&](ArrayRef<int64_t> axes) {
    return lpNorm(c.b, c.in(0), exponent(c),
                  [&](Value x) { return c.b.reduce(K::sum, x, axes, true); });
  });
}

} // namespace

void tcc::populateOnnxPoolRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"MaxPool", maxPool},         {"AveragePool", averagePool},
      {"LpPool", lpPool},           {"GlobalAveragePool", globalAverage},
      {"GlobalMaxPool", globalMax}, {"GlobalLpPool", globalLp}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
  rules.add("com.microsoft", "NhwcMaxPool", maxPoolLast);
}
