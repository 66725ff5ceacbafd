//===- SinkChecks.cpp - Checks of data come last --------------------------===//
//
// A check of data reads what a kernel made: on a device the host would wait for it in the
// middle of a run, and the device then for the host. Nothing depends on when a check is made
// (prim.assert), so those whose data is read for nothing else move to the end of the model,
// where the device is done anyway:
//
//   %0 = kernel.launch row[0] "all" ins(%indices ...) ... -> tensor<i1>
//   %1 = prim.extract %0 [0] : (tensor<i1>) -> i1
//   prim.assert %1, "an index is out of range"
//   %2 = kernel.launch loop "gather" ...
//
// has the second and third line after the last launch.
//
//===----------------------------------------------------------------------===//
#include "Plan/SinkChecks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tcc;

namespace {

using Slice = llvm::SmallSetVector<Operation *, 8>;

/// The scalar arithmetic of the block, and the reads, that an assert's condition comes from.
Slice conditionOf(prim::AssertOp assertion) {
  Slice slice;
  slice.insert(assertion);
  for (size_t i = 0; i < slice.size(); ++i) {
    Operation *op = slice[i];
    if (isa<prim::ExtractOp>(op))
      continue;
    for (Value operand : op->getOperands()) {
      Operation *from = operand.getDefiningOp();
      if (from && from->getBlock() == assertion->getBlock() && from->getNumRegions() == 0 &&
          (isa<prim::ExtractOp>(from) || isPure(from)) && operand.getType().isIntOrIndexOrFloat())
        slice.insert(from);
    }
  }
  return slice;
}

bool readsData(const Slice &slice) {
  return llvm::any_of(slice, [](Operation *op) { return isa<prim::ExtractOp>(op); });
}

} // namespace

void plan::sinkChecks(func::FuncOp function) {
  Block &block = function.getBody().front();
  std::vector<Slice> slices;
  DenseSet<Operation *> checks;
  for (auto assertion : block.getOps<prim::AssertOp>())
    if (Slice slice = conditionOf(assertion); readsData(slice)) {
      checks.insert(slice.begin(), slice.end());
      slices.push_back(std::move(slice));
    }
  auto onlyChecks = [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return checks.contains(user); });
  };
  DenseSet<Operation *> moved;
  for (const Slice &slice : slices) {
    bool alone = llvm::all_of(
        slice, [&](Operation *op) { return !isa<prim::ExtractOp>(op) || onlyChecks(op); });
    if (alone)
      moved.insert(slice.begin(), slice.end());
  }
  // What others use as well stays; they come before the end.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : llvm::to_vector(moved))
      if (!isa<prim::AssertOp>(op) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) { return !moved.contains(user); })) {
        moved.erase(op);
        changed = true;
      }
  }
  SmallVector<Operation *> order;
  for (Operation &op : block)
    if (moved.contains(&op))
      order.push_back(&op);
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
}
