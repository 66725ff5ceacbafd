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
// What is computed for a product alone, point by point from transposes that put an axis of its
// batch last, is computed with the batch first, so that rows lie as before the transposes:
//
//   %t = prim.mul (prim.transpose %a [0, 2, 3, 1]), (prim.transpose %b [0, 2, 3, 1])
//   %s = prim.dot %t, %x batch [0, 3] x [0, 1] contract [2] x [2]
// becomes
//   %t = prim.mul %a, %b
//   %s = prim.dot %t, %x batch [0, 1] x [0, 1] contract [3] x [2]
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

/// `axes` of a value whose axes are then taken in the order `to`.
static SmallVector<int64_t> inOrder(ArrayRef<int64_t> axes, ArrayRef<int64_t> to) {
  return llvm::map_to_vector(to, [&](int64_t axis) { return axes[axis]; });
}
static int64_t placeIn(ArrayRef<int64_t> order, int64_t axis) {
  return llvm::find(order, axis) - order.begin();
}

/// Whether `v` can be had with its axes in `order` and its rows as they lie; `gains` where a
/// transpose put another axis last.
static bool canReorder(Value v, ArrayRef<int64_t> order, bool &gains) {
  Operation *op = v.getDefiningOp();
  int64_t last = tensorType(v).getRank() - 1;
  if (auto transpose = dyn_cast_or_null<prim::TransposeOp>(op)) {
    gains |= transpose.getPermutation().back() != last;
    return inOrder(transpose.getPermutation(), order).back() == last;
  }
  if (auto broadcast = dyn_cast_or_null<prim::BroadcastOp>(op))
    return llvm::is_sorted(
        llvm::map_range(broadcast.getAxes(), [&](int64_t axis) { return placeIn(order, axis); }));
  if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return dense && dense.isSplat();
  }
  return op && op->hasOneUse() && prim::isElementwise(op) && op->getNumResults() == 1 &&
         llvm::all_of(op->getOperands(), [&](Value x) { return canReorder(x, order, gains); });
}

static Value reordered(Value v, ArrayRef<int64_t> order) {
  Operation *op = v.getDefiningOp();
  OpBuilder b(op);
  auto type = tensorType(v).clone(inOrder(tensorType(v).getShape(), order));
  if (auto transpose = dyn_cast<prim::TransposeOp>(op)) {
    SmallVector<int64_t> composed = inOrder(transpose.getPermutation(), order);
    return llvm::is_sorted(composed)
               ? transpose.getX()
               : prim::TransposeOp::create(b, v.getLoc(), type, transpose.getX(), composed);
  }
  if (auto broadcast = dyn_cast<prim::BroadcastOp>(op))
    return prim::BroadcastOp::create(
        b, v.getLoc(), type, broadcast.getX(),
        llvm::map_to_vector(broadcast.getAxes(),
                            [&](int64_t axis) { return placeIn(order, axis); }),
        ValueRange());
  if (auto constant = dyn_cast<prim::ConstantOp>(op))
    return prim::ConstantOp::create(
        b, v.getLoc(), type, cast<DenseElementsAttr>(constant.getElements()).resizeSplat(type));
  SmallVector<Value> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return reordered(operand, order); });
  Operation *made = b.clone(*op);
  made->setOperands(operands);
  made->getResult(0).setType(type);
  return made->getResult(0);
}

/// What was computed again in another order.
static void eraseUnread(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || !op->use_empty() || !(isa<prim::TransposeOp>(op) || prim::isElementwise(op)))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnread(operand);
}

/// Computes an operand with its batch first, if that is what undoes transposes of what it is
/// computed from.
static bool putBatchFirst(Value &operand, SmallVector<int64_t> &batch,
                          SmallVector<int64_t> &contract) {
  auto type = tensorType(operand);
  Operation *op = operand.getDefiningOp();
  if (!type.hasStaticShape() || !op || isa<prim::TransposeOp>(op) || !prim::isElementwise(op))
    return false;
  SmallVector<int64_t> order(batch);
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (!llvm::is_contained(batch, axis))
      order.push_back(axis);
  bool gains = false;
  if (llvm::is_sorted(order) || !canReorder(operand, order, gains) || !gains)
    return false;
  operand = reordered(operand, order);
  for (SmallVector<int64_t> *axes : {&batch, &contract})
    for (int64_t &axis : *axes)
      axis = placeIn(order, axis);
  return true;
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
      changed |= putBatchFirst(lhs, lb, lc);
      changed |= putBatchFirst(rhs, rb, rc);
      if (!changed)
        return;
      OpBuilder b(op);
      Value dot = prim::DotOp::create(b, op.getLoc(), op.getType(), lhs, rhs, lb, rb, lc, rc);
      op.getResult().replaceAllUsesWith(dot);
      SmallVector<Value> before(op->getOperands());
      op.erase();
      for (Value operand : before)
        eraseUnread(operand);
    });
    getOperation().walk([](prim::ReduceOp op) { absorb(op); });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createAbsorbTransposesPass() {
  return std::make_unique<AbsorbTransposesPass>();
}
