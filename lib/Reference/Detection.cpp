//===- Detection.cpp - Non-maximum suppression ---------------------------===//
#include "Reference/Evaluators.h"

namespace tcc::reference {

namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box boxOf(const float *values, bool centerPoint) {
  auto [a, b, c, d] = std::tuple(values[0], values[1], values[2], values[3]);
  if (centerPoint) // x, y, width, height
    return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

/// Intersection over union; 0 for boxes that do not meet or have no area.
float overlap(const Box &a, const Box &b) {
  float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0))
    return 0;
  float common = height * width;
  return common / (a.area() + b.area() - common);
}

/// Indices of the boxes that one class of one image keeps, best first.
std::vector<int64_t> keptBoxes(llvm::ArrayRef<Box> boxes, const float *scores, int64_t limit,
                               float overlapLimit, float scoreLimit) {
  std::vector<int64_t> order, kept;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i)
    if (scores[i] > scoreLimit)
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return scores[i] > scores[j] || (scores[i] == scores[j] && i < j);
  });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= limit)
      break;
    bool free =
        llvm::none_of(kept, [&](int64_t j) { return overlap(boxes[i], boxes[j]) > overlapLimit; });
    if (free)
      kept.push_back(i);
  }
  return kept;
}

llvm::Expected<Tensor> nonMaxSuppression(prim::NonMaxSuppressionOp op, Operands operands) {
  const Tensor &boxes = operands[0], &scores = operands[1];
  int64_t batches = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
  llvm::SmallVector<int64_t> expected{batches, count, 4};
  if (boxes.shape() != llvm::ArrayRef(expected))
    return userError("boxes have shape " + shapeText(boxes.shape()) + ", expected " +
                     shapeText(expected));
  int64_t limit = operands[2].integer(0);
  auto overlapLimit = static_cast<float>(operands[3].real(0));
  auto scoreLimit = static_cast<float>(operands[4].real(0));
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<Box> image;
    for (int64_t i = 0; i < count; ++i)
      image.push_back(boxOf(boxes.as<float>() + (b * count + i) * 4, op.getCenterPoint()));
    for (int64_t c = 0; c < classes; ++c) {
      const float *line = scores.as<float>() + (b * classes + c) * count;
      for (int64_t box : keptBoxes(image, line, limit, overlapLimit, scoreLimit))
        rows.insert(rows.end(), {b, c, box});
    }
  }
  return Tensor::ofIntegers(DType::I64, {static_cast<int64_t>(rows.size() / 3), 3}, rows);
}

} // namespace

void addDetection(Evaluators &all) { all.add<prim::NonMaxSuppressionOp, nonMaxSuppression>(); }

} // namespace tcc::reference
