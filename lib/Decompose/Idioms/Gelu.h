//===- Gelu.h - The Gaussian error linear unit, and Mish ---------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {
/// x / 2 * (1 + erf(x / sqrt 2)).
mlir::Value geluErf(PrimBuilder &b, mlir::Value x);
/// The tanh approximation of the above.
mlir::Value geluTanh(PrimBuilder &b, mlir::Value x);
/// tanh(log(1 + e^x)), which Mish multiplies x by: n / (n + 2) with n = e^x (e^x + 2).
mlir::Value tanhOfSoftplus(PrimBuilder &b, mlir::Value x);
} // namespace tcc
