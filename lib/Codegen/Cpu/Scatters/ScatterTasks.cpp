//===- ScatterTasks.cpp - How updates become tasks ------------------------===//
//
// A task has a part of the result of its own, so that no two tasks meet in a place: parts of the
// first indexed axis where few updates change a large tensor, else of what is not indexed
// (ScatterKernel.cpp says what a task does).
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "ScatterRuns.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Of `extent` indices, which lie side by side in memory or not: a part worth a task.
static int64_t partOf(int64_t extent, bool dense) {
  constexpr int64_t kTypical = 512, kParts = 16, kLine = 32, kMost = 256;
  int64_t part = llvm::divideCeil(ShapedType::isDynamic(extent) ? kTypical : extent, kParts);
  return dense ? std::clamp<int64_t>(llvm::alignTo(part, kLine), kLine, kMost)
               : std::max<int64_t>(part, 1);
}

bool tcc::codegen::isUniformFrom(Value indices, unsigned axis) {
  auto same = [&](ArrayRef<int64_t> extents, ArrayRef<int64_t> axes) {
    for (auto [extent, there] : llvm::zip_equal(extents, axes))
      if (there >= axis && extent != 1)
        return false;
    return true;
  };
  if (auto broadcast = indices.getDefiningOp<prim::BroadcastOp>())
    return same(tensorType(broadcast.getX()).getShape(), broadcast.getAxes());
  return same(tensorType(indices).getShape(),
              llvm::to_vector(llvm::seq<int64_t>(0, tensorType(indices).getRank())));
}

/// Parts of the indexed axis after `outer` others, if `lookups` indices for each of those are few.
static std::optional<ScatterTasks> ownRows(RankedTensorType type, unsigned outer, int64_t lookups) {
  constexpr int64_t kTasks = 16, kFewTasks = 2, kLeastBytes = 64; // that are copied for each
  ArrayRef<int64_t> shape = type.getShape(), rest = shape.drop_front(outer);
  if (ShapedType::isDynamicShape(shape) || lookups < 0 || rest.front() == 0)
    return std::nullopt;
  int64_t others = llvm::product_of(shape.take_front(outer), int64_t(1));
  int64_t bytes = elementBytes(type.getElementType()) * llvm::product_of(rest, int64_t(1));
  int64_t worthwhile = bytes / (kLeastBytes * std::max<int64_t>(lookups, 1));
  int64_t most = std::clamp<int64_t>(kTasks / std::max<int64_t>(others, 1), 1, rest.front());
  int64_t parts = std::min(most, worthwhile);
  if (parts < std::min(most, kFewTasks))
    return std::nullopt;
  return ScatterTasks{outer, outer, (rest.front() + parts - 1) / parts};
}

/// Rows of a task where updates are runs.
static int64_t rowsOfRuns(int64_t rows) {
  constexpr int64_t kTypical = 256, kTasks = 16;
  return std::max<int64_t>(1,
                           llvm::divideCeil(ShapedType::isDynamic(rows) ? kTypical : rows, kTasks));
}

/// Elements of `shape`; -1: nobody knows.
static int64_t known(ArrayRef<int64_t> shape) {
  return ShapedType::isDynamicShape(shape) ? -1 : llvm::product_of(shape, int64_t(1));
}

ScatterTasks tcc::codegen::scatterTasks(Operation *op) {
  RankedTensorType type = tensorType(op->getResult(0));
  ArrayRef<int64_t> shape = type.getShape();
  ScatterTasks tasks;
  unsigned axis = 0;
  if (auto along = dyn_cast<prim::ScatterAlongOp>(op)) {
    tasks.outer = along.getAxis();
    axis = along.getAxis() + 1;
    ArrayRef<int64_t> indices =
        tensorType(along.getIndices()).getShape().drop_front(along.getAxis());
    bool one = isUniformFrom(along.getIndices(), axis);
    if (auto rows = ownRows(type, tasks.outer, known(one ? indices.take_front() : indices)))
      return *rows;
  } else if (auto tuples = dyn_cast<prim::ScatterNdOp>(op)) {
    ArrayRef<int64_t> indices = tensorType(tuples.getIndices()).getShape();
    axis = indices.back();
    if (auto rows = axis ? ownRows(type, 0, known(indices.drop_back())) : std::nullopt)
      return *rows;
  } else if (isa<prim::ScatterRunsOp>(op)) {
    return {0, 0, rowsOfRuns(shape.front())};
  } else if (isa<prim::InsertSliceOp>(op)) {
    while (axis + 1 < shape.size() && shape[axis] == 1)
      ++axis;
  } else {
    return tasks;
  }
  if (axis < shape.size()) {
    tasks.axis = axis;
    tasks.part = partOf(shape[axis], axis + 1 == shape.size());
  }
  return tasks;
}
