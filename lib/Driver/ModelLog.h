//===- ModelLog.h - What --logs tells of a model -----------------*- C++ -*-===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"

namespace tcc {

/// Writes to the topics that tell of what a phase gave: import, dynamic, guards, fusion, plan.
void logPhase(Phase phase, mlir::ModuleOp module);

} // namespace tcc
