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
// What needs nothing of the kernel before it, as nothing needs a check of indices, need not wait
// for it at all: it runs beside that one, and waits at its end, so that who comes next may go by it
// alone. That one lets it start when it has waited itself, so that the work before both has ended.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ScheduleChoice.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/InPlace.h"
#include "tcc/Analysis/StorageLiveness.h"
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
bool isShort(kernel::LaunchOp launch, double few = 8 << 20) {
  double bytes = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += typicalBytes(tensor, /*open=*/0);
  };
  llvm::for_each(launch->getOperandTypes(), add);
  llvm::for_each(launch.getResultTypes(), add);
  return bytes <= few;
}

bool letsNextStart(kernel::LaunchOp launch, Schedule schedule, kernel::LaunchOp next,
                   Schedule nextSchedule) {
  bool tiled = next.getKind() == kernel::KernelKind::Attention ||
               (productOf(next) && !hasFewRows(nextSchedule));
  return (hasFewRows(schedule) || isShort(launch)) &&
         (streamsNarrow(next, nextSchedule) || (streamsNarrow(launch, schedule) && !tiled));
}

/// Whether the template of a form has neither tiles nor a place of its own where it waits.
bool waitsAtOneEnd(kernel::LaunchOp launch, Schedule schedule) {
  return launch.getKind() != kernel::KernelKind::Attention && !productOf(launch) &&
         llvm::is_contained({Form::Loop, Form::Transpose, Form::Column, Form::Row, Form::Line,
                             Form::Scatter, Form::Collect},
                            schedule.getForm());
}

/// Whether an operand of `next` comes from a result of `launch`, of the same block, by any
/// operators.
bool dependsOn(kernel::LaunchOp next, kernel::LaunchOp launch) {
  SmallVector<Operation *> work = {next};
  DenseSet<Operation *> seen;
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) {
      Operation *from = operand.getDefiningOp();
      if (!from || from->getBlock() != launch->getBlock() || from->isBeforeInBlock(launch) ||
          !seen.insert(from).second)
        continue;
      if (from == launch || from->getNumRegions() > 0)
        return true;
      work.push_back(from);
    }
  return false;
}

/// Whether `next` neither reads what `launch` writes nor may be given memory that it reads. What
/// the caller gave is nobody else's; anything else may be given to others when `launch` was the
/// last to read it, so `next` must read it too.
bool sharesNothing(kernel::LaunchOp launch, kernel::LaunchOp next) {
  if (dependsOn(next, launch) ||
      llvm::any_of(launch.getResults(), [](Value result) { return result.use_empty(); }))
    return false;
  SmallVector<Value> reads, overwrites;
  for (Value v : next.getInputs())
    reads.push_back(storageOf(v));
  for (unsigned i : overwritableInputs(next))
    overwrites.push_back(reads[i]);
  return llvm::all_of(launch.getInputs(), [&](Value v) {
    if (!isa<RankedTensorType>(v.getType()))
      return true;
    Value memory = storageOf(v);
    auto argument = dyn_cast<BlockArgument>(memory);
    bool given = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    return (given || llvm::is_contained(reads, memory)) && !llvm::is_contained(overwrites, memory);
  });
}

/// Launches that may run at the same time on one architecture: the first, which waits for the work
/// before it, and those beside it.
struct Together {
  SmallVector<kernel::LaunchOp, 4> launches;
  Schedule first;       ///< of the first
  bool sharing = false; ///< one of the others has scratch memory, behind the first one's

  bool hasRoomFor(Schedule next) const;
};

/// The first one's scratch memory is a truth value's where others have theirs behind it.
bool Together::hasRoomFor(Schedule next) const {
  if (next.getScratchBytes() == 0)
    return true;
  kernel::LaunchOp launch = launches.front();
  bool one = launch.getNumResults() == 1 && tensorType(launch.getResult(0)).hasStaticShape() &&
             tensorType(launch.getResult(0)).getNumElements() == 1;
  bool fits =
      first.getScratchBytes() == 0 || (one && first.getForm() == Form::Row &&
                                       first.getScratchBytes() <= kCounterBytes + kBesideBytes);
  return !sharing && fits && next.getForm() == Form::Scatter;
}

