//===- CutTimes.cpp - How long a product cut into tasks takes -------------===//
#include "CutTimes.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include <algorithm>

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
  // Each tile's rows are streams that end before hardware fetches them well; panels are one stream.
  constexpr double priceOfFarRows = 4;
  if (taskTiles * taskPanels > mostSums)
    return HUGE_VAL;
  double taskRows = std::ceil(tiles / taskTiles), taskColumns = std::ceil(panels / taskPanels);
  double tasks = entries * taskRows * taskColumns;
  // A task's panels of B stay in L2 across the tiles of a task, or come again for each.
  double taskRowBytes = taskTiles * aTileBytes, taskPanelBytes = taskPanels * bPanelBytes;
  bool byPanel = keepsRows && staysPanelByPanel(taskRowBytes, taskPanelBytes, l2Bytes);
  bool resident = byPanel || taskPanelBytes <= l2Bytes / 2;
  double priceOfRows = keepsRows && tiles * aTileBytes > l2Bytes ? priceOfFarRows : 1;
  double bytes = priceOfRows * aTileBytes * tiles * taskColumns +
                 bPanelBytes * panels * (resident ? taskRows : tiles);
  double copies = aTileCopyCycles * tiles * taskColumns + bPanelCopyCycles * panels * taskRows;
  double entry = tiles * panels * tileCycles + bytes / bytesPerCycle + copies;
  return idleFactor(tasks) * entries * entry + tasks * cyclesPerTask;
}

double WinogradProblem::time(int64_t taskTiles, int64_t taskPanels) const {
  constexpr double inputCycles = 36, outputCycles = 60, bytesPerCycle = 10;
  double taskRows = std::ceil(tiles / taskTiles), taskColumns = std::ceil(panels / taskPanels);
  double tasks = taskRows * taskColumns;
  // A task transforms the channels of the groups that its panels are of.
  double taskGroups = std::ceil(taskPanels * groups / panels);
  double input = tiles * rows * taskColumns * taskGroups * channels / lanes * inputCycles;
  double output = tiles * panels * rows * vectors * outputCycles;
  double products = tiles * panels * rows * vectors * kWinogradPoints * channels;
  // A block uses each point's weights once; all of them stay in L2, or come again.
  bool resident = panels * panelBytes <= l2Bytes / 4;
  double bytes = panels * panelBytes * (resident ? 1 : taskRows);
  double work = input + output + products + bytes / bytesPerCycle;
  return idleFactor(tasks) * work + tasks * cyclesPerTask;
}

bool mayKeepRows(const CpuTarget &cpu, PanelLayout b, const ContractionSchedule &schedule) {
  constexpr unsigned manyRegisters = 32;
  return cpu.vectorRegisters < manyRegisters && b == PanelLayout::Packed && !schedule.matrixTiles &&
         schedule.a == OperandAccess::InPlace && !schedule.packsB();
}

bool goesPanelByPanel(const CpuTarget &cpu, PanelLayout b, const ContractionSchedule &schedule,
                      int64_t k, unsigned accBits) {
  double stepBytes = double(schedule.kBlock ? std::min(k, schedule.kBlock) : k) * accBits / 8;
  return mayKeepRows(cpu, b, schedule) &&
         staysPanelByPanel(stepBytes * schedule.rows * schedule.tilesPerTask,
                           stepBytes * schedule.panelWidth() * schedule.panelsPerTask, cpu.l2Bytes);
}

} // namespace tcc::codegen
