//===- Legality.h - What may exist after each phase --------------*- C++ -*-===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"

namespace tcc {

/// Emits an error at the first op that may not exist after `phase`.
mlir::LogicalResult verifyPhase(mlir::ModuleOp module, Phase phase);

} // namespace tcc
