//===- JoinedChecks.cpp - Checks that the kernel behind them does ---------===//
//
// Whether any index is out of range is a kernel of its own, a reduction of all indices, and the one
// behind it reads them again. Where that one computes points, its threads check the indices
// beside that, each a few: one launch is less, and the indices are read once.
//
//   %bad = kernel.launch row[0] "or_reduce" ins(%i) { ... prim.reduce any }
//   prim.assert ...
//   %y = kernel.launch loop "take" ins(%x, %i) { ... }
// becomes
//   %y, %bad = kernel.launch loop "take" ins(%x, %i) { ... prim.reduce any }
//   prim.assert ...
//
// A thread that finds a bad one says so in a counter, which the first of each block adds one to
// when all of it have looked. Whoever is the last to do so knows what all have found. So nobody
// waits, and the answer comes while points are read (LoopKernel.cpp).
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ScheduleChoice.h"
#include "tcc/Analysis/StorageLiveness.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"

namespace tcc {
#define GEN_PASS_DEF_JOINCHECKSPASS
#include "tcc/Codegen/Common/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;
using tcc::gpu::SchedulesAttr;

prim::ReduceOp device::joinedCheck(kernel::LaunchOp launch) {
  Operation *yield = launch.getBody().front().getTerminator();
  if (launch.getKind() != kernel::KernelKind::Loop || launch.getNumResults() != 2 ||
      tensorType(launch.getResult(1)).getRank() != 0 ||
      tensorType(launch.getResult(0)).getRank() == 0)
    return {};
  auto reduce = yield->getOperand(1).getDefiningOp<prim::ReduceOp>();
  return reduce && reduce.getKind() == prim::ReduceKind::any ? reduce : prim::ReduceOp();
}

namespace {

/// The reduction of a kernel that only tells whether any of what it reads is something.
prim::ReduceOp checkOf(kernel::LaunchOp launch) {
  if (launch.getKind() != kernel::KernelKind::Row || launch.getNumResults() != 1 ||
      launch.getOnHostAttr() || tensorType(launch.getResult(0)).getRank() != 0)
    return {};
  auto reduce =
      launch.getBody().front().getTerminator()->getOperand(0).getDefiningOp<prim::ReduceOp>();
  return reduce && reduce.getKind() == prim::ReduceKind::any ? reduce : prim::ReduceOp();
}

/// Whether threads compute points, and blocks do not meet.
bool isPlain(kernel::LaunchOp launch) {
  auto schedules = dyn_cast_or_null<SchedulesAttr>(launch.getScheduleAttr());
  return schedules && llvm::all_of(schedules.getSchedules(), [&](Schedule s) {
           return s.getForm() == Form::Loop && !s.getRows() && !s.getScratchBytes();
         });
}

/// Whether `reader` reads all that `check` does, and has about as many points.
bool readsTheSame(kernel::LaunchOp check, prim::ReduceOp reduce, kernel::LaunchOp reader) {
  constexpr int64_t kMost = 4; // elements of a point
  SmallVector<Value> read;
  for (Value v : reader.getInputs())
    read.push_back(storageOf(v));
  bool all = llvm::all_of(check.getInputs(), [&](Value v) {
    return !isa<RankedTensorType>(v.getType()) || llvm::is_contained(read, storageOf(v));
  });
  int64_t elements = volumeOf(tensorType(reduce.getX()).getShape()),
          points = volumeOf(tensorType(reader.getResult(0)).getShape());
  return all && points != 0 && (elements < 0 || points < 0 || elements <= kMost * points);
}

/// What is computed from results of `launch` before `end`, in its block; nothing if `end` is, or if
/// it goes into regions.
std::optional<SmallVector<Operation *>> usersBefore(kernel::LaunchOp launch, Operation *end) {
  SmallVector<Operation *> users, work = {launch};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      if (user->getBlock() != launch->getBlock() || user->getNumRegions() > 0)
        return std::nullopt;
      if (!user->isBeforeInBlock(end) || llvm::is_contained(users, user))
        continue;
      users.push_back(user);
      work.push_back(user);
    }
  for (Value operand : end->getOperands())
    if (Operation *from = operand.getDefiningOp();
        from && (from == launch || llvm::is_contained(users, from)))
      return std::nullopt;
  llvm::sort(users, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return users;
}

/// The schedules of `launch`, whose blocks meet; indices count what `check` reads as well.
SchedulesAttr meeting(kernel::LaunchOp launch, kernel::LaunchOp check) {
  auto schedules = cast<SchedulesAttr>(launch.getScheduleAttr());
  auto others = cast<SchedulesAttr>(check.getScheduleAttr());
  SmallVector<Schedule> all;
  for (auto [s, other] : llvm::zip(schedules.getSchedules(), others.getSchedules())) {
    ScheduleChoice choice(s);
    choice.scratchBytes = kCounterBytes;
    choice.indexBits = std::max(s.getIndexBits(), other.getIndexBits());
    all.push_back(choice.attr(s.getContext()));
  }
  return SchedulesAttr::get(launch.getContext(), schedules.getArchs(), all);
}

void copyBody(kernel::LaunchOp from, IRMapping &map, ArrayRef<Value> inputs, Block &to,
              OpBuilder &b, SmallVector<Value> &yielded) {
  for (auto [argument, input] : llvm::zip(from.getBody().getArguments(), from.getInputs())) {
    auto at = llvm::find(inputs, input) - inputs.begin();
    map.map(argument, to.getArgument(at));
  }
  for (Operation &op : from.getBody().front().without_terminator())
    b.clone(op, map);
  for (Value v : from.getBody().front().getTerminator()->getOperands())
    yielded.push_back(map.lookup(v));
}

class JoinChecksPass : public tcc::impl::JoinChecksPassBase<JoinChecksPass> {
  void runOnOperation() override {
    SmallVector<std::pair<kernel::LaunchOp, kernel::LaunchOp>> pairs;
    getOperation()->walk([&](Block *block) {
      kernel::LaunchOp last;
      for (Operation &op : *block) {
        auto launch = dyn_cast<kernel::LaunchOp>(op);
        if (last && launch && checkOf(last) && launch.getKind() == kernel::KernelKind::Loop)
          pairs.push_back({last, launch});
        if (launch || op.getNumRegions() > 0)
          last = launch;
      }
    });
    for (auto [check, reader] : pairs)
      join(check, reader);
  }

