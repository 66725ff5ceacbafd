//===- TransposedOperand.h - Operands that lie across the results -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include <optional>

namespace tcc::codegen::device {

/// Axes of the results that are one of a tile, outermost first.
using JoinedAxes = llvm::SmallVector<unsigned, 2>;

/// What a loop kernel reads at the results' own points that lies along other axes in memory.
struct TransposedOperand {
  llvm::SmallVector<mlir::Value, 2> operands; ///< transposes, or views that such a one is among
  JoinedAxes across;                          ///< along which all of them lie
  JoinedAxes along;                           ///< the results' last ones

  /// All axes of the results, those of a tile together: of blocks each has an index.
  llvm::SmallVector<JoinedAxes> groups() const;
  bool isCut(const JoinedAxes &group) const { return group == across || group == along; }
};

/// Null where there are none, or something else is not at the results' own point.
std::optional<TransposedOperand> transposedOperand(kernel::LaunchOp launch);
/// Neighbours that a thread reads and writes at once: 16 bytes of the narrowest operand, if all
/// rows of both axes are cut so; else 1.
unsigned transposedLanes(kernel::LaunchOp launch);
/// Points of a block's tile along both axes.
inline unsigned transposedTile(unsigned lanes) { return lanes > 1 ? 8 * lanes : GpuArch::warp; }

} // namespace tcc::codegen::device
