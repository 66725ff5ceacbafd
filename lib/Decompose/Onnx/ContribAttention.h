//===- ContribAttention.h - What attention of com.microsoft shares -*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// Q, K and V beside one another in the last axis of x [B, S, ..], of which `qkv_hidden_sizes` says
/// the widths, each as [B, heads, S, H].
llvm::SmallVector<mlir::Value> splitProjection(NodeContext &c, mlir::Value x, int64_t heads);

} // namespace tcc
