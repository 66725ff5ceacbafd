//===- OpenExtents.h - Extents that a run knows ----------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Builders.h"

namespace tcc {

/// The extents of `tensor` that its type does not know, as operators take them for their sizes.
llvm::SmallVector<mlir::Value> openExtents(mlir::OpBuilder &b, mlir::Value tensor);

} // namespace tcc
