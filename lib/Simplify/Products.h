//===- Products.h - Operators that sum products ----------------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::simplify {

/// Matrix products and convolutions: weights, scales and zero points of both are folded alike.
inline bool isProduct(mlir::Operation *op) { return mlir::isa<prim::ConvOp, prim::DotOp>(op); }

} // namespace tcc::simplify
