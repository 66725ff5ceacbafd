//===- Conv.cpp - ATen convolutions ---------------------------------------===//
//
// A transposed convolution is the convolution of its operand, spread by the
// stride, with the mirrored kernel.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/OpenConv.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

using List = SmallVector<int64_t>;

struct Convolution {
  List kernel, stride, dilation, low, high, extra;
  int64_t groups;
  bool transposed;
  size_t axes() const { return kernel.size(); }
};

/// Padding by number, or "same" and "valid".
LogicalResult readPadding(AtenNode &a, Convolution &s) {
  StringRef mode = a.text("padding");
  if (mode == "valid") {
    s.low = s.high = List(s.axes(), 0);
    return success();
  }
  if (mode.empty()) {
    auto padding = a.window("padding", s.axes(), 0);
    if (failed(padding))
      return failure();
    s.low = s.high = *padding;
    return success();
  }
  if (mode != "same")
    return a.fail("unknown padding");
  for (size_t i = 0; i < s.axes(); ++i) {
    int64_t total = s.dilation[i] * (s.kernel[i] - 1);
    s.low.push_back(total / 2);
    s.high.push_back(total - total / 2);
  }
  return success();
}

FailureOr<Convolution> read(AtenNode &a, Value w, bool transposed) {
  PrimBuilder &b = a.b;
  if (b.rank(w) < 3)
    return a.fail("the weight must have rank 3 or more");
  Convolution s;
  s.kernel.assign(b.type(w).getShape().drop_front(2).begin(), b.type(w).getShape().end());
  s.groups = a.integer("groups", 1);
  s.transposed = a.flag("transposed", transposed);
  auto stride = a.window("stride", s.axes(), 1), dilation = a.window("dilation", s.axes(), 1),
       extra = a.window("output_padding", s.axes(), 0);
  if (failed(stride) || failed(dilation) || failed(extra))
    return failure();
  s.stride = *stride;
  s.dilation = *dilation;
  s.extra = *extra;
  if (llvm::is_contained(s.stride, 0) || llvm::is_contained(s.dilation, 0) ||
      llvm::is_contained(s.kernel, 0) || s.groups < 1)
    return a.fail("a stride, a dilation, a kernel extent or the number of groups is 0");
  return failed(readPadding(a, s)) ? FailureOr<Convolution>(failure()) : s;
}

LogicalResult checkShapes(AtenNode &a, Value x, Value w, const Convolution &s) {
  PrimBuilder &b = a.b;
  if (b.rank(x) != static_cast<int64_t>(s.axes()) + 2)
    return a.fail("the operand has rank " + llvm::Twine(b.rank(x)) + ", the weight " +
                  llvm::Twine(b.rank(w)));
  auto shape = b.type(w).getShape();
  auto channels = b.known(b.dim(x, 1));
  int64_t expected = s.transposed ? shape[0] : shape[1] * s.groups;
  if ((b.known(b.dim(w, 0)) && shape[0] % s.groups != 0) || (channels && *channels != expected))
    return a.fail("the channels of operand and weight do not fit");
  for (size_t i = 0; i < s.axes(); ++i) {
    auto extent = b.known(b.dim(x, i + 2));
    int64_t span = s.dilation[i] * (s.kernel[i] - 1) + 1;
    if (!s.transposed && extent && *extent + s.low[i] + s.high[i] < span)
      return a.fail("the kernel is larger than its operand");
  }
  return success();
}

Value direct(PrimBuilder &b, Value x, Value w, const Convolution &s, Type t, const ConvEnd &end) {
  PrimBuilder::Window window;
  window.window = s.kernel;
  window.strides = s.stride;
  window.dilations = s.dilation;
  window.inputDilation.assign(s.axes(), 1);
  window.low = s.low;
  window.high = s.high;
  return widenedConv(b, x, w, window, s.groups, t, end);
}

Value transposed(PrimBuilder &b, Value x, Value w, const Convolution &s, Type t,
                 const ConvEnd &end) {
  PrimBuilder::Window window;
  window.window = s.kernel;
  window.strides.assign(s.axes(), 1);
  window.dilations = s.dilation;
  window.inputDilation = s.stride;
  List cropLow(s.axes(), 0), cropHigh(s.axes(), 0);
  for (size_t i = 0; i < s.axes(); ++i) {
    int64_t full = s.dilation[i] * (s.kernel[i] - 1);
    int64_t low = full - s.low[i], high = full - s.high[i] + s.extra[i];
    // What is cut beyond the kernel's own border is sliced off afterwards.
    cropLow[i] = std::max<int64_t>(-low, 0);
    cropHigh[i] = std::max<int64_t>(-high, 0);
    window.low.push_back(std::max<int64_t>(low, 0));
    window.high.push_back(std::max<int64_t>(high, 0));
  }
  Value y = widenedConv(b, x, transposedWeight(b, w, s.groups), window, s.groups, t, end);
  for (size_t i = 0; i < s.axes(); ++i)
    if (cropLow[i] || cropHigh[i])
      y = b.sliceAxis(y, i + 2, b.dim(cropLow[i]),
                      b.subDims(b.dim(y, i + 2), b.dim(cropLow[i] + cropHigh[i])));
  return y;
}

