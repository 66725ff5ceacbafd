//===- RowLanes.h - Lanes of a row's loops -----------------------*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Codegen/Common/RowStages.h"

namespace tcc::codegen {

/// Lanes of the loop of `stage` over rows of `length`, in which those of points have `lanes`.
unsigned lanesOfStage(KernelFrame &f, const RowStage &stage, mlir::Value length, unsigned lanes);

/// Whether a row of `space`, along its axes after the first `rows`, is long in memory, in the type
/// of what has most elements of the kernel's operands. Shorter ones end before the hardware has
/// found that four of them are read at a time: from memory one after the other is faster there.
bool longRows(KernelFrame &f, mlir::Value space, unsigned rows);

/// A matrix of 16 bits an element that comes from beyond the caches, or null: what widens it
/// computes so much for a line that rows one after the other, fetched far ahead, come sooner than
/// several.
const Memory *farNarrowMatrix(KernelFrame &f, mlir::Value space);

} // namespace tcc::codegen
