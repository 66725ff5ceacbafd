//===- ZeroPadding.h - Zeros around a value ---------------------*- C++ -*-===//
//
// Internal to lib/LayoutAssign: what lacks channels, filters or a border is filled up with zeros.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// The extents of `x` that are only known when the program runs.
llvm::SmallVector<mlir::Value> openSizes(mlir::OpBuilder &b, mlir::Value x);
/// `x` in the extents `shape`, which are open where its own are: `low` zeros before each axis, none
/// without, and the rest behind it.
mlir::Value zeroPadded(mlir::OpBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> low = {});

} // namespace tcc
