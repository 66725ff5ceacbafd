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

namespace tcc {

/// tcc-fuse-kernels: see lib/Fusion/FuseKernels.cpp. Without `fuse`, each primitive is a kernel
/// of its own.
std::unique_ptr<mlir::Pass> createFuseKernelsPass(bool fuse = true);
/// tcc-share-kernels: see lib/Fusion/ShareKernels.cpp. After tcc-fuse-kernels.
std::unique_ptr<mlir::Pass> createShareKernelsPass();

} // namespace tcc
