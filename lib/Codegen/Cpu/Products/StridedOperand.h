//===- StridedOperand.h - Where a product's operand lies ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: an operand of prim.dot that is read in place, which may be a view
// (Analysis/DotOperand.h), as an offset and strides in the memory of a launch's argument.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Analysis/DotOperand.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

/// What an operand's memory holds, and the stride of each axis in elements.
struct StridedOperand {
  DotOperand axes;
  llvm::SmallVector<Index> sourceStrides;
  Index offset; ///< of the first element

  /// `unit` where there is no step.
  Index stride(KernelBuilder &k, const ViewFactors::Axis &axis, int64_t unit) const;
  Index extent(KernelBuilder &k, const ViewFactors::Axis &axis) const;
};

/// Operand `index` (0: lhs, 1: rhs), whose memory has `extents`, or `part`, a part of it with the
/// same axes. Null where it has to be copied.
std::optional<StridedOperand> stridedOperand(KernelBuilder &k, prim::DotOp dot, unsigned index,
                                             llvm::ArrayRef<Index> extents, mlir::Value part = {});

/// The argument that an operand is a view of.
mlir::Value memoryBehind(mlir::Value operand);

} // namespace tcc::codegen
