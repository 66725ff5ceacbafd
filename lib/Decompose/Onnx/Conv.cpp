//===- Conv.cpp - Convolutions --------------------------------------------===//
//
// Four ways to say how much is padded come down to low and high pads. A transposed convolution is
// one of a dilated input, of which the stated part is cut out.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/OpenConv.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Window.h"

using namespace mlir;
using namespace tcc;

namespace {

/// Adds a bias along the channels and narrows.
LogicalResult finish(NodeContext &c, Value result, size_t bias, Type own) {
  if (c.has(bias)) {
    Value v = c.b.cast(c.in(bias), c.b.elem(result));
    if (c.b.rank(v) != 1)
      return c.fail("the bias must be a vector");
    result = c.b.add(result, alongAxis(c.b, v, 1, c.b.rank(result)));
  }
  return c.give(c.b.cast(result, own));
}

/// Whether only a run knows the extents of the kernel.
bool isOpen(NodeContext &c) {
  RankedTensorType t = c.b.type(c.in(1));
  return t.getRank() > 2 && ShapedType::isDynamicShape(t.getShape().drop_front(2)) &&
         !c.intsAttr("kernel_shape");
}

bool isWithDynamicPads(NodeContext &c) {
  return c.node.getTarget() == "ConvTransposeWithDynamicPads";
}

/// What of the full result of a transposed convolution is cut off, and what stays.
struct Crop {
  Dim low, high, size;
};

/// ONNX ConvTranspose: pads (of ONNX Runtime's own an operand), or output_shape, or auto_pad say
/// what is cut off. `spans`: what the kernel covers.
FailureOr<SmallVector<Crop>> transposedCrops(NodeContext &c, Value x, ArrayRef<Dim> spans,
                                             ArrayRef<int64_t> strides, ArrayRef<int64_t> extra) {
  PrimBuilder &b = c.b;
  size_t count = spans.size();
  auto shape = c.intsAttr("output_shape");
  if (shape && shape->size() == count + 2)
    shape->erase(shape->begin(), shape->begin() + 2);
  if (shape && shape->size() != count)
    return c.fail("'output_shape' needs " + llvm::Twine(count) + " entries");
  std::string mode = c.stringAttr("auto_pad", "NOTSET");
  Dims pads(2 * count, b.dim(0));
  if (auto given = c.intsAttr("pads"))
    pads = llvm::map_to_vector(*given, [&](int64_t pad) -> Dim { return b.dim(pad); });
  if (isWithDynamicPads(c) && c.has(2)) {
    auto given = hostInts(c, 2, 2 * count);
    if (failed(given))
      return failure();
    pads = *given;
  }
  if (pads.size() != 2 * count)
    return c.fail("'pads' needs " + llvm::Twine(2 * count) + " entries");
  SmallVector<Crop> crops;
  for (size_t i = 0; i < count; ++i) {
    Dim extent = b.dim(x, i + 2), stride = b.dim(strides[i]);
    Dim full = b.addDims(b.mulDims(b.subDims(extent, b.dim(1)), stride),
                         b.addDims(spans[i], b.dim(extra[i])));
    bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!shape && !same) {
      Dim low = mode == "VALID" ? b.dim(0) : pads[i];
      Dim high = mode == "VALID" ? b.dim(0) : pads[i + count];
      crops.push_back({low, high, b.subDims(full, b.addDims(low, high))});
      continue;
    }
    // Nothing is put before the result: what lies beyond the full one is bias.
    Dim total = shape ? b.subDims(full, b.dim((*shape)[i]))
                      : b.addDims(b.subDims(spans[i], stride), b.dim(extra[i]));
    total = b.maxDims(total, b.dim(0));
    Dim size = shape ? b.dim((*shape)[i]) : b.subDims(full, total);
    Dim half = b.floorDivDims(total, b.dim(2));
    Dim low = mode == "SAME_UPPER" ? half : b.subDims(total, half);
    crops.push_back({low, b.subDims(b.subDims(full, size), low), size});
  }
  return crops;
}

