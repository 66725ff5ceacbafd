//===- Window.cpp - Sliding windows as ONNX states them -------------------===//
//
// Every padding comes down to how much is put before and after an axis. Where that is known the
// operator takes it itself; what depends on an extent at run time (auto_pad SAME with a stride) is
// put there by prim.pad, in front of it. A convolution's channels are checked here as well, for the
// rules of floats and of integers.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/Window.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

FailureOr<SmallVector<int64_t>> tcc::kernelOf(NodeContext &c, Value &weight) {
  PrimBuilder &b = c.b;
  RankedTensorType t = b.type(weight);
  if (t.getRank() < 3)
    return c.fail("the weight has rank " + llvm::Twine(t.getRank()));
  SmallVector<int64_t> kernel(t.getShape().drop_front(2));
  auto given = c.intsAttr("kernel_shape");
  if (given && given->size() == kernel.size())
    for (auto [have, want] : llvm::zip(kernel, *given)) {
      if (!ShapedType::isDynamic(have) && have != want)
        return c.fail("'kernel_shape' is not the shape of the weight");
      have = want;
    }
  if (ShapedType::isDynamicShape(kernel))
    return c.fail("the kernel's extents must be known");
  Dims dims = b.dims(weight);
  for (auto [i, extent] : llvm::enumerate(kernel))
    if (!b.known(dims[i + 2])) {
      b.check(b.compareDims(arith::CmpIPredicate::eq, dims[i + 2], b.dim(extent)),
              "'kernel_shape' is not the shape of the weight");
      dims[i + 2] = b.dim(extent);
    }
  weight = b.reshape(weight, dims);
  return kernel;
}

LogicalResult tcc::checkChannels(NodeContext &c, Value x, Value w, int64_t groups,
                                 bool transposed) {
  auto channels = c.b.known(c.b.dim(x, 1));
  auto w0 = c.b.known(c.b.dim(w, 0)), w1 = c.b.known(c.b.dim(w, 1));
  if (groups < 1 || groups > INT32_MAX)
    return c.fail("has " + llvm::Twine(groups) + " groups");
  auto expected = transposed ? w0 : w1 ? std::optional(*w1 * groups) : std::nullopt;
  if (channels && expected && *channels != *expected)
    return c.fail("the operand has " + llvm::Twine(*channels) + " channels, the weight expects " +
                  llvm::Twine(*expected));
  if (w0 && *w0 % groups != 0)
    return c.fail("the weight does not split into " + llvm::Twine(groups) + " groups");
  return success();
}

static FailureOr<SmallVector<int64_t>> positiveList(NodeContext &c, StringRef name, size_t count) {
  SmallVector<int64_t> list = c.intsAttr(name).value_or(SmallVector<int64_t>(count, 1));
  if (list.size() != count || llvm::any_of(list, [](int64_t v) { return v < 1 || v > INT32_MAX; }))
    return c.fail("'" + name + "' needs " + llvm::Twine(count) + " positive entries");
  return list;
}

std::pair<Dim, Dim> tcc::samePadding(PrimBuilder &b, Dim extent, Dim span, int64_t stride,
                                     bool upper) {
  Dim total;
  if (stride == 1) {
    total = b.subDims(span, b.dim(1));
  } else {
    Dim count = b.ceilDivDims(extent, b.dim(stride));
    Dim covered = b.addDims(b.mulDims(b.subDims(count, b.dim(1)), b.dim(stride)), span);
    total = b.maxDims(b.subDims(covered, extent), b.dim(0));
  }
  Dim half = b.floorDivDims(total, b.dim(2)), rest = b.subDims(total, half);
  return upper ? std::pair(half, rest) : std::pair(rest, half);
}

