//===- Vision.cpp - torchvision's operators -------------------------------===//
//
// Detection's operators mean what ONNX's do, which were made after them; only the
// arguments are arranged in another way.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

NamedAttribute real(AtenNode &a, StringRef name, double value) {
  return a.b.builder().getNamedAttr(name, a.b.builder().getF32FloatAttr(static_cast<float>(value)));
}

/// Indices of the boxes that are kept, by falling score.
LogicalResult nonMaxSuppression(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f32 = b.builder().getF32Type(), i64 = b.builder().getI64Type();
  Value boxes = a.tensor("dets"), scores = a.tensor("scores");
  if (b.rank(boxes) != 2 || b.rank(scores) != 1)
    return a.fail("needs boxes [N, 4] and scores [N]");
  Value most = a.extentTensor(b.dim(boxes, 0), i64);
  Value overlap = b.scalar(a.real("iou_threshold", 0), f32);
  auto results =
      a.onnx("NonMaxSuppression",
             {b.unsqueeze(b.cast(boxes, f32), {0}), b.unsqueeze(b.cast(scores, f32), {0, 1}),
              b.unsqueeze(most, {0}), b.unsqueeze(overlap, {0})},
             {});
  if (failed(results))
    return failure();
  Value triples = (*results)[0]; // batch, class, box
  return a.give(b.squeeze(b.sliceAxis(triples, 1, b.dim(2), b.dim(1)), {1}));
}

/// Regions are [K, 5]: the picture, then the corners.
LogicalResult roiAlign(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.wide()), regions = a.cast(a.tensor("rois"), a.wide());
  if (b.rank(x) != 4 || b.rank(regions) != 2 || b.known(b.dim(regions, 1)) != 5)
    return a.fail("needs pictures and regions [K, 5]");
  Value corners = b.sliceAxis(regions, 1, b.dim(1), b.dim(4));
  Value picture = b.squeeze(b.sliceAxis(regions, 1, b.dim(0), b.dim(1)), {1});
  bool aligned = a.flag("aligned", false);
  auto results = a.onnx(
      "RoiAlign", {x, corners, b.cast(picture, b.builder().getI64Type())},
      {a.attribute("mode", "avg"), a.attribute("output_height", a.integer("pooled_height", 1)),
       a.attribute("output_width", a.integer("pooled_width", 1)),
       a.attribute("sampling_ratio", std::max<int64_t>(a.integer("sampling_ratio", -1), 0)),
       a.attribute("coordinate_transformation_mode", aligned ? "half_pixel" : "output_half_pixel"),
       real(a, "spatial_scale", a.real("spatial_scale", 1))});
  return failed(results) ? failure() : a.give((*results)[0]);
}

LogicalResult deformableConv(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto wideTensor = [&](StringRef name) { return a.cast(a.tensor(name), a.wide()); };
  Value w = wideTensor("weight");
  if (b.rank(w) != 4 || b.type(w).isDynamicDim(2) || b.type(w).isDynamicDim(3))
    return a.fail("needs a weight of rank 4 and a known kernel");
  auto pair = [&](StringRef name, int64_t otherwise) {
    return SmallVector<int64_t>{a.integer((name + "_h").str(), otherwise),
                                a.integer((name + "_w").str(), otherwise)};
  };
  SmallVector<int64_t> pads = pair("pad", 0), kernel(b.type(w).getShape().drop_front(2));
  pads.append({pads[0], pads[1]});
  Value mask = a.flag("use_mask", false) ? wideTensor("mask") : Value();
  auto results =
      a.onnx("DeformConv", {wideTensor("input"), w, wideTensor("offset"), wideTensor("bias"), mask},
             {a.attribute("strides", pair("stride", 1)),
              a.attribute("dilations", pair("dilation", 1)), a.attribute("pads", pads),
              a.attribute("kernel_shape", kernel), a.attribute("group", a.integer("groups", 1)),
              a.attribute("offset_group", a.integer("offset_groups", 1))});
  return failed(results) ? failure() : a.give((*results)[0]);
}

} // namespace

void tcc::populateAtenVisionRules(RuleSet &rules) {
  addRules(rules,
           {{"nms", "default", "dets scores", nonMaxSuppression},
            {"roi_align", "default", "input rois", roiAlign},
            {"deform_conv2d", "default", "input weight offset mask bias", deformableConv}},
           "torchvision");
}
