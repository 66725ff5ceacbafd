//===- PrimProgram.h - A function of primitives, run both ways -*- C++ -*-===//
//
// The property that tests here hold: what the reference interpreter gives for a function
// of prim operators, a compiled model.so gives too, on any CPU that this machine can
// stand in for.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Reference/Tensor.h"

namespace tcc::test {

/// A context with the dialects of all phases.
mlir::MLIRContext &primContext();

/// The baselines of x86-64 that this machine runs, by name; elsewhere "native" alone.
std::vector<std::string> runnableCpus();

using Outputs = std::vector<reference::Tensor>;

/// The results of the function @main of `module`; the test case ends where there are none.
Outputs interpreted(mlir::ModuleOp module, llvm::ArrayRef<reference::Tensor> inputs);
/// The same by way of the phases after `from`, as the compiler has them: linked, loaded and
/// run.
llvm::Expected<Outputs> compiled(mlir::ModuleOp module, llvm::ArrayRef<reference::Tensor> inputs,
                                 const std::string &cpu, Phase from = Phase::Differentiate);

} // namespace tcc::test
