//===- RecurrenceLaunch.cpp - Loops of recurrent layers become launches ---===//
//
// The loop over launches that a recurrent layer is becomes one launch with the loop in it, where a
// block has room for its matrices (Recurrence.h). What the loop reads, weights in it included,
// become inputs; states that begin with what an operator makes of nothing, zeros above all, begin
// with that inside. Of outputs that are written turn by turn nothing is left of what they began
// with.
//
//===----------------------------------------------------------------------===//
#include "Recurrence.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {
#define GEN_PASS_DEF_RECURRENCELAUNCHESPASS
#include "tcc/Codegen/Common/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class LoopOutliner {
public:
  explicit LoopOutliner(prim::WhileOp loop) : loop(loop), b(loop) {}
  /// The launch, in front of the loop, whose results are those of `results`; null if it has none.
  kernel::LaunchOp outline();
  SmallVector<unsigned> results;   ///< numbers of the loop's
  SmallVector<Operation *> copies; ///< made outside of it

private:
  bool holdsLaunchesAlone();
  void collect(Value v);
  void cloneInto(Block &from, Block &to, IRMapping map);
  Value initOf(unsigned number, IRMapping &map);

  prim::WhileOp loop;
  OpBuilder b;
  llvm::SetVector<Value> inputs;  ///< what it reads from outside
  DenseMap<Value, Value> outside; ///< of weights in it
};

} // namespace

static bool isHostConstant(Value v) {
  return matchPattern(v, m_Constant()) && !isa<RankedTensorType>(v.getType());
}

/// A launch that reads nothing, such as one that fills a tensor.
static kernel::LaunchOp generatorOf(Value v) {
  auto launch = v.getDefiningOp<kernel::LaunchOp>();
  return launch && launch.getInputs().empty() && !launch.getOnHostAttr() ? launch
                                                                         : kernel::LaunchOp();
}

bool LoopOutliner::holdsLaunchesAlone() {
  auto isHost = [](Operation &op) {
    return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
           llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
  };
  bool conditions = llvm::all_of(loop.getCondition().front().without_terminator(), isHost);
  bool launches = false;
  return conditions &&
         llvm::all_of(loop.getBody().front().without_terminator(),
                      [&](Operation &op) {
                        if (auto launch = dyn_cast<kernel::LaunchOp>(op)) {
                          launches = true;
                          return !launch.getOnHostAttr() && launch.getSizes().empty();
                        }
                        return isHost(op) ||
                               isa<prim::WeightOp, prim::ConstantOp, prim::ReshapeOp>(op);
                      }) &&
         launches;
}

void LoopOutliner::collect(Value v) {
  Operation *op = v.getDefiningOp();
  if (op && isa<prim::WeightOp, prim::ConstantOp>(op) && loop->isAncestor(op)) {
    if (!outside.contains(v)) {
      Operation *copy = b.clone(*op);
      copies.push_back(copy);
      outside[v] = copy->getResult(0);
      inputs.insert(copy->getResult(0));
    }
    return;
  }
  Region *region = v.getParentRegion();
  bool isInside = region == &loop.getBody() || region == &loop.getCondition();
  if (!isInside && !isHostConstant(v))
    inputs.insert(v);
}

/// The operators of a block of the loop, those of its launches in their place.
void LoopOutliner::cloneInto(Block &from, Block &to, IRMapping map) {
  OpBuilder inner = OpBuilder::atBlockEnd(&to);
  for (BlockArgument argument : from.getArguments())
    map.map(argument, to.addArgument(argument.getType(), argument.getLoc()));
  auto bring = [&](Value v) {
    if (!map.contains(v) && isHostConstant(v))
      map.map(v, inner.clone(*v.getDefiningOp())->getResult(0));
  };
  for (Operation &op : from) {
    if (op.getNumResults() == 1 && outside.contains(op.getResult(0)))
      continue;
    llvm::for_each(op.getOperands(), bring);
    auto launch = dyn_cast<kernel::LaunchOp>(op);
    if (!launch) {
      inner.clone(op, map);
      continue;
    }
    Block &body = launch.getBody().front();
    for (auto [argument, given] : llvm::zip(body.getArguments(), launch.getInputs()))
      map.map(argument, map.lookup(given));
    for (Operation &computed : body.without_terminator())
      inner.clone(computed, map);
    for (auto [result, yielded] :
         llvm::zip(launch.getResults(), body.getTerminator()->getOperands()))
      map.map(result, map.lookup(yielded));
  }
}

