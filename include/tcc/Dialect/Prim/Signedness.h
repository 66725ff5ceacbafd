//===- Signedness.h - Which integers are unsigned ----------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"

namespace tcc::prim {

/// Whether a tensor's elements are unsigned integers. Bools are: their one bit is 0 or 1, not -1.
inline bool isUnsigned(mlir::Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

} // namespace tcc::prim
