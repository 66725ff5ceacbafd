//===- Pool.cpp - Pooling --------------------------------------------------===//
//
// Max pools are prim.pool. An average is a sum pool divided by the number of
// elements that count, which is a product of one small vector an axis:
// position o of the result starts at o * stride - low, and the offsets
// j * dilation from there that fall within the bounds are counted in closed form.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/WindowMaxima.h"
#include "Decompose/Idioms/Windows.h"
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

/// Maxima of what comes, in each line of a window along the last axis, before the first place that
/// the mask (of images [1, 1, ..]) forbids. The first place of an image of more than one axis it
/// cannot forbid. A window without any has the smallest number.
LogicalResult maxPoolWithMask(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), mask = c.in(1);
  int64_t rank = b.rank(x), last = rank - 1;
  if (rank < 3 || b.rank(mask) != rank || !isa<FloatType>(b.elem(x)))
    return c.fail("needs spatial axes and a mask of as many axes");
  if (b.known(b.dim(mask, 0)) != 1 || b.known(b.dim(mask, 1)) != 1)
    return c.fail("needs a mask of one image and channel [1, 1, ..]: of others ONNX Runtime reads "
                  "places that do not belong to the channel");
  auto w = poolWindow(c, x);
  if (failed(w))
    return failure();
  for (int64_t i = 2; i < rank; ++i)
    requireSame(b, b.dim(mask, i), b.dim(x, i), "the mask and the operand");
  Value allowed = b.compare(P::ne, mask, 0.0);
  if (rank > 3) {
    Value first = b.full(Dims(rank, b.dim(1)), 1, b.elem(allowed));
    allowed = b.insertSlice(allowed, first, Dims(rank, b.dim(0)));
  }
  Value lowest = b.scalar(-static_cast<double>(std::numeric_limits<float>::max()), b.elem(x));
  Dims low(2, b.dim(0)), high(2, b.dim(0));
  low.append(w->low.begin(), w->low.end());
  high.append(w->high.begin(), w->high.end());
  x = b.pad(x, lowest, low, high);
  allowed = b.pad(allowed, b.scalar(1, b.elem(allowed)), low, high);
  // Windows along the last axis, one place after the other; those along the others after that.
  int64_t size = w->window.window.back(), step = w->window.strides.back();
  Dim count = windowsIn(b, b.dim(x, last), b.dim(size), b.dim(step));
  Dim reach = b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(step)), b.dim(1));
  Value best, open;
  for (int64_t i = 0; i < size; ++i) {
    auto place = [&](Value v) {
      return b.sliceAxis(b.sliceAxis(v, last, b.dim(i), reach), last, b.dim(0), count, step);
    };
    open = open ? b.binary<prim::AndOp>(open, place(allowed)) : place(allowed);
    Value here = b.select(open, place(x), lowest);
    best = best ? b.maximum(best, here) : here;
  }
  PrimBuilder::Window rest = w->window;
  rest.window.back() = rest.strides.back() = 1;
  rest.low.assign(rank - 2, 0);
  rest.high.assign(rank - 2, 0);
  return c.give(b.pool(K::max, best, rest, /*ceilMode=*/false));
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
  rules.add("com.microsoft", "MaxpoolWithMask", maxPoolWithMask);
}
