//===- Plan.h - Values become memory -----------------------------*- C++ -*-===//
//
// The plan phase. It takes launches over tensors and gives a program of the host dialect:
// where every tensor lies, what is copied, when memory is free again. After it the peak
// memory of a model with static shapes is known.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tcc/Dialect/Host/Host.h"

namespace tcc {

/// tcc-plan-memory: see lib/Plan/PlanMemory.cpp. Without `inPlace`, no result lies where an input
/// of its kernel does. `space` is where tensors of launches lie.
std::unique_ptr<mlir::Pass> createPlanMemoryPass(bool inPlace = true,
                                                 host::MemorySpace space = host::MemorySpace::host);

} // namespace tcc
