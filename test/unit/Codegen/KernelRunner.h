//===- KernelRunner.h - Compile a kernel module and call it -----*- C++ -*-===//
//
// Tests and micro benchmarks of code generation: takes a module of kernel
// functions through lowering and emission and loads the object into the process.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Target/Cpu.h"
#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace tcc::test {

/// A context with the dialects of kernels.
std::unique_ptr<mlir::MLIRContext> kernelContext();

using KernelFn = void (*)(int64_t *args, int64_t begin, int64_t end);

class CompiledKernels {
public:
  /// Lowers (in place), emits and loads `module`; ends the program on failure.
  CompiledKernels(mlir::ModuleOp module, const CpuTarget &cpu,
                  const emit::EmitOptions &options = {});
  ~CompiledKernels();
  KernelFn get(llvm::StringRef name) const;
  double lowerMs = 0, emitMs = 0;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// Lowers and emits as assembly text.
std::string assemblyOf(mlir::ModuleOp module, const CpuTarget &cpu);

/// Median seconds of one call of `fn`.
double medianSeconds(llvm::function_ref<void()> fn, double budgetSeconds = 0.25);

} // namespace tcc::test
