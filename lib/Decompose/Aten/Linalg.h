//===- Linalg.h - Operands of ATen's linear algebra --------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The argument's matrices (the last two axes) in f64, or null and the reason reported.
mlir::Value matricesOf(AtenNode &a, llvm::StringRef name, bool square = true);

/// The same to be factored or solved with: small ones in f64, others in their own type.
mlir::Value factorsOf(AtenNode &a, llvm::StringRef name, bool square = true);

/// Right sides of a system with the matrix t, in its type.
mlir::Value sidesOf(AtenNode &a, llvm::StringRef name, mlir::Value t);
/// A unit matrix for each of these.
mlir::Value unitLike(AtenNode &a, mlir::Value x);
/// Stops the run where a matrix has no inverse, or is not positive definite.
void require(AtenNode &a, mlir::Value holds, llvm::StringRef message);
/// The first place that is bad from 1, or 0.
mlir::Value firstZero(AtenNode &a, mlir::Value isBad);

/// (sum |x|^p)^(1/p) of `size`, |x|; p = 0 counts, infinite p takes the extreme.
mlir::Value normOver(PrimBuilder &b, mlir::Value size, double p, llvm::ArrayRef<int64_t> axes,
                     bool keep);

/// The pairs i < j of the rows of x, in order: all i, all j. Fails where their number is not known.
mlir::FailureOr<std::pair<mlir::Value, mlir::Value>> rowPairs(AtenNode &a, mlir::Value x);

/// The norm of matrices that has this name or, if that is empty, this order, in their real type.
mlir::FailureOr<mlir::Value> matrixNormOf(AtenNode &a, mlir::Value x, llvm::StringRef name,
                                          double order, llvm::ArrayRef<int64_t> axes, bool keep);

/// Of the operand, whatever this operator calls it: A, input or self.
inline mlir::Value operandMatrices(AtenNode &a, bool square = true) {
  return matricesOf(a, a.c.hasAttr("A") ? "A" : a.c.hasAttr("input") ? "input" : "self", square);
}
inline mlir::Value factorMatrices(AtenNode &a, bool square = true) {
  return factorsOf(a, a.c.hasAttr("A") ? "A" : a.c.hasAttr("input") ? "input" : "self", square);
}

} // namespace tcc::aten
