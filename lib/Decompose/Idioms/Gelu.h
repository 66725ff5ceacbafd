//===- Gelu.h - The Gaussian error linear unit -------------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {
/// x / 2 * (1 + erf(x / sqrt 2)).
mlir::Value geluErf(PrimBuilder &b, mlir::Value x);
/// The tanh approximation of the above.
mlir::Value geluTanh(PrimBuilder &b, mlir::Value x);
} // namespace tcc
