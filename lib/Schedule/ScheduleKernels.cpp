//===- ScheduleKernels.cpp - How each kernel is run -----------------------===//
//
// Asks the target's model (Analysis/ScheduleModel.h) for ways to run each launch and
// records the best one on it; a tuning record or a tuner may choose another.
//
//   kernel.launch contraction "dot" ins(%x, %w) ...
// becomes
//   kernel.launch contraction "dot" ins(%x, %w) ...
//     {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 6, ...>}
//
// Runs after the last pass that changes what a kernel computes, since the choice depends
// on all of it, and before plan and code generation, which read the choice and must agree
// on it: how many tasks a launch has and what one of them does.
//
// A launch that has a schedule keeps it.
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/InsertedPart.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Schedule/Schedule.h"
#include "tcc/Support/Logging.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc {
#define GEN_PASS_DEF_SCHEDULEKERNELSPASS
#include "tcc/Schedule/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class ScheduleKernelsPass : public tcc::impl::ScheduleKernelsPassBase<ScheduleKernelsPass> {
public:
  ScheduleKernelsPass(const ScheduleModel *model, ScheduleChooser chooser)
      : model(model), chooser(std::move(chooser)) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    model->registerDialects(registry);
  }
  void runOnOperation() override {
    WalkResult done = getOperation().walk([&](kernel::LaunchOp launch) {
      return launch.getScheduleAttr() || succeeded(schedule(launch)) ? WalkResult::advance()
                                                                     : WalkResult::interrupt();
    });
    if (done.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([&](kernel::LaunchOp launch) { storePart(launch); });
  }

private:
  LogicalResult schedule(kernel::LaunchOp launch) {
    model->reshape(launch);
    SmallVector<kernel::Schedule> candidates =
        model->candidates(launch, chooser ? ScheduleModel::Asked::All : ScheduleModel::Asked::Best);
    if (candidates.empty())
      return launch.emitError("the target has no code for kernel '") << launch.getName() << "'";
    kernel::Schedule chosen = chooser ? chooser(launch, candidates) : candidates.front();
    if (!chosen)
      return failure();
    launch.setScheduleAttr(chosen);
    if (failed(chosen.verifyLaunch(launch)))
      return failure();
    logTime(launch);
    return success();
  }

  /// What `launch` inserts, and others read as well, becomes another result of its maker, which the
  /// plan puts where it is inserted.
  void storePart(kernel::LaunchOp launch) {
    std::optional<InsertedPart> part = InsertedPart::of(launch);
    if (!part || !model->storesTwice(part->maker))
      return;
    auto made = cast<OpResult>(launch.getInputs()[part->part]);
    RankedTensorType type = tensorType(made);
    if (made.hasOneUse() || !type.hasStaticShape())
      return;
    kernel::LaunchOp maker = part->maker;
    OpBuilder b(maker);
    SmallVector<Type> types(maker.getResultTypes());
    types.push_back(type);
    auto twice = kernel::LaunchOp::create(
        b, maker.getLoc(), types, maker.getKind(), maker.getRowsAttr(), maker.getNameAttr(),
        maker.getScheduleAttr(), maker.getOnHostAttr(), maker.getInputs(), maker.getSizes());
    twice.getBody().takeBody(maker.getBody());
    Operation *end = twice.getBody().front().getTerminator();
    end->insertOperands(end->getNumOperands(), end->getOperand(made.getResultNumber()));
    launch.getInputsMutable()[part->part].set(twice.getResults().back());
    maker.replaceAllUsesWith(twice.getResults().drop_back());
    maker.erase();
  }

  /// "kernel add: 12.5 us of a core: launch 1 0.5, far_byte 4096 150, ..."
  void logTime(kernel::LaunchOp launch) {
    if (!log::on(log::Topic::Tuning, log::Level::Debug))
      return;
    double sum = 0;
    std::string text;
    llvm::raw_string_ostream out(text);
    for (const auto &[what, count, nanoseconds] : model->timeParts(launch)) {
      sum += nanoseconds;
      out << ", " << what << llvm::format(" %.0f %.0f", count, nanoseconds);
    }
    log::write(log::Topic::Tuning,
               "kernel " + launch.getName() + " takes a core " +
                   llvm::formatv("{0:F1}", sum / 1e3) + " us" + text,
               log::Level::Debug);
  }

  const ScheduleModel *model;
  ScheduleChooser chooser;
};

} // namespace

std::unique_ptr<Pass> tcc::createScheduleKernelsPass(const ScheduleModel *model,
                                                     ScheduleChooser chooser) {
  return std::make_unique<ScheduleKernelsPass>(model, std::move(chooser));
}
