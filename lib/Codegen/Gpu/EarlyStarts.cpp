//===- EarlyStarts.cpp - Kernels that start before the one before them ends ===//
//
// A kernel may let the next one of its stream onto the multiprocessors once all of its blocks have
// begun. That one fetches weights meanwhile and waits (KernelFrame::awaitEarlierWork). But blocks
// that wait take room: those of the kernel behind them are spread over what is left, several on one
// multiprocessor beside idle ones. Where blocks are few and long this costs up to three times the
// time (docs/Rationale/gpu-code.md). So a kernel says it only in front of a product of few rows,
// whose blocks are bound by memory and gain by having their weights early, and behind such a one in
// front of what has no tiles. All others start when the blocks of the one before have ended.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

namespace tcc {
#define GEN_PASS_DEF_EARLYSTARTSPASS
#include "tcc/Codegen/Common/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;
using tcc::gpu::SchedulesAttr;

namespace {

bool hasFewRows(Schedule schedule) {
  return schedule.getForm() == Form::Skinny || schedule.getForm() == Form::SkinnyMma;
}

/// Whether a kernel multiplies few rows by a matrix of narrow elements, which it reads once.
bool streamsNarrow(kernel::LaunchOp launch, Schedule schedule) {
  return hasFewRows(schedule) && llvm::any_of(launch->getOperandTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.getRank() >= 2 && elementBytes(tensor.getElementType()) <= 2;
         });
}

/// Whether all that a kernel moves takes few microseconds. It takes a block 1.2 ns to let the next
/// kernel start, one after the other, and 0.6 ns without, which is too long where many are.
bool isShort(kernel::LaunchOp launch) {
  constexpr double kFew = 8 << 20;
  double bytes = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += typicalBytes(tensor, /*open=*/0);
  };
  llvm::for_each(launch->getOperandTypes(), add);
  llvm::for_each(launch.getResultTypes(), add);
  return bytes <= kFew;
}

bool letsNextStart(kernel::LaunchOp launch, Schedule schedule, kernel::LaunchOp next,
                   Schedule nextSchedule) {
  bool tiled = next.getKind() == kernel::KernelKind::Attention ||
               (productOf(next) && !hasFewRows(nextSchedule));
  return (hasFewRows(schedule) || isShort(launch)) &&
         (streamsNarrow(next, nextSchedule) || (streamsNarrow(launch, schedule) && !tiled));
}

class EarlyStartsPass : public tcc::impl::EarlyStartsPassBase<EarlyStartsPass> {
  void runOnOperation() override {
    // The launch of each block that came last, and its schedules.
    getOperation()->walk([](Block *block) {
      kernel::LaunchOp last;
      for (Operation &op : *block) {
        auto launch = dyn_cast<kernel::LaunchOp>(op);
        if (!launch || !isa_and_nonnull<SchedulesAttr>(launch.getScheduleAttr()))
          continue;
        if (last)
          mark(last, launch);
        last = launch;
      }
    });
  }

  static void mark(kernel::LaunchOp launch, kernel::LaunchOp next) {
    auto schedules = cast<SchedulesAttr>(launch.getScheduleAttr());
    auto following = cast<SchedulesAttr>(next.getScheduleAttr());
    SmallVector<Schedule> marked;
    for (auto [arch, s] : llvm::zip(schedules.getArchs(), schedules.getSchedules())) {
      Schedule after = following.find(arch.getValue());
      marked.push_back(after && letsNextStart(launch, s, next, after) ? withNextEarly(s) : s);
    }
    launch.setScheduleAttr(SchedulesAttr::get(launch.getContext(), schedules.getArchs(), marked));
  }

  static Schedule withNextEarly(Schedule s) {
    return Schedule::get(s.getContext(), s.getForm(), s.getThreads(), s.getLanes(), s.getVectors(),
                         s.getRowThreads(), s.getKept(), s.getRows(), s.getColumns(), s.getDepth(),
                         s.getSharedBytes(), s.getMostBlocks(), s.getSplit(), s.getScratchBytes(),
                         s.getIndexBits(), /*next_early=*/true);
  }
};

} // namespace

std::unique_ptr<Pass> tcc::codegen::createEarlyStartsPass() {
  return std::make_unique<EarlyStartsPass>();
}
