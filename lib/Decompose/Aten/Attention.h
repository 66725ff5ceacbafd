//===- Attention.h - Scores of attention -------------------------*- C++ -*-===//
//
// What attention and its gradient compute alike.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// Heads of keys and values ([.., heads, rows, width]) repeated so that each of `heads` has its
/// own.
mlir::Value repeatHeads(PrimBuilder &b, mlir::Value x, Dim heads);
/// The argument `scale`, or one over the root of the queries' width; of rank 0.
mlir::Value attentionScale(AtenNode &a, mlir::Value query, mlir::Type elementType);
/// Scores with what may not be attended to at -inf.
mlir::Value maskedScores(AtenNode &a, mlir::Value scores, mlir::Value mask, bool causal);

} // namespace tcc::aten
