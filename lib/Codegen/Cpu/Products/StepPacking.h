//===- StepPacking.h - Copies of B as steps of k ---------------*- C++ -*-===//
#pragma once
#include "PanelPacking.h"

namespace tcc::codegen {

/// packPanel for steps of several elements; the last one is filled up with zeros, and the scaled
/// column sums follow if lhs is flipped.
void packStepPanel(KernelBuilder &k, const ContractionSpec &spec, Index firstColumn, Index columns,
                   const KBlock &block, mlir::Value to);

} // namespace tcc::codegen
