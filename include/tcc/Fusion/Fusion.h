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

/// What loop nest a kernel needs; the attribute `kind` of kernel.launch.
enum class KernelKind {
  Loop,        ///< one point at a time over the shape of its results
  Row,         ///< rows in parallel, each reduced along its inner axes
  Contraction, ///< prim.dot with an elementwise epilogue
  Convolution, ///< prim.conv with an elementwise epilogue
  Special,     ///< one operator with an algorithm of its own: sort, scatter, scan
};
llvm::StringRef kernelKindName(KernelKind kind);

/// tcc-fuse-kernels: see lib/Fusion/FuseKernels.cpp.
std::unique_ptr<mlir::Pass> createFuseKernelsPass();
/// tcc-share-kernels: see lib/Fusion/ShareKernels.cpp. After tcc-fuse-kernels.
std::unique_ptr<mlir::Pass> createShareKernelsPass();

} // namespace tcc
