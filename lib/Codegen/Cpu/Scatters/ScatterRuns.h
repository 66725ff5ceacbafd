//===- ScatterRuns.h - Updates that come in runs -----------------*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// Whether `indices` do not vary along the axes from `axis` on.
bool isUniformFrom(mlir::Value indices, unsigned axis);

/// What an update, that is no assignment, does to an element.
prim::ReduceKind reductionOf(prim::ScatterKind kind);

/// A row of the result and the run of its updates.
struct ScatterRun {
  prim::ScatterRunsOp op;
  mlir::Value row, begin, end;
  /// Emits what fetches the rows that updates after the given one are made of.
  llvm::function_ref<void(mlir::Value)> fetch;
};

/// Whether a row's elements are of known number, and none is rounded where it is stored.
bool keepsInRegisters(prim::ScatterRunsOp op);
/// The row in registers while its run lasts, some vectors of it at a time.
void emitInRegisters(KernelFrame &f, const ScatterRun &run);

} // namespace tcc::codegen
