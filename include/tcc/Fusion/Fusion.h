//===- Fusion.h - prim → kernels ---------------------------------*- C++ -*-===//
//
// The fuse phase: groups the primitives of every block into `kernel.launch` ops.
// After it, outside launches there are only launches, host arithmetic, control
// flow, weights and reshapes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tcc/Analysis/ScheduleModel.h"

namespace tcc {

/// What the target has kernels for.
struct FusionPolicy {
  bool fuse = true;                     ///< without it, each primitive is a kernel of its own
  bool attention = true;                ///< attention as one kernel (Analysis/AttentionForm.h), ..
  const ScheduleModel *model = nullptr; ///< .. where this prefers it; null: wherever it may
};

/// tcc-fuse-kernels: see lib/Fusion/FuseKernels.cpp.
std::unique_ptr<mlir::Pass> createFuseKernelsPass(FusionPolicy policy = {});
/// tcc-fuse-share-kernels: see lib/Fusion/ShareKernels.cpp. After tcc-fuse-kernels.
std::unique_ptr<mlir::Pass> createShareKernelsPass();

} // namespace tcc
