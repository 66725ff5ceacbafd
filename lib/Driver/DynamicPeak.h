//===- DynamicPeak.h - What results of dynamic shape take at most -*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace tcc {

/// The bytes of the results that a run allocates and that live at once, at their
/// peak, as a sum over the model's dims: "3072*batch*seq + 64*seq". Empty when there
/// are none.
std::string dynamicPeak(mlir::func::FuncOp function);

} // namespace tcc
