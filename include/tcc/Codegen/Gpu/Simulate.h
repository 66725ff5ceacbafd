//===- Simulate.h - GPU kernels as code for a CPU ----------------*- C++ -*-===//
//
// The architecture `sim`: the same kernel as for a GPU, where the few operations that only
// a GPU has are calls of the simulated device (lib/Runtime/Simulated.c).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace tcc::codegen::device {

/// `module` was given by lowerKernelModule and has the kernel `name`, which becomes
/// `void name(const uint64_t *words)`; its dynamic shared memory has `sharedBytes`. Gives
/// whether threads of a block wait for each other; fails, with an error there, at an operation
/// that is not simulated.
mlir::FailureOr<bool> simulateKernel(mlir::ModuleOp module, llvm::StringRef name,
                                     unsigned sharedBytes);

} // namespace tcc::codegen::device
