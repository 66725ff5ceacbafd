//===- KeptPlace.cpp - Results that hold what is needed again -------------===//
#include "KeptPlace.h"
#include "tcc/Analysis/InPlace.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether computing `value` at a point, with `kept` known, reads neither an operand that the
/// result may lie over nor `kept` at another point; `moved`: `value` is read at another one.
static bool leavesPlace(Value value, Operation *kept, ArrayRef<unsigned> overwritable,
                        bool moved = false) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !llvm::is_contained(overwritable, cast<BlockArgument>(value).getArgNumber());
  if (op == kept)
    return !moved;
  if (isa<prim::ReduceOp>(op))
    return true;
  moved |= !prim::isElementwise(op);
  return llvm::all_of(op->getOperands(),
                      [&](Value v) { return leavesPlace(v, kept, overwritable, moved); });
}

std::optional<unsigned> tcc::codegen::resultKeeping(kernel::LaunchOp launch,
                                                    ArrayRef<RowStage> stages, Operation *op) {
  Value value = op->getResult(0);
  ValueRange results = launch.getBody().front().getTerminator()->getOperands();
  SmallVector<unsigned> overwritable = overwritableInputs(launch);
  unsigned place = llvm::find(results, value) - results.begin();
  bool isResult = place < results.size();
  if (!isResult && (results.size() != 1 || results[0].getType() != value.getType()))
    return std::nullopt;
  bool computed = false;
  for (const RowStage &stage : stages) {
    computed |= llvm::any_of(stage, [&](prim::ReduceOp r) { return dependsOn(r.getX(), {op}); });
    if (computed &&
        !llvm::all_of(stage, [&](auto r) { return leavesPlace(r.getX(), op, overwritable); }))
      return std::nullopt;
  }
  if (!computed ||
      !llvm::all_of(results, [&](Value result) { return leavesPlace(result, op, overwritable); }))
    return std::nullopt;
  return isResult ? place : 0;
}
