//===- CutTimes.cpp - How long a product cut into tasks takes -------------===//
#include "CutTimes.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include <cmath>

namespace tcc::codegen {

/// Cycles of a core to start a task.
static constexpr double cyclesPerTask = 500;

/// How many times longer `tasks` equal tasks take than threads that never wait would need, on
/// average of 2 to kMostCutThreads threads: this matters more than traffic does.
static double idleFactor(double tasks) {
  double factor = 0;
  for (double threads = 2; threads <= kMostCutThreads; threads *= 2)
    factor += std::ceil(tasks / threads) * threads / tasks / 4;
  return factor;
}

double ProductProblem::time(int64_t taskTiles, int64_t taskPanels) const {
  constexpr double bytesPerCycle = 20;
  double taskRows = std::ceil(tiles / taskTiles), taskColumns = std::ceil(panels / taskPanels);
  double tasks = entries * taskRows * taskColumns;
  // A task's panels of B stay in L2 across the tiles of a task, or come again for each.
  bool resident = taskPanels * bPanelBytes <= l2Bytes / 2;
  double bytes =
      aTileBytes * tiles * taskColumns + bPanelBytes * panels * (resident ? taskRows : tiles);
  double copies = aTileCopyCycles * tiles * taskColumns + bPanelCopyCycles * panels * taskRows;
  double entry = tiles * panels * tileCycles + bytes / bytesPerCycle + copies;
  return idleFactor(tasks) * entries * entry + tasks * cyclesPerTask;
}

double WinogradProblem::time(int64_t taskTiles, int64_t taskPanels) const {
  constexpr double inputCycles = 36, outputCycles = 60, bytesPerCycle = 10;
  double taskRows = std::ceil(tiles / taskTiles), taskColumns = std::ceil(panels / taskPanels);
  double tasks = taskRows * taskColumns;
  double input = tiles * rows * taskColumns * channels / lanes * inputCycles;
  double output = tiles * panels * rows * vectors * outputCycles;
  double products = tiles * panels * rows * vectors * kWinogradPoints * channels;
  // A block uses each point's weights once; all of them stay in L2, or come again.
  bool resident = panels * panelBytes <= l2Bytes / 4;
  double bytes = panels * panelBytes * (resident ? 1 : taskRows);
  double work = input + output + products + bytes / bytesPerCycle;
  return idleFactor(tasks) * work + tasks * cyclesPerTask;
}

} // namespace tcc::codegen
