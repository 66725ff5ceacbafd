//===- RowParts.h - What kernels of rows are put together from ------------===//
#pragma once

#include "../KernelFrame.h"

namespace tcc::codegen::device {

/// Places of a row that are equally far apart, in coordinates: found by divisions once, and from
/// one to the next by adding and carrying.
class RowWalk {
public:
  /// Whether that is less than to divide for each place.
  static bool pays(mlir::ValueRange extents);
  RowWalk(KernelFrame &f, mlir::ValueRange extents, mlir::Value apart);
  llvm::SmallVector<mlir::Value> at(mlir::Value index) const;
  /// Past the row's end the first coordinate alone is too large.
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange place) const;

private:
  KernelFrame &f;
  llvm::SmallVector<mlir::Value> extents, step;
};

/// What the lanes of a vector combine to.
mlir::Value foldLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value v, prim::ReduceOp reduce);
/// From each warp's result to that of all warps that share a row.
mlir::Value reduceBlock(KernelFrame &f, mlir::Value v, prim::ReduceOp reduce, mlir::Value lane,
                        unsigned threads, const llvm::Twine &name);

} // namespace tcc::codegen::device
