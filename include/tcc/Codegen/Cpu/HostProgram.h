//===- HostProgram.h - The compiled host side of a model ---------*- C++ -*-===//
//
// Turns the planned model function into `int32_t tcc_entry(struct tcc_frame *)`:
// extents, allocation, kernel starts and control flow as compiled code. The frame
// and the tcc_rt_* functions are those of lib/Runtime/Program.h.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Codegen/Cpu/KernelCodegen.h"

namespace tcc::codegen {

struct HostCallbacks {
  /// The task space of a launch.
  std::function<TaskSpace(mlir::OpBuilder &, kernel::LaunchOp)> taskSpace;
  /// The function that does a launch.
  std::function<std::string(kernel::LaunchOp)> kernelSymbol;
  /// Where a weight lies in the blob, in bytes.
  std::function<int64_t(llvm::StringRef)> weightOffset;
  /// Where a constant lies in the blob; it is added if it is not there.
  std::function<int64_t(mlir::ElementsAttr)> constantOffset;
  /// A new place in the state, in bytes, for a buffer that starts as this weight.
  std::function<int64_t(llvm::StringRef)> stateOffset;
};

inline constexpr llvm::StringLiteral kEntryName = "tcc_entry";

/// Adds the host function of `function` to `module`. Emits an error and fails on
/// an operator that may not exist after the plan phase.
mlir::LogicalResult emitHostProgram(mlir::func::FuncOp function, mlir::ModuleOp module,
                                    const HostCallbacks &callbacks);

} // namespace tcc::codegen