FailureOr<OnnxWindow> tcc::onnxWindow(NodeContext &c, Value x, ArrayRef<int64_t> kernel) {
  PrimBuilder &b = c.b;
  size_t count = kernel.size();
  if (b.rank(x) != static_cast<int64_t>(count) + 2)
    return c.fail("the operand has rank " + llvm::Twine(b.rank(x)) + " for " + llvm::Twine(count) +
                  " window axes");
  if (llvm::any_of(kernel, [](int64_t v) { return v < 1 || v > INT32_MAX; }))
    return c.fail("has an empty kernel");
  auto strides = positiveList(c, "strides", count), dilations = positiveList(c, "dilations", count);
  if (failed(strides) || failed(dilations))
    return failure();
  OnnxWindow w;
  w.window.window.assign(kernel.begin(), kernel.end());
  w.window.strides = *strides;
  w.window.dilations = *dilations;
  w.window.inputDilation.assign(count, 1);
  std::string mode = c.stringAttr("auto_pad", "NOTSET");
  SmallVector<int64_t> pads = c.intsAttr("pads").value_or(SmallVector<int64_t>(2 * count, 0));
  if (mode == "VALID")
    pads.assign(2 * count, 0);
  if (pads.size() != 2 * count)
    return c.fail("'pads' needs " + llvm::Twine(2 * count) + " entries");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  for (size_t i = 0; i < count; ++i) {
    Dim low = b.dim(pads[i]), high = b.dim(pads[i + count]);
    int64_t span = (kernel[i] - 1) * (*dilations)[i] + 1;
    if (same)
      std::tie(low, high) =
          samePadding(b, b.dim(x, i + 2), b.dim(span), (*strides)[i], mode == "SAME_UPPER");
    if (auto l = b.known(low), h = b.known(high); !l || !h || *l < 0 || *h < 0)
      w.explicitPad = true;
    w.low.push_back(low);
    w.high.push_back(high);
    auto padded = b.known(b.addDims(b.addDims(b.dim(x, i + 2), low), high));
    if (padded && *padded < span)
      return c.fail("the window is larger than its operand");
  }
  for (size_t i = 0; i < count; ++i) {
    w.window.low.push_back(w.explicitPad ? 0 : *b.known(w.low[i]));
    w.window.high.push_back(w.explicitPad ? 0 : *b.known(w.high[i]));
  }
  return w;
}

FailureOr<OnnxWindow> tcc::convolutionWindow(NodeContext &c, Value x, Value &w, int64_t groups) {
  auto kernel = kernelOf(c, w);
  if (failed(kernel))
    return failure();
  auto window = onnxWindow(c, x, *kernel);
  if (failed(window) || failed(checkChannels(c, x, w, groups, /*transposed=*/false)))
    return failure();
  return window;
}

Value tcc::padForWindow(PrimBuilder &b, Value x, const OnnxWindow &w, Value value) {
  if (!w.explicitPad)
    return x;
  Dims low(2, b.dim(0)), high(2, b.dim(0));
  low.append(w.low);
  high.append(w.high);
  return b.pad(x, value, low, high);
}

Value tcc::convolve(PrimBuilder &b, Value x, Value w, const OnnxWindow &window, int64_t groups,
                    Type elementType, Value zero) {
  OnnxWindow own = window;
  if (zero) { // what is outside is not 0
    own.explicitPad = true;
    own.window.low.assign(own.axes(), 0);
    own.window.high.assign(own.axes(), 0);
  }
  x = padForWindow(b, x, own, zero ? zero : b.scalar(0, b.elem(x)));
  return b.conv(x, w, own.window, groups, elementType);
}

Value tcc::channelsFirst(PrimBuilder &b, Value x) {
  SmallVector<int64_t> order = {0, b.rank(x) - 1};
  order.append(axesFrom(1, b.rank(x) - 1));
  return b.transpose(x, order);
}

Value tcc::channelsLast(PrimBuilder &b, Value x) {
  SmallVector<int64_t> order = {0};
  order.append(axesFrom(2, b.rank(x)));
  order.push_back(1);
  return b.transpose(x, order);
}
