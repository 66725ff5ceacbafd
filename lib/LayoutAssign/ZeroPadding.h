//===- ZeroPadding.h - Zeros around a value ---------------------*- C++ -*-===//
//
// Internal to lib/LayoutAssign: what lacks channels, filters or a border is filled up with zeros.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// `x` with `low` zeros before each axis and `high` behind it.
mlir::Value zeroPadded(mlir::OpBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> low,
                       llvm::ArrayRef<int64_t> high);
/// `x` in the extents `shape`, which are open where its own are: `low` zeros before each axis, none
/// without, and the rest behind it.
mlir::Value filledUp(mlir::OpBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> low = {});

} // namespace tcc
