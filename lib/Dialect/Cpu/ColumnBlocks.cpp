//===- ColumnBlocks.cpp - Reductions across rows that are read again ------===//
#include "tcc/Dialect/Cpu/ColumnBlocks.h"
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tcc;

bool tcc::reducesColumns(prim::ReduceOp op) {
  // Of more lines L2 keeps but short pieces, which memory gives slowly.
  constexpr int64_t kFewestLines = 8, kMostLines = 256, kWholeVectors = 16, kManyColumns = 256;
  constexpr int64_t kFewest = 1 << 15, kFewestTasks = 4, kTaskColumns = 32, kShortest = 7;
  auto type = tensorType(op.getX());
  ArrayRef<int64_t> shape = type.getShape(), axes = op.getAxes();
  bool together = !axes.empty() && axes.back() - axes.front() + 1 == int64_t(axes.size());
  if (!together || axes.back() + 1 == type.getRank() || !type.hasStaticShape() ||
      !isa<FloatType>(type.getElementType()) || narrowLinesOf(op))
    return false;
  int64_t rows = ShapedType::getNumElements(shape.take_front(axes.front()));
  int64_t lines = ShapedType::getNumElements(shape.slice(axes.front(), axes.size()));
  int64_t columns = ShapedType::getNumElements(shape.drop_front(axes.back() + 1));
  // Of fewer columns too many are done in a part of a vector.
  bool fills = columns >= kManyColumns || (columns >= kTaskColumns && columns % kWholeVectors == 0);
  return lines >= kFewestLines && lines <= kMostLines && fills && shape.back() >= kShortest &&
         type.getNumElements() >= kFewest && rows * (columns / kTaskColumns) >= kFewestTasks;
}

/// Whether results of `op` are repeated along what it reduces, behind steps of single points, for
/// something that is stored or long to compute. What is quickly summed again is sooner done so:
/// memory gives groups of whole rows at a higher speed.
static bool isSpread(prim::ReduceOp op) {
  constexpr size_t kMost = 64;
  auto isFull = [full = tensorType(op.getX()).getShape()](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && type.getShape() == full;
  };
  SmallVector<Operation *> left(op->getUsers());
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!left.empty() && seen.size() < kMost) {
    Operation *user = left.pop_back_val();
    if (isa<prim::ReduceOp>(user))
      continue;
    if (!prim::isElementwise(user) && !isa<prim::ReshapeOp, prim::BroadcastOp>(user)) {
      if (llvm::any_of(user->getOperands(), [&](Value v) {
            return isFull(v) && v.getDefiningOp() && seen.contains(v.getDefiningOp());
          }))
        return true;
      continue;
    }
    if (!seen.insert(user).second)
      continue;
    if (isFull(user->getResult(0)) && user->hasTrait<prim::VeryCostly>())
      return true;
    left.append(user->getUsers().begin(), user->getUsers().end());
  }
  return false;
}

/// Whether `v` is made of results of a reduction of the same axes that are repeated.
static bool isOfSpread(Value v, prim::ReduceOp op, unsigned depth = 10) {
  Operation *made = v.getDefiningOp();
  if (!made || depth == 0)
    return false;
  if (auto reduce = dyn_cast<prim::ReduceOp>(made))
    return reduce.getAxes() == op.getAxes() && reducesColumns(reduce) && isSpread(reduce) &&
           tensorType(reduce.getX()).getShape() == tensorType(op.getX()).getShape();
  return (prim::isElementwise(made) || isa<prim::ReshapeOp, prim::BroadcastOp>(made)) &&
         llvm::any_of(made->getOperands(),
                      [&](Value operand) { return isOfSpread(operand, op, depth - 1); });
}

bool tcc::rereadsColumns(prim::ReduceOp op) {
  return reducesColumns(op) && (isSpread(op) || isOfSpread(op.getX(), op));
}
