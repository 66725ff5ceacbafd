//===- Plan.h - Where every kernel's results lie -----------------*- C++ -*-===//
//
// The plan phase. Gives each launch the attribute `places`, one entry a result:
// an offset in the arena (>= 0), kDynamicPlace (allocated when its extents are
// known) or kOutputPlace - k (written straight into output k), and the module
// `tcc.arena_size`. After it the peak memory of a model with static shapes is
// known.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tcc {

inline constexpr int64_t kDynamicPlace = -1;
inline constexpr int64_t kOutputPlace = -2;
inline constexpr llvm::StringLiteral kPlacesAttr = "places";
inline constexpr llvm::StringLiteral kArenaSizeAttr = "tcc.arena_size";

/// The bytes of a static tensor at run time: sub-byte types take a byte each.
int64_t tensorBytes(mlir::RankedTensorType type);
int64_t elementBytes(mlir::Type elementType);

/// tcc-plan-memory: see lib/Plan/PlanMemory.cpp.
std::unique_ptr<mlir::Pass> createPlanMemoryPass();

} // namespace tcc