/// How a convolution by filters of open extents, which are `spans` with what lies between their
/// elements, is padded, or what of its full result is cut off.
LogicalResult readPads(NodeContext &c, ArrayRef<Dim> spans, ArrayRef<int64_t> extra, OpenConv &o) {
  PrimBuilder &b = c.b;
  size_t count = spans.size();
  o.extra = llvm::map_to_vector(extra, [&](int64_t more) -> Dim { return b.dim(more); });
  if (o.transposed) {
    auto crops = transposedCrops(c, o.x, spans, o.strides, extra);
    if (failed(crops))
      return failure();
    for (const Crop &crop : *crops) {
      o.low.push_back(crop.low);
      o.high.push_back(crop.high);
    }
    return success();
  }
  SmallVector<int64_t> pads = c.intsAttr("pads").value_or(SmallVector<int64_t>(2 * count, 0));
  std::string mode = c.stringAttr("auto_pad", "NOTSET");
  if (pads.size() != 2 * count)
    return c.fail("'pads' needs " + llvm::Twine(2 * count) + " entries");
  for (size_t i = 0; i < count; ++i) {
    Dim low = b.dim(mode == "VALID" ? 0 : pads[i]);
    Dim high = b.dim(mode == "VALID" ? 0 : pads[i + count]);
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
      std::tie(low, high) =
          samePadding(b, b.dim(o.x, i + 2), spans[i], o.strides[i], mode == "SAME_UPPER");
    o.low.push_back(low);
    o.high.push_back(high);
  }
  return success();
}

LogicalResult convolveOpen(NodeContext &c, bool transposed) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), w = c.in(1);
  int64_t groups = c.intAttr("group", 1), axes = b.rank(w) - 2;
  auto list = [&](StringRef name, int64_t otherwise) {
    return c.intsAttr(name).value_or(SmallVector<int64_t>(axes, otherwise));
  };
  OpenConv o{x, w, b.dim(groups), list("strides", 1), list("dilations", 1)};
  o.transposed = transposed;
  SmallVector<int64_t> extra = list("output_padding", 0);
  auto below = [](ArrayRef<int64_t> values, int64_t least) {
    return llvm::any_of(values, [&](int64_t v) { return v < least || v > INT32_MAX; });
  };
  if (b.rank(x) != axes + 2 || static_cast<int64_t>(o.strides.size()) != axes ||
      static_cast<int64_t>(o.dilations.size()) != axes ||
      static_cast<int64_t>(extra.size()) != axes || below(o.strides, 1) || below(o.dilations, 1) ||
      below(extra, 0) || groups < 1)
    return c.fail("strides, dilations, output_padding or groups do not fit the operand");
  Dims spans;
  for (int64_t i = 0; i < axes; ++i) {
    Dim between = b.mulDims(b.subDims(b.dim(w, i + 2), b.dim(1)), b.dim(o.dilations[i]));
    spans.push_back(b.addDims(between, b.dim(1)));
  }
  if (failed(readPads(c, spans, extra, o)))
    return failure();
  size_t bias = isWithDynamicPads(c) ? 3 : 2;
  Type own = b.elem(x), wide = c.has(bias) ? wideType(own) : own;
  ConvEnd end{{}, own};
  if (c.has(bias)) {
    end.bias = b.cast(c.in(bias), wide);
    if (b.rank(end.bias) != 1)
      return c.fail("the bias must be a vector");
  }
  return c.give(openConv(b, o, wide, end));
}

LogicalResult conv(NodeContext &c) {
  if (isOpen(c))
    return convolveOpen(c, /*transposed=*/false);
  PrimBuilder &b = c.b;
  Value x = c.in(0), w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  auto window = convolutionWindow(c, x, w, groups);
  if (failed(window))
    return failure();
  Type own = b.elem(x), wide = c.has(2) ? wideType(own) : own;
  return finish(c, convolve(b, x, w, *window, groups, wide), 2, own);
}

