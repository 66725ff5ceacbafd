//===- DeviceLaunch.h - Kernels on a GPU -------------------------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Common/LaunchEmitter.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"

namespace tcc::codegen::device {

/// Starts a kernel by tcc_rt_launch. What depends on the architecture is computed for each of
/// those that the launch is scheduled for; the runtime takes that of its GPU.
class DeviceLaunchEmitter : public LaunchEmitter {
public:
  void emit(HostCode &code, const LaunchSite &site) override;

private:
  /// What tcc_rt_launch takes as `geometry`, as arithmetic in a copy of the kernel.
  struct Geometry {
    mlir::OwningOpRef<host::KernelOp> kernel;
    llvm::SmallVector<mlir::OpFoldResult> numbers;
  };
  const Geometry &geometryOf(host::KernelOp kernel);

  llvm::DenseMap<mlir::Operation *, Geometry> known;
};

} // namespace tcc::codegen::device
