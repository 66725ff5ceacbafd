//===- DynamicPeak.h - What a run holds at most ------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Emit/Manifest.h"

namespace tcc {

/// `fixed` bytes and those of the results that a run allocates and that live at once, at
/// their peak: a number, or a sum over the model's dims where those are open,
/// "4096 + 3072*batch*seq + 64*seq". An extent that only the run knows is `?`.
emit::ManifestAmount peakBytes(mlir::func::FuncOp function, uint64_t fixed);

} // namespace tcc
