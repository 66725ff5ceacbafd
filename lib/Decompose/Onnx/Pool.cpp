//===- Pool.cpp - Pooling --------------------------------------------------===//
//
// Max pools are prim.pool. An average is a sum pool divided by the number of
// elements that count, which is a product of one small vector an axis:
// position o of the result starts at o * stride - low, and the offsets
// j * dilation from there that fall within the bounds are counted in closed form.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
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

/// Maximum and its position, over the strided slices of x that the window's
/// elements see one after the other.
LogicalResult maxPoolWithIndices(NodeContext &c, const OnnxWindow &w, Value best) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type index = b.builder().getI64Type();
  int64_t spatial = w.axes(), rank = spatial + 2;
  bool columnMajor = c.intAttr("storage_order", 0);
  Dims have = b.dims(x), result = b.dims(best);
  // Position within x of each offset, by axis; -1 where it lies outside.
  SmallVector<int64_t> offset(spatial, 0);
  Value found, at;
  Dims low(2, b.dim(0)), high(2, b.dim(0));
  for (int64_t i = 0; i < spatial; ++i) {
    // Enough on the right for the last window.
    Dim reach = b.addDims(b.mulDims(b.subDims(result[i + 2], b.dim(1)), b.dim(w.window.strides[i])),
                          b.dim((w.window.window[i] - 1) * w.window.dilations[i] + 1));
    low.push_back(w.low[i]);
    high.push_back(b.maxDims(b.subDims(b.subDims(reach, have[i + 2]), w.low[i]), b.dim(0)));
  }
  Value padded = b.pad(x, extremeOf(b, b.elem(x), -1), low, high);
  int64_t total = 1;
  for (int64_t extent : w.window.window)
    total *= extent;
  constexpr int64_t kLargest = 1024;
  if (total > kLargest)
    return c.fail("positions of maxima in windows above 1024 elements are not supported");
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n;
    for (int64_t i = spatial; i-- > 0; rest /= w.window.window[i])
      offset[i] = rest % w.window.window[i];
    Dims starts(2, b.dim(0)), sizes = {have[0], have[1]};
    SmallVector<int64_t> steps(2, 1);
    Value linear, inside;
    Dim stride = b.dim(1);
    SmallVector<Value> terms(spatial);
    for (int64_t k = 0; k < spatial; ++k) {
      int64_t i = columnMajor ? k : spatial - 1 - k;
      Dim first = b.subDims(b.dim(offset[i] * w.window.dilations[i]), w.low[i]);
      Value p =
          b.add(b.mul(b.iota({result[i + 2]}, 0, index), static_cast<double>(w.window.strides[i])),
                scalarOf(b, first, index));
      Value ok = b.binary<prim::AndOp>(b.compare(P::ge, p, 0.0),
                                       b.compare(P::lt, p, scalarOf(b, have[i + 2], index)));
      Value term = alongAxis(b, b.mul(p, scalarOf(b, stride, index)), i + 2, rank);
      ok = alongAxis(b, ok, i + 2, rank);
      linear = linear ? b.add(linear, term) : term;
      inside = inside ? b.binary<prim::AndOp>(inside, ok) : ok;
      stride = b.mulDims(stride, have[i + 2]);
    }
    for (int64_t i = 0; i < spatial; ++i) {
      starts.push_back(b.dim(offset[i] * w.window.dilations[i]));
      sizes.push_back(result[i + 2]);
      steps.push_back(w.window.strides[i]);
    }
    Value v = b.slice(padded, starts, sizes, steps);
    if (!found) {
      found = b.select(inside, v, extremeOf(b, b.elem(x), -1));
      at = linear;
      continue;
    }
    Value better = b.binary<prim::AndOp>(inside, b.compare(P::gt, v, found));
    found = b.select(better, v, found);
    at = b.select(better, linear, at);
  }
  // The planes before this one.
  Dim plane = b.productOf(ArrayRef(have).drop_front(2));
  Value n = alongAxis(
      b, b.mul(b.iota({have[0]}, 0, index), scalarOf(b, b.mulDims(plane, have[1]), index)), 0,
      rank);
  Value ch = alongAxis(b, b.mul(b.iota({have[1]}, 0, index), scalarOf(b, plane, index)), 1, rank);
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
}
