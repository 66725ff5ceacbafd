//===- Standardize.h - Zero mean and unit variance -------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

struct Standardized {
  mlir::Value value, mean, variance, inverse; ///< the last three with extents 1
};
/// (x - mean) / sqrt(variance + epsilon) over `axes`, in the type of x.
Standardized standardize(PrimBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                         double epsilon);
/// x / sqrt(mean(x^2) + epsilon) over `axes`; gives `value` and `inverse` alone.
Standardized scaleByRms(PrimBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                        double epsilon);
/// y [N, G, C / G, ..], of channels in groups, times `scale` plus `shift` (vectors of C or 1; null:
/// none), as `shape` [N, C, ..] in the element type `stored`. Where both have C elements they come
/// before the groups are channels again, and so does the cast: all of it is about rows of one
/// shape.
mlir::Value affineOfGroups(PrimBuilder &b, mlir::Value y, llvm::ArrayRef<Dim> shape,
                           mlir::Value scale, mlir::Value shift, mlir::Type stored);

} // namespace tcc
