//===- Plan.h - Where every kernel's results lie -----------------*- C++ -*-===//
//
// The plan phase. Gives each launch the attribute `places` and the module the size
// of its arena (Dialect/Kernel/Places.h). After it the peak memory of a model with
// static shapes is known.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tcc {

/// tcc-plan-memory: see lib/Plan/PlanMemory.cpp.
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

} // namespace tcc
