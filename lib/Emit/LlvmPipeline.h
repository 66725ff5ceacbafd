//===- LlvmPipeline.h - LLVM's optimiser over one module ---------*- C++ -*-===//
//
// Internal to lib/Emit.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/Target/TargetMachine.h"

namespace tcc::emit {

/// The passes that code for a CPU needs, which comes vectorised, unrolled and inlined.
void optimizeForCpu(llvm::Module &module, llvm::TargetMachine &machine, const EmitOptions &options);

/// LLVM's own pipeline, for device code.
void optimizeForDevice(llvm::Module &module, llvm::TargetMachine &machine,
                       const EmitOptions &options);

/// The level of `options` for code generation.
llvm::CodeGenOptLevel codegenLevel(const EmitOptions &options);

} // namespace tcc::emit
