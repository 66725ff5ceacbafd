//===- SharedKernels.cpp - Few kernels for many numbers of rows -----------===//
//
// Of a product of open rows, the best for each of some numbers would be up to twenty kernels, of
// which many cost hardly less than another. So as few are taken as give each number one that costs
// little more than its best: greedily, that first which is good for most of them.
//
//===----------------------------------------------------------------------===//
#include "SharedKernels.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

Schedule device::withoutScratch(ScheduleChoice choice, MLIRContext *context) {
  choice.scratchBytes = 0;
  return choice.attr(context);
}

namespace {

/// A kernel, but for the memory in which its blocks meet, that several numbers of rows may take.
struct SharedKernel {
  ScheduleChoice choice;
  SmallVector<RowsWay> ways; ///< of each number; cost 0: it cannot
};

} // namespace

using Served = SmallVector<const SharedKernel *>;

/// Whether number `i` of rows may have a kernel.
static bool serves(const SharedKernel &kernel, size_t i, ArrayRef<RowsWay> ways, double worse) {
  return kernel.ways[i].cost > 0 && kernel.ways[i].cost <= worse * ways[i].cost;
}

/// Few kernels that serve all numbers, the first of `all` among them. Each turn takes the one that
/// serves most of those that none serves yet, and of equal ones that which costs least.
static Served fewKernels(ArrayRef<SharedKernel> all, ArrayRef<RowsWay> ways, double worse) {
  Served taken;
  SmallVector<bool> served(ways.size(), false);
  auto take = [&](const SharedKernel &kernel) {
    taken.push_back(&kernel);
    for (size_t i = 0; i < ways.size(); ++i)
      served[i] = served[i] || serves(kernel, i, ways, worse);
  };
  take(all.front());
  while (!llvm::all_of(served, [](bool is) { return is; })) {
    const SharedKernel *best = nullptr;
    std::pair<int64_t, double> most;
    for (const SharedKernel &kernel : all.drop_front()) {
      std::pair<int64_t, double> here;
      for (size_t i = 0; i < ways.size(); ++i)
        if (!served[i] && serves(kernel, i, ways, worse)) {
          ++here.first;
          here.second -= kernel.ways[i].cost / ways[i].cost;
        }
      if (here.first && (!best || here > most)) {
        best = &kernel;
        most = here;
      }
    }
    take(*best); // each number is served by its own, at least
  }
  return taken;
}

void device::shareKernels(MutableArrayRef<RowsWay> ways, Schedule many, double worse, unsigned most,
                          function_ref<RowsWay(const ScheduleChoice &, int64_t)> costAt) {
  constexpr double kStep = 0.02, kWorst = 1.3;
  if (llvm::any_of(ways, [](const RowsWay &way) { return way.cost == 0; }))
    return;
  MLIRContext *context = many.getContext();
  llvm::MapVector<Schedule, SharedKernel> kernels;
  ScheduleChoice first(many);
  first.indexBits = ScheduleChoice().indexBits; // as choices have it
  kernels[withoutScratch(first, context)].choice = first;
  for (const RowsWay &way : ways)
    kernels[withoutScratch(way.choice, context)].choice = way.choice;
  for (auto &[schedule, kernel] : kernels)
    for (const RowsWay &way : ways)
      kernel.ways.push_back(
          withoutScratch(way.choice, context) == schedule ? way : costAt(kernel.choice, way.rows));
  auto all = llvm::to_vector(llvm::make_second_range(kernels));
  Served taken = fewKernels(all, ways, worse);
  while (taken.size() > most && worse < kWorst)
    taken = fewKernels(all, ways, worse += kStep);
  for (auto [i, way] : llvm::enumerate(ways)) {
    RowsWay best;
    for (const SharedKernel *kernel : taken)
      if (const RowsWay &here = kernel->ways[i];
          here.cost > 0 && (best.cost == 0 || here.cost < best.cost))
        best = here;
    way = best;
  }
}
