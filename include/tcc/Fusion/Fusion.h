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
#include <functional>

namespace tcc {

/// What the target has kernels for.
struct FusionPolicy {
  bool fuse = true;                     ///< without it, each primitive is a kernel of its own
  bool attention = true;                ///< attention as one kernel (Analysis/AttentionForm.h), ..
  const ScheduleModel *model = nullptr; ///< .. where this prefers it; null: wherever it may
  const llvm::DenseSet<mlir::Operation *> *apart = nullptr; ///< whose results go to memory
};

/// tcc-fuse-kernels: see lib/Fusion/FuseKernels.cpp.
std::unique_ptr<mlir::Pass> createFuseKernelsPass(FusionPolicy policy = {});
/// tcc-fuse-share-kernels: see lib/Fusion/ShareKernels.cpp. After tcc-fuse-kernels.
std::unique_ptr<mlir::Pass> createShareKernelsPass();

/// Operators of a launch, by their places in its region, whose results go to memory instead.
using Cut = mlir::DenseI64ArrayAttr;
/// Which of the ways to cut a launch, of which the first leaves it whole; null after it told why
/// not.
using CutChooser = std::function<Cut(kernel::LaunchOp, llvm::ArrayRef<Cut>)>;

/// The ways to cut a launch that measuring may prefer to leaving it whole, which is the first.
llvm::SmallVector<Cut> cutsOf(kernel::LaunchOp launch);
/// Replaces `launch` by those that it is cut into, in the order in which they run.
llvm::SmallVector<kernel::LaunchOp> cutLaunch(kernel::LaunchOp launch, Cut cut,
                                              FusionPolicy policy);
/// tcc-fuse-cut-kernels: see lib/Fusion/CutKernels.cpp. Without a chooser launches stay whole.
std::unique_ptr<mlir::Pass> createCutKernelsPass(FusionPolicy policy = {},
                                                 CutChooser chooser = nullptr);
/// tcc-fuse-operand-extents: see lib/Fusion/OperandExtents.cpp. The last pass of the phase.
std::unique_ptr<mlir::Pass> createOperandExtentsPass();

} // namespace tcc
