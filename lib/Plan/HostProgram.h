//===- HostProgram.h - A planned function as a host program ------*- C++ -*-===//
#pragma once
#include "Plan/KernelTable.h"
#include "Plan/StoragePlan.h"

namespace tcc::plan {

/// Replaces `function` by one that says step by step where results lie, what is copied
/// and when memory is free again. Tensors of launches lie in `space`. Fails after an error at an
/// operator that may not exist at this place.
mlir::LogicalResult makeHostProgram(mlir::func::FuncOp function, const StoragePlan &plan,
                                    KernelTable &kernels, host::MemorySpace space);

} // namespace tcc::plan
