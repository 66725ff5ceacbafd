//===- SplitComplex.h - Complex tensors as two real ones ---------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tcc {
class WeightTable;

/// The last step of decompose: afterwards no value is complex. A complex input or
/// output becomes real with a last axis of extent 2, as it lies in memory, and is
/// marked `graph.complex`; weights likewise. A UserError names the node whose
/// operator has no form for two parts.
llvm::Error splitComplex(mlir::ModuleOp module, WeightTable &weights);

} // namespace tcc
