//===- VectorMathDivision.h - Vectors of integers, divided ------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Common/VectorMath.h"

namespace tcc::codegen::vmath {

/// Whether `op` divides vectors of integers, or takes their remainders, by what is not known.
bool dividesIntegers(mlir::Operation *op);
/// The result of such an `op`, by divisions of floats.
mlir::Value divideIntegers(mlir::Operation *op, const ExpandMathOptions &options);

} // namespace tcc::codegen::vmath
