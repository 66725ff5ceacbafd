//===- LaunchCheck.h - Every launch of a function, on a device ---*- C++ -*-===//
//
// The reference interpreter runs a function after fusion, control flow, host scalars and
// open extents included. Whenever it has computed a kernel.launch, the same launch runs
// as a GPU kernel on the same inputs, and its results are compared. So whatever the
// interpreter can run shows whether each of its kernels is right, without a host program.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include <map>

namespace tcc::test {

/// A launch as it happened.
struct LaunchRecord {
  kernel::LaunchOp launch;
  std::string symbol, text; ///< equal texts are one kernel
  codegen::device::Schedule schedule;
  int64_t blocks;
  llvm::SmallVector<codegen::device::TensorMap> maps; ///< extents are constants here
  /// Host scalars are of rank 0; inputs are as they lie in memory.
  std::vector<reference::Tensor> inputs, expected;
};

/// Calls `visit` for every launch of `function` (which gets operations that compute the
/// grids) as the interpreter comes to it. A launch that has a schedule for `arch` runs by it, one
/// that has none and that the template `form` takes by the template's.
llvm::Error forEachLaunch(mlir::func::FuncOp function, llvm::ArrayRef<reference::Tensor> inputs,
                          const WeightTable &weights, const GpuArch &arch,
                          llvm::function_ref<void(const LaunchRecord &)> visit, bool tf32 = false,
                          std::optional<codegen::device::Form> form = std::nullopt);

/// The kernel of a launch in a module of its own, with math expanded. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
kernelModule(kernel::LaunchOp launch, llvm::StringRef symbol, codegen::device::Schedule schedule,
             const GpuArch &arch,
             const codegen::ExpandMathOptions &math = codegen::ExpandMathOptions::forGpu());

/// The words of a launch: `address` gives that of input or result `index`.
std::vector<int64_t>
launchWords(const LaunchRecord &record,
            llvm::function_ref<int64_t(bool isResult, unsigned index)> address);

/// How far `have` is from `want`, relative to the largest element of `want`; infinity where
/// one is a NaN or an infinity and the other is something else.
double distance(const reference::Tensor &have, const reference::Tensor &want);
/// What `distance` may be for a result of `type` computed with other roundings.
double tolerance(DType type);

/// Runs all launches on the simulated device, once with the threads in the order of each seed;
/// gives one line for each run that is wrong.
llvm::Expected<std::vector<std::string>>
simulateLaunches(mlir::func::FuncOp function, llvm::ArrayRef<reference::Tensor> inputs,
                 const WeightTable &weights, const GpuArch &arch, llvm::ArrayRef<unsigned> seeds,
                 bool tf32 = false);

} // namespace tcc::test
