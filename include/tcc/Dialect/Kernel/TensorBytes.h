//===- TensorBytes.h - What tensors take in memory ---------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace tcc {

/// The bytes of a static tensor at run time: sub-byte types take a byte each.
int64_t tensorBytes(mlir::ShapedType type);
int64_t elementBytes(mlir::Type elementType);

} // namespace tcc
