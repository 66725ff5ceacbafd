//===- HostObject.h - Loops to an object of the host ------------*- C++ -*-===//
//
// What the host program and the kernels of CPUs share on their way to machine code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Pipeline/Backend.h"

namespace tcc {

/// Shows `module` to `observer`, if there is one, as it reads best: what is compiled, LLVM
/// cleans up.
void showLoops(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef suffix,
               const CodeObserver &observer);

class HostObject {
public:
  /// `module` is of loops; others call `entry` of it alone. `name` is what observers hear.
  HostObject(mlir::ModuleOp module, llvm::StringRef entry, llvm::StringRef name,
             const CpuTarget &cpu, const CodeObserver &observer)
      : module(module), entry(entry), name(name), cpu(cpu), observer(observer) {}

  /// Expands math and lowers the module to the LLVM dialect.
  mlir::LogicalResult lower();
  /// The code of the lowered module.
  llvm::Expected<llvm::SmallVector<char, 0>> emit(CodeForm form, emit::EmitOptions how = {});

private:
  void showCode(emit::EmitOptions how);

  mlir::ModuleOp module;
  llvm::StringRef entry, name;
  const CpuTarget &cpu;
  const CodeObserver &observer;
};

} // namespace tcc
