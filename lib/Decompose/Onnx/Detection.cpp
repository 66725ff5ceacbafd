//===- Detection.cpp - NonMaxSuppression -----------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Idioms/Suppression.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

/// The scalar operand i as `elementType`.
FailureOr<Value> limit(NodeContext &c, size_t i, double otherwise, Type elementType) {
  if (!c.has(i))
    return c.b.scalar(otherwise, elementType);
  auto given = scalarOperand(c, i);
  return failed(given) ? given : FailureOr<Value>(c.b.cast(*given, elementType));
}

/// boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold.
LogicalResult nonMaxSuppression(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  auto most = limit(c, 2, 0, b.builder().getI64Type()), overlap = limit(c, 3, 0, f32),
       score = limit(c, 4, Suppression::kLowest, f32);
  if (failed(most) || failed(overlap) || failed(score))
    return failure();
  Suppression o{c.in(0),  c.in(1), b.readElements(*most)[0],
                *overlap, *score,  c.intAttr("center_point_box", 0) != 0};
  Value rows = suppress(b, o);
  return rows ? c.give(rows) : failure();
}

} // namespace

void tcc::populateOnnxDetectionRules(RuleSet &rules) {
  rules.add("onnx", "NonMaxSuppression", nonMaxSuppression);
}
