//===- Axes.h - What rules of every format share -----------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// The type in which an operator made of several steps computes: f32 for the
/// narrower floats, else the type itself.
mlir::Type wideType(mlir::Type elementType);
mlir::Value widen(PrimBuilder &b, mlir::Value x);

/// The largest (sign 1) or smallest (sign -1) value of a type, infinite where it has that.
mlir::Value extremeOf(PrimBuilder &b, mlir::Type t, int sign);

/// A host integer as a rank-0 tensor.
mlir::Value scalarOf(PrimBuilder &b, Dim d, mlir::Type elementType);
/// A vector along `axis` of a tensor of rank `rank`: [1, .., n, .., 1].
mlir::Value alongAxis(PrimBuilder &b, mlir::Value vector, int64_t axis, int64_t rank);
/// 0 .. rank - 1.
llvm::SmallVector<int64_t> allAxes(int64_t rank);
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);

} // namespace tcc