/// What a carried value begins with, inside the launch.
Value LoopOutliner::initOf(unsigned number, IRMapping &map) {
  Value init = loop.getInits()[number];
  if (map.contains(init))
    return map.lookup(init);
  if (isHostConstant(init))
    return b.clone(*init.getDefiningOp())->getResult(0);
  if (kernel::LaunchOp launch = generatorOf(init)) {
    IRMapping own;
    for (Operation &op : launch.getBody().front().without_terminator())
      b.clone(op, own);
    unsigned which = cast<OpResult>(init).getResultNumber();
    return own.lookup(launch.getBody().front().getTerminator()->getOperand(which));
  }
  return {};
}

kernel::LaunchOp LoopOutliner::outline() {
  if (!holdsLaunchesAlone())
    return {};
  for (Region *region : {&loop.getCondition(), &loop.getBody()})
    for (Operation &op : region->front())
      llvm::for_each(op.getOperands(), [&](Value v) { collect(v); });
  for (Value init : loop.getInits())
    if (!isHostConstant(init) && !generatorOf(init))
      inputs.insert(init);
  SmallVector<Type> types;
  for (OpResult result : loop.getResults()) {
    auto tensor = dyn_cast<RankedTensorType>(result.getType());
    if (tensor && !tensor.hasStaticShape())
      return {};
    if (!tensor && !result.use_empty())
      return {};
    if (!tensor || result.use_empty())
      continue;
    results.push_back(result.getResultNumber());
    types.push_back(tensor);
  }
  if (results.empty())
    return {};
  auto launch = kernel::LaunchOp::create(b, loop.getLoc(), types, kernel::KernelKind::Special,
                                         /*rows=*/IntegerAttr(), b.getStringAttr("recurrence"),
                                         kernel::Schedule(), kernel::OnHostAttr(),
                                         inputs.getArrayRef(), ValueRange());
  Block &body = launch.getBody().emplaceBlock();
  IRMapping map;
  for (Value input : inputs)
    map.map(input, body.addArgument(input.getType(), input.getLoc()));
  for (auto [inner, outer] : outside)
    map.map(inner, map.lookup(outer));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  SmallVector<Value> inits;
  for (unsigned i = 0; i < loop.getInits().size(); ++i)
    inits.push_back(initOf(i, map));
  auto turns = prim::WhileOp::create(b, loop.getLoc(), loop.getResultTypes(), inits);
  cloneInto(loop.getCondition().front(), turns.getCondition().emplaceBlock(), map);
  cloneInto(loop.getBody().front(), turns.getBody().emplaceBlock(), map);
  SmallVector<Value> yielded;
  for (unsigned number : results)
    yielded.push_back(turns.getResult(number));
  kernel::YieldOp::create(b, loop.getLoc(), yielded);
  return launch;
}

namespace {

class RecurrenceLaunchesPass
    : public tcc::impl::RecurrenceLaunchesPassBase<RecurrenceLaunchesPass> {
public:
  explicit RecurrenceLaunchesPass(GpuTarget target) : target(std::move(target)) {}

private:
  void getDependentDialects(DialectRegistry &registry) const override {
    GpuScheduleModel(target).registerDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<prim::WhileOp> loops;
    getOperation()->walk([&](prim::WhileOp loop) { loops.push_back(loop); });
    for (prim::WhileOp loop : loops)
      if (!loop->getParentOfType<kernel::LaunchOp>())
        replace(loop);
  }

  void replace(prim::WhileOp loop) {
    LoopOutliner outliner(loop);
    kernel::LaunchOp launch = outliner.outline();
    std::optional<Recurrence> r;
    if (launch)
      r = Recurrence::of(loopOf(launch));
    bool fits = r && llvm::all_of(target.codes, [&](const GpuCode &code) {
                  return RecurrencePlan::of(*r, *code.arch).has_value();
                });
    if (!fits) {
      if (launch)
        launch.erase();
      for (Operation *copy : outliner.copies)
        copy->erase();
      return;
    }
    launch.setScheduleAttr(
        GpuScheduleModel(target).candidates(launch, ScheduleModel::Asked::Best).front());
    for (auto [number, result] : llvm::zip(outliner.results, launch.getResults()))
      loop.getResult(number).replaceAllUsesWith(result);
    SmallVector<Operation *> producers;
    for (Value init : loop.getInits())
      if (kernel::LaunchOp producer = generatorOf(init))
        producers.push_back(producer);
    loop.erase();
    for (Operation *producer : producers)
      if (producer->use_empty())
        producer->erase();
  }

  GpuTarget target;
};

} // namespace

std::unique_ptr<Pass> tcc::codegen::createRecurrenceLaunchesPass(GpuTarget target) {
  return std::make_unique<RecurrenceLaunchesPass>(std::move(target));
}
