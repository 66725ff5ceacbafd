//===- RowLanes.h - Lanes of a row's loops -----------------------*- C++ -*-===//
#pragma once
#include "KernelFrame.h"
#include "tcc/Codegen/Common/RowStages.h"

namespace tcc::codegen {

/// Lanes of the loop of `stage` over rows of `length`, in which those of points have `lanes`.
unsigned lanesOfStage(KernelFrame &f, const RowStage &stage, mlir::Value length, unsigned lanes);

} // namespace tcc::codegen