/// By filters, or in groups, whose number or extents only a run knows.
LogicalResult convolveOpen(AtenNode &a, Value x, Value w, bool isTransposed) {
  PrimBuilder &b = a.b;
  int64_t axes = b.rank(w) - 2;
  auto stride = a.window("stride", axes, 1), dilation = a.window("dilation", axes, 1),
       extra = a.window("output_padding", axes, 0);
  if (failed(stride) || failed(dilation) || failed(extra))
    return failure();
  if (llvm::any_of(*stride, [](int64_t v) { return v < 1; }) ||
      llvm::any_of(*dilation, [](int64_t v) { return v < 1; }))
    return a.fail("a stride or a dilation is below 1");
  OpenConv o{x, w, a.extent("groups", 1), *stride, *dilation, {}, {}, {}, isTransposed};
  StringRef mode = a.text("padding");
  auto padding = mode.empty() ? a.window("padding", axes, 0) : List(axes, 0);
  if (failed(padding) || (!mode.empty() && mode != "valid" && mode != "same"))
    return a.fail("unknown padding");
  for (int64_t i = 0; i < axes; ++i) {
    Dim low = b.dim((*padding)[i]), high = low;
    if (mode == "same") {
      Dim total = b.mulDims(b.subDims(b.dim(w, i + 2), b.dim(1)), b.dim((*dilation)[i]));
      low = b.floorDivDims(total, b.dim(2));
      high = b.subDims(total, low);
    }
    o.low.push_back(low);
    o.high.push_back(high);
    o.extra.push_back(b.dim((*extra)[i]));
  }
  bool unbatched = b.rank(x) == axes + 1;
  if (unbatched)
    o.x = b.unsqueeze(x, {0});
  if (b.rank(o.x) != axes + 2)
    return a.fail("the operand has rank " + llvm::Twine(b.rank(x)) + ", the weight " +
                  llvm::Twine(b.rank(w)));
  Value bias = a.tensor("bias");
  Type wide = bias ? a.wide() : a.own();
  if (bias && b.rank(bias) != 1)
    return a.fail("the bias does not fit the channels");
  ConvEnd end{bias ? a.cast(bias, wide) : bias, a.own()};
  Value y = openConv(b, o, wide, end);
  return a.give(unbatched ? b.squeeze(y, {0}) : y);
}

LogicalResult convolve(AtenNode &a, bool isTransposed) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.own()), w = a.cast(a.tensor("weight"), a.own());
  bool turned = a.flag("transposed", isTransposed);
  if (b.rank(w) > 2 && isOpenConv(b, w, a.extent("groups", 1), turned))
    return convolveOpen(a, x, w, turned);
  auto s = read(a, w, isTransposed);
  if (failed(s))
    return failure();
  bool unbatched = b.rank(x) == static_cast<int64_t>(s->axes()) + 1;
  if (unbatched)
    x = b.unsqueeze(x, {0});
  if (failed(checkShapes(a, x, w, *s)))
    return failure();
  Value bias = a.tensor("bias");
  Type wide = bias ? a.wide() : a.own();
  ConvEnd end;
  if (bias) {
    Dim filters = s->transposed ? b.mulDims(b.dim(w, 1), b.dim(s->groups)) : b.dim(w, 0);
    auto want = b.known(filters);
    if (b.rank(bias) != 1 || (want && b.known(b.dim(bias, 0)).value_or(*want) != *want))
      return a.fail("the bias does not fit the channels");
    requireSame(b, b.dim(bias, 0), filters, "the bias and the filters");
    end = {a.cast(bias, wide), a.own()};
  }
  Value y = s->transposed ? transposed(b, x, w, *s, wide, end) : direct(b, x, w, *s, wide, end);
  return a.give(unbatched ? b.squeeze(y, {0}) : y);
}

LogicalResult conv(AtenNode &a) { return convolve(a, false); }
LogicalResult convTranspose(AtenNode &a) { return convolve(a, true); }

/// Over time: self [T, B, C], weight [K, C, O], bias [O], `pad` zeros at both ends.
LogicalResult convTime(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), w = a.cast(a.tensor("weight"), a.own());
  int64_t pad = a.integer("pad", 0);
  if (b.rank(x) != 3 || b.rank(w) != 3 || !b.type(w).hasStaticShape() || pad < 0)
    return a.fail("needs time, batch and channels, a weight of rank 3 and a 'pad' of at least 0");
  Convolution s;
  s.kernel = {b.type(w).getDimSize(0)};
  s.stride = s.dilation = {1};
  s.low = s.high = {pad};
  s.groups = 1;
  x = b.transpose(x, {1, 2, 0});
  w = b.transpose(w, {2, 1, 0});
  if (failed(checkShapes(a, x, w, s)))
    return failure();
  Value bias = a.tensor("bias");
  if (b.rank(bias) != 1 ||
      b.known(b.dim(bias, 0)).value_or(b.type(w).getDimSize(0)) != b.type(w).getDimSize(0))
    return a.fail("the bias does not fit the channels");
  Value y = direct(b, x, w, s, a.wide(), {a.cast(bias, a.wide()), a.own()});
  return a.give(b.transpose(y, {2, 0, 1}));
}

} // namespace

void tcc::populateAtenConvRules(RuleSet &rules) {
  addRules(rules, {{"conv1d", "default padding", "input weight", conv},
                   {"conv2d", "default padding", "input weight", conv},
                   {"conv3d", "default padding", "input weight", conv},
                   {"conv_tbc", "default", "self weight bias", convTime},
                   {"convolution", "default", "input weight", conv},
                   {"_convolution", "default", "input weight", conv},
                   {"conv_transpose1d", "default", "input weight", convTranspose},
                   {"conv_transpose2d", "input", "input weight", convTranspose},
                   {"conv_transpose3d", "input", "input weight", convTranspose}});
}
