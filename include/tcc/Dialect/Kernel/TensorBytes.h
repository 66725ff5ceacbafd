//===- TensorBytes.h - What tensors take in memory ---------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace tcc {

/// The bytes of a static tensor at run time: sub-byte types take a byte each.
int64_t tensorBytes(mlir::ShapedType type);
int64_t elementBytes(mlir::Type elementType);

/// What an extent that is open is taken for where schedules are chosen and times are told.
inline constexpr int64_t kTypicalExtent = 64;
/// And the points of a reduction, or its length, where it is asked how many threads share a point.
inline constexpr int64_t kTypicalReduction = 1024;

/// Elements of a tensor, and its bytes at run time, where each extent that is open is `open`.
double typicalElements(llvm::ArrayRef<int64_t> shape, int64_t open = kTypicalExtent);
double typicalBytes(mlir::ShapedType type, int64_t open = kTypicalExtent);

} // namespace tcc
