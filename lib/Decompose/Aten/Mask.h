//===- Mask.h - Where conditions hold ----------------------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The positions where a mask holds, as one vector for each of its axes.
llvm::SmallVector<mlir::Value> positionsOf(PrimBuilder &b, mlir::Value mask);

enum class Halving { Left, Right, LeftOfNan };

/// How many of `n` boundaries, ascending along the last axis, lie below each value (Right: not
/// above it), by halving: a turn for each bit of the answer. NaN lies behind all boundaries.
/// LeftOfNan: the last boundaries may be NaN, which lie below no value, and none below NaN.
mlir::Value countByHalving(PrimBuilder &b, mlir::Value boundaries, mlir::Value values, int64_t n,
                           Halving how);

/// As many boundaries as a value is compared with each of.
constexpr int64_t kFewBoundaries = 64;

} // namespace tcc::aten
