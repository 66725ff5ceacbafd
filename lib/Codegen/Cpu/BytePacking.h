//===- BytePacking.h - Copies of B as steps of bytes -----------*- C++ -*-===//
#pragma once
#include "PanelPacking.h"

namespace tcc::codegen {

/// packPanel for steps of bytes; the last one is filled up with zeros, and the scaled
/// column sums follow if lhs is flipped.
void packBytePanel(KernelBuilder &k, const ContractionSpec &spec, Index firstColumn, Index columns,
                   const KBlock &block, mlir::Value to);

} // namespace tcc::codegen
