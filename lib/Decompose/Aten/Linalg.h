//===- Linalg.h - Operands of ATen's linear algebra --------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The argument's matrices (the last two axes) in f64, or null and the reason reported.
mlir::Value matricesOf(AtenNode &a, llvm::StringRef name, bool square = true);

/// The same to be factored or solved with: small ones in f64, others in their own type.
mlir::Value factorsOf(AtenNode &a, llvm::StringRef name, bool square = true);

/// (sum |x|^p)^(1/p) of `size`, |x|; p = 0 counts, infinite p takes the extreme.
mlir::Value normOver(PrimBuilder &b, mlir::Value size, double p, llvm::ArrayRef<int64_t> axes,
                     bool keep);

/// Of the operand, whatever this operator calls it: A, input or self.
inline mlir::Value operandMatrices(AtenNode &a, bool square = true) {
  return matricesOf(a, a.c.hasAttr("A") ? "A" : a.c.hasAttr("input") ? "input" : "self", square);
}
inline mlir::Value factorMatrices(AtenNode &a, bool square = true) {
  return factorsOf(a, a.c.hasAttr("A") ? "A" : a.c.hasAttr("input") ? "input" : "self", square);
}

} // namespace tcc::aten
