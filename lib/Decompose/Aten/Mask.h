//===- Mask.h - Where conditions hold ----------------------------*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// The positions where a mask holds, as one vector for each of its axes.
llvm::SmallVector<mlir::Value> positionsOf(PrimBuilder &b, mlir::Value mask);

} // namespace tcc::aten
