//===- LaunchEmitter.h - How a back-end starts kernels -----------*- C++ -*-===//
//
// The host program knows what a launch is given; how a kernel is started with it is
// its back-end's affair.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/HostCode.h"
#include "tcc/Dialect/Host/Host.h"

namespace tcc::codegen {

/// A host.launch in host code.
struct LaunchSite {
  host::LaunchOp launch;
  unsigned kernel; ///< its number among the host.kernels of the module, those of one back-end
  /// What the kernel is given: for each input its pointer and the extents that are `?`,
  /// or the scalar (floats as bits), then for each result its pointer and such extents.
  llvm::SmallVector<mlir::Value> words;
  /// By argument of the host.kernel: the extents of a tensor; a scalar alone.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> arguments;

  /// The value here of one that arithmetic in the host.kernel, outside of its launches,
  /// makes of the kernel's arguments.
  mlir::Value valueOf(HostCode &code, mlir::OpFoldResult inKernel) const;
};

class LaunchEmitter {
public:
  virtual ~LaunchEmitter() = default;
  virtual void emit(HostCode &code, const LaunchSite &site) = 0;
};

} // namespace tcc::codegen
