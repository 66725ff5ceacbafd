//===- CutKernels.cpp - Kernels that are faster in parts ------------------===//
//
// Fusion takes what need not go to memory to be faster if it does not. That is wrong where a loop
// keeps too much in registers, where an epilogue holds a product up, or where a row is walked more
// often than its parts are. No rule says when, so that measuring does: each launch may be cut in
// a few ways, of which a record or a tuner (Driver/Tune.cpp) names one.
//
// A way to cut is a set of operators whose results go to memory. They are named by their place
// in the region: what a launch computes is all that its ways depend on, and the key of a record.
//
//   contraction   the product apart from what is computed from its elements
//   attention     the weights apart from their product with the values: three kernels
//   row, loop     reductions apart from what is done with them
//   any           costly functions apart from what reads them
//   any           what a transpose stores apart from it
//
// The region is then fused as a block of its own, and its launches take the place of the one.
//
//===----------------------------------------------------------------------===//
#include "Clusters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/AttentionForm.h"

namespace tcc {
#define GEN_PASS_DECL_CUTKERNELSPASS
#define GEN_PASS_DEF_CUTKERNELSPASS
#include "tcc/Fusion/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

/// Whether an operator that computes something reads `value`.
static bool isReadWithin(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<kernel::YieldOp>(user))
      return false;
    return isHost(user) || !isFree(user) || isReadWithin(user->getResult(0));
  });
}

/// What computes `value`, before views.
static Operation *computing(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->hasTrait<prim::View>())
    op = op->getOperand(0).getDefiningOp();
  return op && !isHost(op) && !isFree(op) ? op : nullptr;
}

/// Whether a transpose alone lies between `op` and what the kernel yields.
static bool isStoredTransposed(Operation *op) {
  return op->hasOneUse() && isa<prim::TransposeOp>(*op->user_begin()) &&
         !isReadWithin(op->getResult(0));
}

SmallVector<Cut> tcc::cutsOf(kernel::LaunchOp launch) {
  Block &body = launch.getBody().front();
  Builder b(launch.getContext());
  SmallVector<Cut> cuts{b.getDenseI64ArrayAttr({})};
  auto add = [&](llvm::function_ref<bool(Operation *)> isApart) {
    SmallVector<int64_t> places;
    for (auto [place, op] : llvm::enumerate(body.without_terminator()))
      if (!isHost(&op) && !isFree(&op) && op.getNumResults() == 1 && isApart(&op))
        places.push_back(place);
    if (Cut cut = b.getDenseI64ArrayAttr(places); !llvm::is_contained(cuts, cut))
      cuts.push_back(cut);
  };
  auto isRead = [](Operation *op) { return isReadWithin(op->getResult(0)); };
  if (launch.getKind() == KernelKind::Special)
    return cuts;
  if (launch.getKind() == KernelKind::Attention) {
    Operation *weights = computing(attentionOf(launch).values.getLhs());
    add([&](Operation *op) { return op == weights; });
    return cuts;
  }
  add([&](Operation *op) { return isContraction(op) && isRead(op); });
  add([&](Operation *op) { return op->hasTrait<prim::Reduction>() && isRead(op); });
  add([&](Operation *op) { return op->hasTrait<prim::Costly>() && isRead(op); });
  add(isStoredTransposed);
  return cuts;
}

SmallVector<kernel::LaunchOp> tcc::cutLaunch(kernel::LaunchOp launch, Cut cut,
                                             FusionPolicy policy) {
  if (cut.empty())
    return {launch};
  Block &body = launch.getBody().front();
  DenseSet<Operation *> apart;
  for (auto [place, op] : llvm::enumerate(body))
    if (llvm::is_contained(cut.asArrayRef(), int64_t(place)))
      apart.insert(&op);
  policy.apart = &apart;
  if (failed(fuseBlock(body, policy)))
    return {};
  SmallVector<kernel::LaunchOp> parts(body.getOps<kernel::LaunchOp>());
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), launch.getInputs()))
    argument.replaceAllUsesWith(input);
  launch.replaceAllUsesWith(body.getTerminator()->getOperands());
  launch->getBlock()->getOperations().splice(launch->getIterator(), body.getOperations(),
                                             body.begin(), std::prev(body.end()));
  launch.erase();
  return parts;
}

namespace {

class CutKernelsPass : public tcc::impl::CutKernelsPassBase<CutKernelsPass> {
public:
  CutKernelsPass(FusionPolicy policy, CutChooser chooser)
      : policy(policy), chooser(std::move(chooser)) {}
  void runOnOperation() override;

private:
  FusionPolicy policy;
  CutChooser chooser;
};

} // namespace

void CutKernelsPass::runOnOperation() {
  if (!chooser && cut == 0)
    return;
  SmallVector<kernel::LaunchOp> launches;
  getOperation().walk([&](kernel::LaunchOp launch) { launches.push_back(launch); });
  for (kernel::LaunchOp launch : launches) {
    SmallVector<Cut> cuts = cutsOf(launch);
    Cut chosen = chooser ? chooser(launch, cuts) : cuts[cut < cuts.size() ? cut : 0];
    if (!chosen || cutLaunch(launch, chosen, policy).empty())
      return signalPassFailure();
  }
}

std::unique_ptr<Pass> tcc::createCutKernelsPass(FusionPolicy policy, CutChooser chooser) {
  return std::make_unique<CutKernelsPass>(policy, std::move(chooser));
}
