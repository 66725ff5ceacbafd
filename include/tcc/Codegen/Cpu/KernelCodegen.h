//===- KernelCodegen.h - kernel.launch → a function --------------*- C++ -*-===//
//
// A kernel is `void k(int64_t *args, int64_t begin, int64_t end)`: it does tasks
// [begin, end) of its task space. `args` holds, for each launch input, a pointer
// and the dims that are `?` (a tensor) or the value (a host scalar: floats as
// bits), then for each result a pointer and its dims that are `?`. Of a kernel with two rounds
// (TaskSpace), a pointer to scratch memory and the number of the round follow.
//
// The kernel's function and its task space are what the launch's schedule says: nothing
// is chosen here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

/// What the host needs to start a kernel: tasks, and the fewest worth a thread.
struct TaskSpace {
  mlir::OpFoldResult tasks;
  mlir::OpFoldResult grain;
  /// Where tasks need what others found: those of a second round, which starts when all of the
  /// first are done, and the memory for what is found. Null: there is one round.
  mlir::OpFoldResult secondTasks = {};
  mlir::OpFoldResult scratchBytes = {};
};

/// Built at `b` from the launch's operands, outside of its region.
TaskSpace taskSpace(mlir::OpBuilder &b, kernel::LaunchOp launch, const CpuTarget &cpu);

/// The function that does `launch`, added to `module` under `name`. Null after
/// an error was emitted at the operator that cannot be compiled.
mlir::func::FuncOp emitKernel(kernel::LaunchOp launch, mlir::ModuleOp module, llvm::StringRef name,
                              const CpuTarget &cpu);

} // namespace tcc::codegen
