//===- CpuLaunch.h - Kernels on the threads of a context ---------*- C++ -*-===//
#pragma once
#include "tcc/Codegen/Common/LaunchEmitter.h"
#include "tcc/Codegen/Cpu/KernelCodegen.h"

namespace tcc::codegen {

/// Starts a kernel by tcc_rt_parallel with its tasks.
class CpuLaunchEmitter : public LaunchEmitter {
public:
  explicit CpuLaunchEmitter(const CpuTarget &cpu) : cpu(cpu) {}
  void emit(HostCode &code, const LaunchSite &site) override;

private:
  /// A kernel's tasks, as arithmetic in a copy of it.
  struct Tasks {
    mlir::OwningOpRef<host::KernelOp> kernel;
    TaskSpace space;
  };
  const Tasks &tasksOf(host::KernelOp kernel);

  const CpuTarget &cpu;
  llvm::DenseMap<mlir::Operation *, Tasks> known;
};

} // namespace tcc::codegen
