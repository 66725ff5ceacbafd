//===- Mask.h - Where conditions hold ----------------------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The positions where a mask holds, as one vector for each of its axes.
llvm::SmallVector<mlir::Value> positionsOf(PrimBuilder &b, mlir::Value mask);

/// How many of `n` boundaries, ascending along the last axis, lie below each value (or not above it,
/// from the right), by halving: a turn for each bit of the answer. NaN lies behind all boundaries.
mlir::Value countByHalving(PrimBuilder &b, mlir::Value boundaries, mlir::Value values, int64_t n,
                           bool right);

/// As many boundaries as a value is compared with each of.
constexpr int64_t kFewBoundaries = 64;

} // namespace tcc::aten
