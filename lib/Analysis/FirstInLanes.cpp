//===- FirstInLanes.cpp - The first few of lines that are lanes -----------===//
#include "tcc/Analysis/FirstInLanes.h"

using namespace mlir;
using namespace tcc;

bool tcc::keepsFirstInLanes(Operation *op) {
  // With more, most of what is kept would be in memory.
  constexpr int64_t kMost = 16, kLongest = int64_t(1) << 30;
  auto topK = dyn_cast<prim::TopKOp>(op);
  if (!topK)
    return false;
  RankedTensorType x = tensorType(topK.getX()), kept = tensorType(topK->getResult(0));
  int64_t axis = topK.getAxis();
  return axis + 1 < x.getRank() && !kept.isDynamicDim(axis) && kept.getDimSize(axis) > 0 &&
         kept.getDimSize(axis) <= kMost && !x.isDynamicDim(axis) &&
         x.getDimSize(axis) <= kLongest && !x.getElementType().isInteger(1);
}