  static void join(kernel::LaunchOp check, kernel::LaunchOp reader) {
    prim::ReduceOp reduce = checkOf(check);
    if (reader.getNumResults() != 1 || !isPlain(reader) ||
        !isa_and_nonnull<SchedulesAttr>(check.getScheduleAttr()) || isFlat(reader) ||
        tensorType(reader.getResult(0)).getRank() == 0 || !readsTheSame(check, reduce, reader))
      return;
    std::optional<SmallVector<Operation *>> users = usersBefore(check, reader);
    if (!users)
      return;
    OpBuilder b(reader);
    SmallVector<Value> inputs(reader.getInputs());
    for (Value v : check.getInputs())
      if (!llvm::is_contained(inputs, v))
        inputs.push_back(v);
    SmallVector<Type> types{reader.getResult(0).getType(), check.getResult(0).getType()};
    auto joined = kernel::LaunchOp::create(
        b, reader.getLoc(), types, reader.getKind(), reader.getRowsAttr(), reader.getNameAttr(),
        meeting(reader, check), reader.getOnHostAttr(), inputs, reader.getSizes());
    Block *body = b.createBlock(&joined.getBody());
    for (Value v : inputs)
      body->addArgument(v.getType(), v.getLoc());
    SmallVector<Value> yielded;
    for (kernel::LaunchOp from : {reader, check}) {
      IRMapping map;
      copyBody(from, map, inputs, *body, b, yielded);
    }
    kernel::YieldOp::create(b, reader.getLoc(), yielded);
    reader.getResult(0).replaceAllUsesWith(joined.getResult(0));
    check.getResult(0).replaceAllUsesWith(joined.getResult(1));
    Operation *last = joined;
    for (Operation *user : *users) {
      user->moveAfter(last);
      last = user;
    }
    reader.erase();
    check.erase();
  }
};

} // namespace

std::unique_ptr<Pass> tcc::codegen::createJoinChecksPass() {
  return std::make_unique<JoinChecksPass>();
}
