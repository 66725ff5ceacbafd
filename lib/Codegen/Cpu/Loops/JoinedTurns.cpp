//===- JoinedTurns.cpp - Transposes of few axes ---------------------------===//
//
// Axes that stay beside each other, as the spatial ones of an image whose channels become the last
// axis, are one. So joined, blocks of rows that are read across lines end where all pixels do, and
// not with each line: of 3x3x3 pixels 27 are beside each other, and of 14x14 196.
//
//   transpose 64x512x3x3x3 [0, 2, 3, 4, 1] -> 64x3x3x3x512
//   transpose 64x512x27 [0, 2, 1] -> 64x27x512
//
//===----------------------------------------------------------------------===//
#include "../Rows/CollapsedRows.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

/// The transpose of an argument that is all that `launch` does.
static prim::TransposeOp transposition(kernel::LaunchOp launch) {
  Block &body = launch.getBody().front();
  auto transpose = dyn_cast<prim::TransposeOp>(body.front());
  auto argument = transpose ? dyn_cast<BlockArgument>(transpose.getX()) : BlockArgument();
  bool isAll = argument && llvm::hasSingleElement(body.without_terminator()) &&
               argument.hasOneUse() && !tensorType(argument).getEncoding() &&
               launch.getNumResults() == 1;
  return isAll ? transpose : prim::TransposeOp();
}

void tcc::codegen::joinTurns(kernel::LaunchOp launch) {
  prim::TransposeOp transpose = transposition(launch);
  if (!transpose)
    return;
  auto argument = cast<BlockArgument>(transpose.getX());
  RankedTensorType from = tensorType(argument), to = tensorType(transpose.getResult());
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  // Runs of axes of the result that follow each other in the operand, by the first one there. What
  // only a run knows stays an axis of its own.
  SmallVector<int64_t> begins, extents;
  for (auto [axis, source] : llvm::enumerate(permutation)) {
    int64_t extent = to.getDimSize(axis);
    bool follows = axis > 0 && source == permutation[axis - 1] + 1 &&
                   !ShapedType::isDynamic(extent) && !ShapedType::isDynamic(extents.back());
    if (follows) {
      extents.back() *= extent;
    } else {
      begins.push_back(source);
      extents.push_back(extent);
    }
  }
  if (begins.size() == permutation.size())
    return;
  SmallVector<int64_t> sorted(begins), order, shape(begins.size());
  llvm::sort(sorted);
  for (auto [begin, extent] : llvm::zip_equal(begins, extents)) {
    order.push_back(llvm::find(sorted, begin) - sorted.begin());
    shape[order.back()] = extent;
  }
  OpBuilder b(launch);
  OpOperand &given = launch.getInputsMutable()[argument.getArgNumber()];
  given.set(prim::ReshapeOp::create(b, launch.getLoc(), from.clone(shape), given.get(),
                                    openExtents(b, given.get())));
  argument.setType(from.clone(shape));
  transpose.getResult().setType(to.clone(extents));
  transpose.setPermutation(order);
  Value result = launch.getResult(0);
  result.setType(to.clone(extents));
  b.setInsertionPointAfter(launch);
  auto seen = prim::ReshapeOp::create(b, launch.getLoc(), to, result, launch.getSizes());
  result.replaceAllUsesExcept(seen, seen);
}
