//===- CutTimes.h - How long a product cut into tasks takes ------*- C++ -*-===//
//
// `tiles` register tiles of rows by `panels` panels of columns are cut into tasks of some of both.
// The times that Schedule.cpp compares to choose a cut, in cycles of a core.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Schedule.h"
#include <cmath>
#include <cstdint>

namespace tcc::codegen {

/// A cut is chosen for 2, 4 and 8 threads up to so many.
inline constexpr int64_t kMostCutThreads = 16;

/// Whether a task whose rows and panels take so many bytes is done panel by panel, each by all
/// tiles: its rows stay in L2 and its panels do not.
inline bool staysPanelByPanel(double rowBytes, double panelBytes, double l2Bytes) {
  return rowBytes <= l2Bytes / 2 && panelBytes > l2Bytes / 2;
}

/// A matrix product, or a convolution as one: multiply-adds, operands that each task copies for its
/// register tiles (at their price, Target/CpuCosts.h), bytes that come from beyond L2, and waiting.
struct ProductProblem {
  double tiles, panels, tileCycles, aTileBytes, bPanelBytes, l2Bytes;
  double entries = 1;                               ///< of a batch
  double aTileCopyCycles = 0, bPanelCopyCycles = 0; ///< once for each task that has them
  bool keepsRows = false;                           ///< staysPanelByPanel is asked
  double mostSums = HUGE_VAL;                       ///< tiles by panels of a task

  double time(int64_t taskTiles, int64_t taskPanels) const;
};

/// The same for tiles of a Winograd convolution: `tiles` are register tiles of `rows` tiles.
struct WinogradProblem {
  double tiles, panels, rows, vectors, channels, lanes, panelBytes, l2Bytes;
  double groups = 1; ///< of as many channels and of a part of the panels

  double time(int64_t taskTiles, int64_t taskPanels) const;
};

/// Whether the tiles of a task may go by one panel after the other: both operands are read where
/// they lie, B as packed weights. With 32 registers large products are at the peak without it.
bool mayKeepRows(const CpuTarget &cpu, PanelLayout b, const ContractionSchedule &schedule);

} // namespace tcc::codegen
