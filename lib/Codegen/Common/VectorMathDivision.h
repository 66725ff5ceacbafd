//===- VectorMathDivision.h - Vectors of integers, divided ------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Common/VectorMath.h"

namespace tcc::codegen::vmath {

/// Whether `op` divides vectors of integers, or takes their remainders, by what is not known.
bool dividesIntegers(mlir::Operation *op);
/// The result of such an `op`, by divisions of floats.
mlir::Value divideIntegers(mlir::Operation *op, const ExpandMathOptions &options);

/// Whether `op` makes integers of 64 bits of vectors of floats, for which AVX2 has no instruction.
bool makesWideIntegers(mlir::Operation *op, const ExpandMathOptions &options);
/// The result of such an `op`, by an addition that leaves the integer in the last bits of an f64.
mlir::Value makeWideIntegers(mlir::Operation *op, const ExpandMathOptions &options);

} // namespace tcc::codegen::vmath
