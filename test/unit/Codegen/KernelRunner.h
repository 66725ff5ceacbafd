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
#include <vector>

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

/// The CPUs by name, x86-64-v2 to v4, whose code runs here, and "native": what tests of generated
/// code compile for, so that they mean the same on every machine.
std::vector<std::string> hostLevels();

/// Floats that end at a page which may not be touched: reading or writing past the
/// end ends the program.
class GuardedFloats {
public:
  explicit GuardedFloats(size_t count);
  ~GuardedFloats();
  GuardedFloats(const GuardedFloats &) = delete;
  float *data() { return values; }
  float &operator[](size_t i) { return values[i]; }
  size_t size() const { return count; }
  void fill(unsigned seed); ///< uniform in [-0.5, 0.5)

private:
  void *mapping;
  size_t bytes, count;
  float *values;
};

/// Lowers and emits as assembly text.
std::string assemblyOf(mlir::ModuleOp module, const CpuTarget &cpu);

/// Thread time of one call of `fn`.
struct Seconds {
  double best, median;
};
Seconds measure(llvm::function_ref<void()> fn, double budgetSeconds = 0.25);

} // namespace tcc::test
