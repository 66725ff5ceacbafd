//===- OpenExactRows.cpp - Exact products of rows that a run counts -------===//
//
// Schedules of an exact product for some numbers of rows, up to which they are taken.
//
//===----------------------------------------------------------------------===//
#include "../SharedKernels.h"
#include "ExactProductSchedule.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

SmallVector<FewRows> device::scheduleFewExactRows(kernel::LaunchOp launch, Schedule many,
                                                  const GpuArch &arch) {
  // Runs of up to so many rows take what is best for as many: warps over columns the fewest, where
  // operands lie along what is summed; then those of so many more each, up to a limit.
  constexpr unsigned kSkinny[] = {1, 4, 8};
  constexpr std::pair<int64_t, int64_t> kTypical[] = {
      {16, 32}, {32, 64}, {64, 1024}, {128, 2048}, {256, 4096}};
  constexpr int64_t kMostScratch = 32 << 20;
  // Of 6 % worse, which is about what estimates are off by, some were 20 to 36.
  constexpr double kWorse = 1.04;
  constexpr unsigned kKernels = 16;
  std::optional<ProductSizes> sizes = openExactRows(launch, arch);
  if (!sizes)
    return scheduleFewOpenProducts(launch, many, arch);
  SmallVector<RowsWay> ways;
  auto wayAt = [&](const ScheduleChoice *only, int64_t rows) {
    RowsWay way{ScheduleChoice(), rows};
    ProductSizes here = *sizes;
    here.rows = rows;
    way.cost = scheduleExact(way.choice, launch, here, arch, only);
    if (way.choice.scratchBytes <= kMostScratch)
      return way;
    way = {ScheduleChoice(), rows}; // runs of few rows would have that memory in vain
    here.shares = false;
    way.cost = scheduleExact(way.choice, launch, here, arch, only);
    return way;
  };
  int64_t rows = 0;
  for (auto [step, last] : kTypical)
    while (rows < last)
      ways.push_back(wayAt(nullptr, rows += step));
  shareKernels(ways, many, kWorse, kKernels,
               [&](const ScheduleChoice &only, int64_t rows) { return wayAt(&only, rows); });
  SmallVector<std::pair<ScheduleChoice, int64_t>> choices;
  if (lieAlongSums(productOf(launch), *sizes))
    for (unsigned few : kSkinny) {
      sizes->rows = few;
      scheduleSkinny(choices.emplace_back(ScheduleChoice(), few).first, launch, *sizes, arch);
      choices.back().first.depth = few;
    }
  for (const RowsWay &way : ways)
    choices.push_back({way.choice, way.rows});
  // Those that differ in the memory alone that blocks meet in are one kernel, with the most.
  llvm::MapVector<Schedule, unsigned> scratch;
  for (auto &[choice, rows] : choices) {
    choice.indexBits = many.getIndexBits();
    unsigned &most = scratch[withoutScratch(choice, launch.getContext())];
    most = std::max(most, choice.scratchBytes);
  }
  for (auto &[choice, rows] : choices)
    choice.scratchBytes = scratch[withoutScratch(choice, launch.getContext())];
  return schedulesByRows(choices, sizes->batch * sizes->columns, many);
}
