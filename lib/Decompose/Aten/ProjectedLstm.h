//===- ProjectedLstm.h - LSTM layers with projections ------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// What one direction of a layer gives.
struct ProjectedLstm {
  mlir::Value y;    ///< [T, B, P]
  mlir::Value h, c; ///< [B, P], [B, H] after the last step
};

/// An LSTM whose state is projected to P elements after each step. `params`: the
/// weights of input and state, two biases or none, and the projection [P, H].
/// Nothing when they do not fit together.
std::optional<ProjectedLstm> projectedLstm(PrimBuilder &b, mlir::Value x, mlir::Value h,
                                           mlir::Value c, llvm::ArrayRef<mlir::Value> params,
                                           bool reverse);

} // namespace tcc::aten
