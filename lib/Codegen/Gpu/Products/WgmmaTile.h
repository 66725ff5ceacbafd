//===- WgmmaTile.h - One tile of a product a block, for wgmma ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. How a block of the template that computes one tile lies in shared
// memory: decided once here, read by the schedule and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "MatrixTile.h"

namespace tcc::codegen::device {

/// A block's tile, and the slices of k on their way to it. When all have been multiplied, its sums
/// lie where the slices lay.
struct WgmmaTile {
  static constexpr unsigned groupRows = 64; ///< of a warp group

  unsigned rows, columns, stages;
  bool turned = false; ///< warp groups have columns (TurnedWgmma.cpp)

  /// The one that a schedule names.
  static WgmmaTile of(Schedule s, bool turned) {
    return {s.getRows(), s.getColumns(), s.getVectors(), turned};
  }

  unsigned groups() const { return (turned ? columns : rows) / groupRows; }
  unsigned instructionColumns() const { return turned ? rows : columns; }
  unsigned multiplying() const { return 128 * groups(); } ///< threads
  /// One warp more fetches.
  unsigned threads() const { return multiplying() + GpuArch::warp; }
  unsigned leftBytes() const { return rows * MatrixTile::depth * 2; }
  unsigned stageBytes() const { return (rows + columns) * MatrixTile::depth * 2; }
  /// Bytes from a row of sums to the next: four rows of 32 bytes meet in no bank, and of single
  /// sums of four pairs of rows few.
  unsigned sumPitch() const { return (columns * 4 + 127) / 128 * 128 + (turned ? 16 : 32); }
  unsigned barrierOffset() const { return std::max(stages * stageBytes(), rows * sumPitch()); }
  /// With room to begin at a multiple of 1024.
  unsigned sharedBytes() const { return barrierOffset() + 16 * stages + 1024; }
};

} // namespace tcc::codegen::device
