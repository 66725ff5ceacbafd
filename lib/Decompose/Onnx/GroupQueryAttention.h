//===- GroupQueryAttention.h - com.microsoft's attention with a cache -*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// The rule of com.microsoft's GroupQueryAttention.
mlir::LogicalResult groupQueryAttention(NodeContext &c);
/// That of its SparseAttention.
mlir::LogicalResult sparseAttention(NodeContext &c);

} // namespace tcc
