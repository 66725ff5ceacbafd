//===- FirstInLanes.h - The first few of lines that are lanes ----*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Whether the first elements of neighbouring lines, which are not along the last axis, can be kept
/// in lanes: a few.
bool keepsFirstInLanes(mlir::Operation *op);

} // namespace tcc
