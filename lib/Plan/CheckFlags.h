//===- CheckFlags.h - Checks of data that nobody waits for -------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::plan {

/// What fails when the one element of a launch's result is `bad`.
struct CheckFlag {
  prim::AssertOp check;
  bool bad;
};

struct CheckFlags {
  llvm::MapVector<mlir::Value, CheckFlag> of; ///< by results of launches
  /// What lies between such a result and its checks, those included.
  llvm::DenseSet<mlir::Operation *> readers;
};

/// Those of a function whose launches run on a device.
CheckFlags findCheckFlags(mlir::func::FuncOp function);

} // namespace tcc::plan
