//===- DirectOperand.h - Operands that copies bring as they lie --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. An operand of a product that lies in memory as it is multiplied, be
// it behind views: one stride for its rows or columns, one for k and one for each axis of the
// batch. Asynchronous copies bring slices of it, and add what is the same in all slices to one
// address.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"
#include <optional>

namespace tcc::codegen::device {

struct DirectOperand {
  mlir::BlockArgument memory;
  int64_t offset; ///< of the first element; like strides in elements
  llvm::SmallVector<int64_t> batchStrides;
  int64_t ownStride, innerStride; ///< own: of rows or columns
  int64_t own;                    ///< their extent; -1 where it is not known
  unsigned lanes;                 ///< neighbours that one copy brings, where they lie together

  /// Neighbours in memory differ in k.
  bool innerFirst() const { return innerStride == 1; }
};

/// Operand 0 (left) or 1 of `dot`; null where it is not of the type `element`, is computed, or has
/// several strides along one axis, or such that are not known.
std::optional<DirectOperand> directOperand(prim::DotOp dot, unsigned which, mlir::Type element);

} // namespace tcc::codegen::device
