//===- Ascending.h - Indices that never become less --------------*- C++ -*-===//
//
// What a rule knows of the indices that it makes and no operator tells: those of bags, which are
// runs of rows. Kernels may find the run of a bag by halving instead of looking at all indices.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"

namespace tcc::prim {

/// On a scatter_along: along its axis, no index is below the one before.
inline constexpr llvm::StringLiteral kAscending = "prim.ascending";

inline void setAscending(mlir::Operation *op) {
  op->setDiscardableAttr(kAscending, mlir::UnitAttr::get(op->getContext()));
}
inline bool isAscending(mlir::Operation *op) {
  return static_cast<bool>(op->getDiscardableAttr(kAscending));
}

} // namespace tcc::prim
