//===- VectorMathBranches.cpp - Costly operands of a selection ------------===//
//
// What is made of pieces (a series near 0, an expansion far from it) computes them all for each
// vector and selects. Where one takes long, and nothing else needs what it computes, a vector asks
// first whether any lane takes it: numbers of one run mostly lie in one piece. Mixed ones cost a
// jump that is foretold. What is behind a jump asks no more: of pieces of pieces some lanes take
// each.
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace tcc::codegen::vmath {

/// About the instructions of one vector.
static unsigned costOf(Operation *op) {
  constexpr unsigned kLong = 8; // they wait for each other, too
  if (op->hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return kLong;
  unsigned cost = 1;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      cost += costOf(&inner);
  return cost;
}

/// What before `select`, in its block, is computed for its operand `arm` alone, in reverse order.
static SmallVector<Operation *> computedFor(arith::SelectOp select, unsigned arm) {
  Block *block = select->getBlock();
  llvm::SmallPtrSet<Operation *, 32> own;
  SmallVector<Operation *> order;
  auto isFor = [&](OpOperand &use) {
    if (use.getOwner() == select)
      return use.getOperandNumber() == arm;
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    return user && own.contains(user);
  };
  unsigned open = select->getOperand(arm).getDefiningOp() != nullptr;
  for (auto it = Block::reverse_iterator(select), end = block->rend(); open && ++it != end;) {
    Operation *op = &*it;
    if (op->use_empty() || !isMemoryEffectFree(op) || !llvm::all_of(op->getUses(), isFor))
      continue;
    own.insert(op);
    order.push_back(op);
  }
  return order;
}

static unsigned costOf(ArrayRef<Operation *> ops) {
  unsigned cost = 0;
  for (Operation *op : ops)
    cost += costOf(op);
  return cost;
}

/// Whether operand `arm` (1: where the condition holds, 2: where not) is worth one. What is
/// selected wherever a value is no exception is always computed: a condition says what the
/// exception is.
static bool isWorthJump(arith::SelectOp select, unsigned arm) {
  constexpr unsigned kWorthJump = 64, kPiece = 8;
  return costOf(computedFor(select, arm)) >= kWorthJump &&
         (arm == 1 || costOf(computedFor(select, 1)) >= kPiece);
}

/// Computes operand `arm` behind a jump, if it is worth one.
static void branchFor(arith::SelectOp select, unsigned arm, const ExpandMathOptions &options) {
  if (!isWorthJump(select, arm))
    return;
  SmallVector<Operation *> own = computedFor(select, arm);
  ImplicitLocOpBuilder b(select.getLoc(), select);
  Value condition = select.getCondition();
  if (arm == 2) {
    Value yes = arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(condition.getType()), true));
    condition = arith::XOrIOp::create(b, condition, yes);
  }
  Emitter e{b, options};
  Value any = anyLane({&e, condition}), value = select->getOperand(arm);
  auto branch = scf::IfOp::create(b, value.getType(), any, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  auto yield = scf::YieldOp::create(b, value);
  for (Operation *op : llvm::reverse(own))
    op->moveBefore(yield);
  b.setInsertionPointToStart(branch.elseBlock());
  Value none = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(value.getType())));
  scf::YieldOp::create(b, none);
  select->setOperand(arm, branch.getResult(0));
}

void branchSelects(Operation *root, const ExpandMathOptions &options) {
  SmallVector<arith::SelectOp> selects;
  auto find = [&] {
    root->walk([&](arith::SelectOp op) {
      if (isa<VectorType>(op.getCondition().getType()))
        selects.push_back(op);
    });
  };
  find();
  if (!llvm::any_of(selects,
                    [](arith::SelectOp op) { return isWorthJump(op, 1) || isWorthJump(op, 2); }))
    return;
  // What both sides compute is outside of either; behind jumps nobody would find it.
  DominanceInfo dominance(root);
  IRRewriter rewriter(root->getContext());
  eliminateCommonSubExpressions(rewriter, dominance, root);
  selects.clear();
  find();
  // What is computed for the last ones goes first: selections in it follow.
  for (arith::SelectOp select : llvm::reverse(selects))
    for (unsigned arm : {2, 1}) // which is asked for what the other one leaves
      branchFor(select, arm, options);
}

} // namespace tcc::codegen::vmath
