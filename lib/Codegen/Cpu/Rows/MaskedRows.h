//===- MaskedRows.h - Rows of which a part is chosen by position -*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Codegen/Common/KeyRange.h"

namespace tcc::codegen {

/// What a kernel of points selects by where along a row they are: a triangle, a band.
struct MaskedRows {
  prim::SelectOp select;
  llvm::SmallVector<KeyBound> bounds; ///< of the points that take its first value
};

/// None where there is none, or where rows are not worth being cut: too short ones, and those of
/// wide elements where asking costs little beside moving them.
std::optional<MaskedRows> maskedRowsOf(kernel::LaunchOp launch, unsigned lanes,
                                       const CpuTarget &cpu);

/// The points [low, high) of the row at `outer`: vectors that lie on one side know it, those
/// between are asked. `body` stores the points at a place and its lanes. Where a run finds the row
/// too short, `whole` stores all of it.
void emitMaskedRow(KernelFrame &f, const MaskedRows &rows, const Coords &outer, mlir::Value low,
                   mlir::Value high, unsigned lanes, bool mayRepeat,
                   llvm::function_ref<void(mlir::Value)> body, llvm::function_ref<void()> whole);

} // namespace tcc::codegen
