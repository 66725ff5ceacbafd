//===- Verify.h - What verifiers of several families check -------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::prim {

/// `sizes` must give exactly the dims of `result` that are `?`.
mlir::LogicalResult verifySizes(mlir::Operation *op, mlir::ValueRange sizes, mlir::Value result);
mlir::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis, mlir::Value of);
/// `axes` are distinct and in range for `of`.
mlir::LogicalResult verifyAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, mlir::Value of);
/// The result's rank and static dims agree with `expected` (kDynamic: anything).
mlir::LogicalResult verifyShape(mlir::Operation *op, mlir::Value result,
                                llvm::ArrayRef<int64_t> expected);

/// `result` has element type `expected`.
mlir::LogicalResult verifyElementType(mlir::Operation *op, mlir::Value result, mlir::Type expected);
/// `starts`, with `dynamic` for its kDynamicStart entries, and `perAxis` have one
/// entry for each of `rank` axes.
mlir::LogicalResult verifyStarts(mlir::Operation *op, llvm::ArrayRef<int64_t> starts,
                                 mlir::ValueRange dynamic, llvm::ArrayRef<int64_t> perAxis,
                                 int64_t rank);
/// `kind` is defined on `elementType`.
mlir::LogicalResult verifyReduceKind(mlir::Operation *op, ReduceKind kind, mlir::Type elementType);

} // namespace tcc::prim