/// Whether `next` may run beside `launch`, the last of `together`.
bool runsBeside(kernel::LaunchOp launch, Schedule schedule, kernel::LaunchOp next,
                Schedule nextSchedule, const Together &together) {
  constexpr size_t kMost = 4;
  constexpr double kFewBytes = 32 << 20;
  // Blocks that have a line each would be spread unevenly over what the first one's leave.
  bool hasLines = nextSchedule.getForm() == Form::Line ||
                  (nextSchedule.getForm() == Form::Scatter && nextSchedule.getDepth());
  if (hasLines)
    return false;
  return waitsAtOneEnd(launch, schedule) && waitsAtOneEnd(next, nextSchedule) &&
         isShort(launch, kFewBytes) && together.launches.size() < kMost &&
         together.hasRoomFor(nextSchedule) &&
         llvm::all_of(
             together.launches, [&](kernel::LaunchOp other) { return sharesNothing(other, next); });
}

struct Starts {
  bool nextEarly, nextBeside, beside;
};

Schedule withStarts(Schedule s, Starts starts) {
  ScheduleChoice choice(s);
  choice.nextEarly = starts.nextEarly;
  choice.nextBeside = starts.nextBeside;
  choice.beside = starts.beside;
  if (s.getScratchBytes() && starts.beside && !s.getBeside())
    choice.scratchBytes += kBesideBytes;
  return choice.attr(s.getContext());
}

class EarlyStartsPass : public tcc::impl::EarlyStartsPassBase<EarlyStartsPass> {
  void runOnOperation() override {
    // The launch of each block that came last, and its schedules.
    getOperation()->walk([](Block *block) {
      kernel::LaunchOp last;
      bool follows = true;
      llvm::StringMap<Together> together;
      for (Operation &op : *block) {
        auto launch = dyn_cast<kernel::LaunchOp>(op);
        if (launch && isa_and_nonnull<kernel::BySizeAttr>(launch.getScheduleAttr())) {
          // Which of its schedules a run takes is not known; nothing starts early around it.
          last = {};
          together.clear();
          continue;
        }
        if (!launch || !isa_and_nonnull<SchedulesAttr>(launch.getScheduleAttr())) {
          if (op.getNumRegions() > 0) // where others may be launched
            follows = false;
          continue;
        }
        if (last)
          mark(last, launch, follows, together);
        last = launch;
        follows = true;
      }
    });
  }

  /// `follows`: nothing is launched between the two.
  static void mark(kernel::LaunchOp launch, kernel::LaunchOp next, bool follows,
                   llvm::StringMap<Together> &all) {
    auto schedules = cast<SchedulesAttr>(launch.getScheduleAttr());
    auto following = cast<SchedulesAttr>(next.getScheduleAttr());
    SmallVector<Schedule> marked, markedNext(following.getSchedules());
    for (auto [arch, s] : llvm::zip(schedules.getArchs(), schedules.getSchedules())) {
      auto at = llvm::find(following.getArchs(), arch) - following.getArchs().begin();
      Schedule after = following.find(arch.getValue());
      bool early = after && letsNextStart(launch, s, next, after);
      Together &together = all[arch.getValue()];
      if (together.launches.empty())
        together = {{launch}, s};
      bool beside = after && !early && follows && runsBeside(launch, s, next, after, together);
      marked.push_back(withStarts(s, {early, beside, s.getBeside()}));
      if (!beside) {
        together = {{next}, after};
        continue;
      }
      markedNext[at] = withStarts(after, {false, false, true});
      together.launches.push_back(next);
      together.sharing |= after.getScratchBytes() != 0;
    }
    MLIRContext *context = launch.getContext();
    launch.setScheduleAttr(SchedulesAttr::get(context, schedules.getArchs(), marked));
    next.setScheduleAttr(SchedulesAttr::get(context, following.getArchs(), markedNext));
  }
};

} // namespace

std::unique_ptr<Pass> tcc::codegen::createEarlyStartsPass() {
  return std::make_unique<EarlyStartsPass>();
}
