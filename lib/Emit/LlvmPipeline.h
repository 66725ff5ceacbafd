//===- LlvmPipeline.h - LLVM's optimiser over one module ---------*- C++ -*-===//
//
// Internal to lib/Emit: host and device code pass through the same pipeline.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/Target/TargetMachine.h"

namespace tcc::emit {

/// Runs the passes of `options` over `module` for `machine`.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, const EmitOptions &options);

/// The level of `options` for code generation.
llvm::CodeGenOptLevel codegenLevel(const EmitOptions &options);

} // namespace tcc::emit
