//===- Simulate.h - GPU kernels as code for a CPU ----------------*- C++ -*-===//
//
// The architecture `sim`: the same kernel as for a GPU, where the few operations that only
// a GPU has are calls of the simulated device (lib/Runtime/SimulatedDevice.c).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace tcc::codegen::device {

/// `module` was given by lowerKernelModule and has the kernel `name`, which becomes
/// `void name(const uint64_t *words)`. Gives whether threads of a block wait for each other;
/// fails, with an error there, at an operation that is not simulated.
mlir::FailureOr<bool> simulateKernel(mlir::ModuleOp module, llvm::StringRef name);

} // namespace tcc::codegen::device