LogicalResult convTranspose(NodeContext &c) {
  if (isOpen(c))
    return convolveOpen(c, /*transposed=*/true);
  PrimBuilder &b = c.b;
  Value x = c.in(0), w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  auto kernel = kernelOf(c, w);
  if (failed(kernel) || failed(checkChannels(c, x, w, groups, /*transposed=*/true)))
    return failure();
  size_t count = kernel->size();
  auto list = [&](StringRef name, int64_t otherwise) {
    return c.intsAttr(name).value_or(SmallVector<int64_t>(count, otherwise));
  };
  PrimBuilder::Window window;
  window.window = *kernel;
  window.strides = list("strides", 1);
  window.dilations = list("dilations", 1);
  SmallVector<int64_t> extra = list("output_padding", 0);
  if (window.strides.size() != count || window.dilations.size() != count || extra.size() != count ||
      b.rank(x) != static_cast<int64_t>(count) + 2)
    return c.fail("strides, dilations, output_padding and the operand differ in rank");
  for (auto [s, d, e] : llvm::zip(window.strides, window.dilations, extra))
    if (s < 1 || d < 1 || e < 0)
      return c.fail("has a stride or dilation below 1");
  Dims spans;
  for (auto [extent, dilation] : llvm::zip(*kernel, window.dilations))
    spans.push_back(b.dim((extent - 1) * dilation + 1));
  auto crops = transposedCrops(c, x, spans, window.strides, extra);
  if (failed(crops))
    return failure();
  // A constant crop is the padding of the convolution; what cannot be is sliced off.
  Dims starts(2, b.dim(0)), sizes = {b.dim(x, 0), b.dim(0)};
  window.inputDilation = window.strides;
  window.strides.assign(count, 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t reach = ((*kernel)[i] - 1) * window.dilations[i];
    auto begin = b.known((*crops)[i].low);
    int64_t low = begin && *begin <= reach ? reach - *begin : reach;
    Dim start = b.subDims((*crops)[i].low, b.dim(reach - low));
    // Enough after the end for the extra outputs, and exactly that where known.
    Dim extent = b.addDims(
        b.mulDims(b.subDims(b.dim(x, i + 2), b.dim(1)), b.dim(window.inputDilation[i])), b.dim(1));
    Dim produced = b.addDims(extent, b.dim(low - reach));
    Dim need = b.subDims(b.addDims(start, (*crops)[i].size), produced);
    auto high = b.known(need);
    if (high && *high < 0) // cropped by more than the kernel reaches
      high = 0;
    if (!high)
      b.check(b.compareDims(arith::CmpIPredicate::sle, need, b.dim(reach + extra[i])),
              "ConvTranspose: output_shape is larger than the result");
    window.low.push_back(low);
    window.high.push_back(high.value_or(reach + extra[i]));
    starts.push_back(start);
    sizes.push_back((*crops)[i].size);
  }
  size_t bias = isWithDynamicPads(c) ? 3 : 2;
  Type own = b.elem(x), wide = c.has(bias) ? wideType(own) : own;
  ConvEnd end{{}, own};
  if (c.has(bias)) {
    end.bias = b.cast(c.in(bias), wide);
    Dim filters = b.mulDims(b.dim(w, 1), b.dim(groups));
    auto have = b.rank(end.bias) == 1 ? b.known(b.dim(end.bias, 0)) : std::optional<int64_t>(-1);
    if (have && *have != b.known(filters).value_or(*have < 0 ? 0 : *have))
      return c.fail("the bias must be a vector of a number for each channel");
    requireSame(b, b.dim(end.bias, 0), filters, "the bias and the channels");
  }
  Value result = widenedConv(b, x, transposedWeight(b, w, groups), window, groups, wide, end);
  sizes[1] = b.dim(result, 1);
  return c.give(b.slice(result, starts, sizes, SmallVector<int64_t>(count + 2, 1)));
}

} // namespace

void tcc::populateOnnxConvRules(RuleSet &rules) {
  rules.add("onnx", "Conv", conv);
  rules.add("onnx", "ConvTranspose", convTranspose);
  rules.add("com.microsoft", "ConvTransposeWithDynamicPads", convTranspose);
}
