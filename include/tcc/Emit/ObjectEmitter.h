//===- ObjectEmitter.h - LLVM dialect to machine code -----------*- C++ -*-===//
//
// Translates a lowered kernel module to LLVM IR, optimises it for a CPU record
// and writes an object, assembly or IR text into memory. The only place that
// sees a TargetMachine. Thread-safe: every call has its own LLVMContext and
// TargetMachine; same module, record and options give the same bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "tcc/Target/Cpu.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
}

namespace tcc::emit {

enum class OutputKind { Object, Assembly, LlvmIr };

struct EmitOptions {
  OutputKind kind = OutputKind::Object;
  unsigned optLevel = 3; ///< 0 to 3
};

/// `module` is in the LLVM dialect (codegen::lowerKernelModule). An error is a
/// fault of ours.
llvm::Expected<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module, const CpuTarget &cpu,
                                                      const EmitOptions &options = {});

/// The same for a module of LLVM IR, which is changed.
llvm::Expected<llvm::SmallVector<char, 0>>
emitLlvmModule(llvm::Module &module, const CpuTarget &cpu, const EmitOptions &options = {});

} // namespace tcc::emit
