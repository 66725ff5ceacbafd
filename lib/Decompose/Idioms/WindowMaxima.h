//===- WindowMaxima.h - Where in a plane each window's maximum is -*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// Elements of a window.
int64_t elementsOf(const PrimBuilder::Window &w);

/// The position (i64) in its plane of x [N, C, spatial..] of the largest element of each window,
/// `result` [N, C, spatial..] of them. `low` is what comes before the first element of each spatial
/// axis; the paddings of `w` are not read. Of equal elements it is the first one, row by row; NaN
/// is larger than all else, and the last NaN counts. `columnMajor`: positions count along the first
/// spatial axis first.
mlir::Value placesOfMaxima(PrimBuilder &b, mlir::Value x, const PrimBuilder::Window &w,
                           llvm::ArrayRef<Dim> low, llvm::ArrayRef<Dim> result,
                           bool columnMajor = false);

} // namespace tcc
