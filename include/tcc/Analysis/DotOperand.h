//===- DotOperand.h - Products that read views in place ---------*- C++ -*-===//
//
// A matrix product addresses each operand by three strides: of its rows or columns,
// of k, and of batch axes. So an operand that is a transposed, split or sliced view
// of something in memory needs no copy, as long as what the product takes for one
// axis is one stride in that memory. Fusion asks this to decide what has to be
// copied, code generation to find the strides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Analysis/ViewFactors.h"

namespace tcc {

struct DotOperand {
  ViewFactors view;
  ViewFactors::Axis contract, free; ///< factors, outermost first
  llvm::SmallVector<ViewFactors::Axis> batch;

  /// Whether steps of an axis are neighbours in memory.
  bool isContiguous(const ViewFactors::Axis &axis) const;
};

/// Null when operand `index` (0: lhs, 1: rhs) has to be copied, or is paired over
/// more axes than one. `extents` and `through` as of ViewFactors.
std::optional<DotOperand> dotOperand(prim::DotOp dot, unsigned index,
                                     ViewFactors::ExtentsFn extents,
                                     llvm::function_ref<bool(mlir::Operation *)> through);
/// The same of `operand`, a part of what stands there with the same axes.
std::optional<DotOperand> dotOperand(prim::DotOp dot, unsigned index, mlir::Value operand,
                                     ViewFactors::ExtentsFn extents,
                                     llvm::function_ref<bool(mlir::Operation *)> through);

} // namespace tcc
