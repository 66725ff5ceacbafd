//===- RowStages.h - The loops that a row needs ------------------*- C++ -*-===//
//
// A row kernel (softmax, layer norm, a sum) passes over a row once for every stage of
// reductions: those that do not need each other's results share a pass.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Value.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace tcc::codegen {

using RowStage = llvm::SmallVector<prim::ReduceOp>;

/// The reductions of `launch` in program order, in stages.
std::vector<RowStage> rowStages(kernel::LaunchOp launch);

/// Whether computing `value` at a point evaluates one of `ops`.
bool dependsOn(mlir::Value value, const llvm::DenseSet<mlir::Operation *> &ops);

/// How many loops over a row need the value of `op`: those of the stages, and that which stores.
unsigned loopsThatRead(kernel::LaunchOp launch, llvm::ArrayRef<RowStage> stages,
                       mlir::Operation *op);

/// Whether what a row computes at a point reads `value` at the same point only, wherever it is
/// read: no view, index or repetition lies between. What holds the values of one row alone can
/// stand for such a value; of two values of one type extents may differ, if they are open.
bool isReadInPlace(mlir::Value value);

} // namespace tcc::codegen
