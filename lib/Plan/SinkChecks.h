//===- SinkChecks.h - Checks of data come last -------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tcc::plan {

/// Moves checks whose data is read for nothing else to the end of the model.
void sinkChecks(mlir::func::FuncOp function);

} // namespace tcc::plan
