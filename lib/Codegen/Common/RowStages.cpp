//===- RowStages.cpp - The loops that a row needs -------------------------===//
#include "tcc/Codegen/Common/RowStages.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool tcc::codegen::dependsOn(Value value, const DenseSet<Operation *> &ops) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || !seen.insert(v).second)
      continue;
    if (ops.contains(op))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

bool tcc::codegen::isReadInPlace(Value value) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    for (Operation *user : v.getUsers()) {
      if (isa<prim::ReduceOp, prim::DimOp, kernel::YieldOp>(user))
        continue;
      if (!prim::isElementwise(user))
        return false;
      llvm::append_range(work, user->getResults());
    }
  }
  return true;
}

std::vector<RowStage> tcc::codegen::rowStages(kernel::LaunchOp launch) {
  std::vector<RowStage> stages;
  for (Operation &op : launch.getBody().front()) {
    auto reduce = dyn_cast<prim::ReduceOp>(op);
    if (!reduce)
      continue;
    DenseSet<Operation *> last;
    if (!stages.empty())
      for (prim::ReduceOp r : stages.back())
        last.insert(r);
    if (stages.empty() || dependsOn(reduce.getX(), last))
      stages.emplace_back();
    stages.back().push_back(reduce);
  }
  return stages;
}

unsigned tcc::codegen::loopsThatRead(kernel::LaunchOp launch, ArrayRef<RowStage> stages,
                                     Operation *op) {
  unsigned loops = 0;
  for (const RowStage &stage : stages)
    loops += llvm::any_of(stage, [&](prim::ReduceOp r) { return dependsOn(r.getX(), {op}); });
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  return loops + llvm::any_of(yield.getValues(), [&](Value v) { return dependsOn(v, {op}); });
}
