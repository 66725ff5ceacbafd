//===- TransposedOperand.h - Operands that lie across the results -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include <optional>

namespace tcc::codegen::device {

/// The transposes of a loop kernel that lie along another axis than the results.
struct TransposedOperand {
  llvm::SmallVector<prim::TransposeOp, 2> operands;
  unsigned axis; ///< of the results, along which all of them lie
};

/// Null where there are none, or something else is not at the results' own point.
std::optional<TransposedOperand> transposedOperand(kernel::LaunchOp launch);
/// Neighbours that a thread reads and writes at once: 16 bytes of the narrowest operand, if all
/// rows of both axes are cut so; else 1.
unsigned transposedLanes(kernel::LaunchOp launch);
/// Points of a block's tile along both axes.
inline unsigned transposedTile(unsigned lanes) { return lanes > 1 ? 8 * lanes : GpuArch::warp; }

} // namespace tcc::codegen::device
