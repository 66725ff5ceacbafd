//===- AbsorbTransposes.cpp - Contractions read any axis order ------------===//
//
// Exporters transpose what a matrix product reads (attention heads, K^T). A
// product names the axes it pairs, so a transpose of an operand is only another
// numbering, as long as its free axes stay in order.
//
//   %t = prim.transpose %k [0, 2, 3, 1]
//   %s = prim.dot %q, %t batch [0, 1] x [0, 1] contract [3] x [2]
// becomes
//   %s = prim.dot %q, %k batch [0, 1] x [0, 2] contract [3] x [3]
//
// So is a transpose of what a reduction alone reads: it names its axes as they lie, and what is
// left is put in order afterwards, where that is another one.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Simplify/Simplify.h"

namespace tcc {
#define GEN_PASS_DEF_ABSORBTRANSPOSESPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

/// Replaces a transposed operand by its source; false when free axes would swap.
static bool absorb(Value &operand, SmallVector<int64_t> &batch, SmallVector<int64_t> &contract) {
  auto transpose = operand.getDefiningOp<prim::TransposeOp>();
  if (!transpose)
    return false;
  ArrayRef<int64_t> p = transpose.getPermutation();
  SmallVector<int64_t> free;
  for (int64_t axis = 0, e = p.size(); axis < e; ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
      free.push_back(p[axis]);
  for (size_t i = 0; i + 1 < free.size(); ++i)
    if (free[i] + 1 != free[i + 1])
      return false; // they would swap, or no longer be one axis to the kernel
  for (int64_t &axis : batch)
    axis = p[axis];
  for (int64_t &axis : contract)
    axis = p[axis];
  operand = transpose.getX();
  return true;
}

/// The transpose that `v` is computed from, point by point and from nothing else (casts, absolute
/// values), where nobody else reads what lies between; those operators, the last one first.
static prim::TransposeOp transposeBelow(Value v, SmallVectorImpl<Operation *> &between) {
  while (Operation *op = v.getDefiningOp()) {
    if (!op->hasOneUse())
      break;
    if (auto transpose = dyn_cast<prim::TransposeOp>(op))
      return transpose;
    if (!prim::isElementwise(op) || op->getNumOperands() != 1)
      break;
    between.push_back(op);
    v = op->getOperand(0);
  }
  return {};
}

/// Reduces the source of a transpose that nobody else reads.
static void absorb(prim::ReduceOp op) {
  SmallVector<Operation *> between;
  prim::TransposeOp transpose = transposeBelow(op.getX(), between);
  if (!transpose)
    return;
  ArrayRef<int64_t> p = transpose.getPermutation();
  SmallVector<int64_t> axes, kept;
  for (int64_t axis = 0, e = p.size(); axis < e; ++axis)
    (llvm::is_contained(op.getAxes(), axis) ? axes : kept).push_back(p[axis]);
  llvm::sort(axes);
  SmallVector<int64_t> lying(kept), shape, order;
  llvm::sort(lying);
  for (int64_t axis : lying)
    shape.push_back(op.getType().getShape()[llvm::find(kept, axis) - kept.begin()]);
  for (int64_t axis : kept)
    order.push_back(llvm::find(lying, axis) - lying.begin());

  transpose.getResult().replaceAllUsesWith(transpose.getX());
  for (Operation *step : llvm::reverse(between)) {
    Value result = step->getResult(0);
    result.setType(tensorType(result).clone(tensorType(step->getOperand(0)).getShape()));
  }
  OpBuilder b(op);
  Value reduced = prim::ReduceOp::create(b, op.getLoc(), op.getType().clone(shape), op.getKind(),
                                         op.getX(), axes);
  if (lying != kept)
    reduced = prim::TransposeOp::create(b, op.getLoc(), op.getType(), reduced, order);
  op.getResult().replaceAllUsesWith(reduced);
  op.erase();
  transpose.erase();
}

namespace {

class AbsorbTransposesPass : public tcc::impl::AbsorbTransposesPassBase<AbsorbTransposesPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](prim::DotOp op) {
      Value lhs = op.getLhs(), rhs = op.getRhs();
      SmallVector<int64_t> lb(op.getLhsBatch()), lc(op.getLhsContract());
      SmallVector<int64_t> rb(op.getRhsBatch()), rc(op.getRhsContract());
      bool changed = false;
      while (absorb(lhs, lb, lc))
        changed = true;
      while (absorb(rhs, rb, rc))
        changed = true;
      if (!changed)
        return;
      OpBuilder b(op);
      Value dot = prim::DotOp::create(b, op.getLoc(), op.getType(), lhs, rhs, lb, rb, lc, rc);
      op.getResult().replaceAllUsesWith(dot);
      op.erase();
    });
    getOperation().walk([](prim::ReduceOp op) { absorb(op); });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createAbsorbTransposesPass() {
  return std::make_unique<AbsorbTransposesPass>();
}
