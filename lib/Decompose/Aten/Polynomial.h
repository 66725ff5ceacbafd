//===- Polynomial.h - Polynomials of special functions ----------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc::aten {

/// The sum of coefficients[k] z^k.
mlir::Value polynomial(PrimBuilder &b, llvm::ArrayRef<double> coefficients, mlir::Value z);

} // namespace tcc::aten
