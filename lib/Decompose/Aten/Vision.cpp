//===- Vision.cpp - torchvision's operators -------------------------------===//
//
// Detection's operators mean what ONNX's do, which were made after them; only the
// arguments are arranged in another way.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/DeformableConv.h"
#include "Decompose/Idioms/RegionAlign.h"
#include "Decompose/Idioms/Suppression.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

/// Indices of the boxes that are kept, by falling score.
LogicalResult nonMaxSuppression(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f32 = b.builder().getF32Type();
  Value boxes = a.tensor("dets"), scores = a.tensor("scores");
  if (b.rank(boxes) != 2 || b.rank(scores) != 1)
    return a.fail("needs boxes [N, 4] and scores [N]");
  Suppression o{b.unsqueeze(b.cast(boxes, f32), {0}), b.unsqueeze(b.cast(scores, f32), {0, 1}),
                b.dim(boxes, 0), b.scalar(a.real("iou_threshold", 0), f32)};
  Value triples = suppress(b, o); // batch, class, box
  if (!triples)
    return failure();
  return a.give(b.squeeze(b.sliceAxis(triples, 1, b.dim(2), b.dim(1)), {1}));
}

/// Regions are [K, 5]: the picture, then the corners.
LogicalResult pooledRegions(AtenNode &a, decltype(alignRegions) pool) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.wide()), regions = a.cast(a.tensor("rois"), a.wide());
  if (b.rank(x) != 4 || b.rank(regions) != 2 || b.known(b.dim(regions, 1)) != 5)
    return a.fail("needs pictures and regions [K, 5]");
  Value corners = b.sliceAxis(regions, 1, b.dim(1), b.dim(4));
  Value picture = b.squeeze(b.sliceAxis(regions, 1, b.dim(0), b.dim(1)), {1});
  RegionPooling o;
  o.height = a.integer("pooled_height", 1);
  o.width = a.integer("pooled_width", 1);
  o.samples = std::max<int64_t>(a.integer("sampling_ratio", -1), 0);
  o.halfPixel = a.flag("aligned", pool == alignParts);
  o.scale = static_cast<float>(a.real("spatial_scale", 1));
  Value result = pool(b, x, corners, b.cast(picture, b.builder().getI64Type()), o);
  return result ? a.give(result) : failure();
}

LogicalResult roiAlign(AtenNode &a) { return pooledRegions(a, alignRegions); }
LogicalResult roiPool(AtenNode &a) {
  if (a.c.wants(1))
    return a.fail("the places of the largest elements are not supported");
  return pooledRegions(a, maximaOfRegions);
}

/// Also which channel of the pictures each element is of.
LogicalResult pooledParts(AtenNode &a, decltype(alignParts) pool) {
  PrimBuilder &b = a.b;
  if (failed(pooledRegions(a, pool)))
    return failure();
  if (!a.c.wants(1))
    return success();
  Value result = a.c.results[0].value;
  Dims all = b.dims(result), ofOne = all;
  ofOne[0] = b.dim(1);
  Value channel = b.iota({b.productOf(ofOne)}, 0, b.builder().getI32Type());
  return a.give(1, b.broadcastTo(b.reshape(channel, ofOne), all));
}

LogicalResult psRoiAlign(AtenNode &a) { return pooledParts(a, alignParts); }
LogicalResult psRoiPool(AtenNode &a) { return pooledParts(a, meansOfParts); }

/// torchvision asks before it calls an operator; what followed the answer is in the graph.
LogicalResult cudaVersion(AtenNode &a) { return a.giveExtent(a.b.dim(-1)); }

LogicalResult deformConv(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto wideTensor = [&](StringRef name) { return a.cast(a.tensor(name), a.wide()); };
  Value w = wideTensor("weight");
  if (b.rank(w) != 4 || b.type(w).isDynamicDim(2) || b.type(w).isDynamicDim(3))
    return a.fail("needs a weight of rank 4 and a known kernel");
  auto pair = [&](StringRef name, int64_t otherwise) {
    return SmallVector<int64_t>{a.integer((name + "_h").str(), otherwise),
                                a.integer((name + "_w").str(), otherwise)};
  };
  DeformableConv o{wideTensor("input"), w, wideTensor("offset"), wideTensor("bias"),
                   a.flag("use_mask", false) ? wideTensor("mask") : Value()};
  o.kernel.assign(b.type(w).getShape().begin() + 2, b.type(w).getShape().end());
  o.strides = pair("stride", 1);
  o.dilations = pair("dilation", 1);
  for (int64_t pad : pair("pad", 0))
    o.low.push_back(b.dim(pad));
  o.high = o.low;
  o.groups = a.integer("groups", 1);
  o.sets = a.integer("offset_groups", 1);
  if (llvm::any_of(o.strides, [](int64_t s) { return s < 1; }) ||
      llvm::any_of(o.dilations, [](int64_t d) { return d < 1; }))
    return a.fail("has a stride or dilation below 1");
  Value result = deformableConv(b, o);
  return result ? a.give(result) : failure();
}

} // namespace

void tcc::populateAtenVisionRules(RuleSet &rules) {
  addRules(rules,
           {{"nms", "default", "dets scores", nonMaxSuppression},
            {"roi_align", "default", "input rois", roiAlign},
            {"roi_pool", "default", "input rois", roiPool},
            {"ps_roi_align", "default", "input rois", psRoiAlign},
            {"ps_roi_pool", "default", "input rois", psRoiPool},
            {"_cuda_version", "default", "", cudaVersion},
            {"deform_conv2d", "default", "input weight offset mask bias", deformConv}},
           "torchvision");
}
