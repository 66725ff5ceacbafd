//===- Einsum.h - Einstein summation -----------------------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// What `equation` ("ij,jk->ik", "...i,...i") makes of the operands, in the element type of the
/// first; null, with a fault, when the equation is none or does not fit them.
mlir::Value einsum(PrimBuilder &b, llvm::StringRef equation, llvm::ArrayRef<mlir::Value> operands);

} // namespace tcc
