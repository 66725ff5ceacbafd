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

} // namespace tcc
