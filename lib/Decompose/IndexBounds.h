//===- IndexBounds.h - What is known of the values of indices ----*- C++ -*-===//
//
// Many indices are made in the model: numbered, clamped, compared, found by a sort
// or an argmax. How they were made often says that they cannot leave an axis, and
// then a run has nothing to check.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// Whether every element of an integer tensor is surely at least `least`.
bool isAtLeast(PrimBuilder &b, mlir::Value indices, int64_t least);
/// Whether every element of an integer tensor is surely below `extent`.
bool isBelow(PrimBuilder &b, mlir::Value indices, Dim extent);

/// Indices of an axis of which negative ones count from its end, counted from its beginning;
/// whoever asks has them checked.
mlir::Value countedFromStart(PrimBuilder &b, mlir::Value indices, Dim extent);
/// Every one of indices[i] lies within [-extents[i], extents[i]): one check for those of one shape.
void requireAllInRange(PrimBuilder &b, llvm::ArrayRef<mlir::Value> indices,
                       llvm::ArrayRef<Dim> extents);

} // namespace tcc
