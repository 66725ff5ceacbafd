//===- Shares.cpp - Exponentials below 1, and quotients by their sums -----===//
#include "tcc/Dialect/Prim/Shares.h"

using namespace mlir;
using namespace tcc;

static constexpr StringLiteral kNotPositive = "prim.not_positive", kShares = "prim.shares";

/// The reduction of `x` whose result for each of its parts `y` repeats all over that part.
static prim::ReduceOp reductionOver(Value y, Value x) {
  auto spread = y.getDefiningOp<prim::BroadcastOp>();
  if (!spread)
    return {};
  Value result = spread.getX();
  while (auto reshape = result.getDefiningOp<prim::ReshapeOp>())
    result = reshape.getX();
  auto reduce = result.getDefiningOp<prim::ReduceOp>();
  if (!reduce || reduce.getX() != x)
    return {};
  // Each axis of the result, unit ones aside, and its extent.
  SmallVector<std::pair<int64_t, int64_t>> kept, used;
  for (auto [axis, extent] : llvm::enumerate(tensorType(reduce.getX()).getShape()))
    if (extent != 1 && !llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(axis)))
      kept.push_back({axis, extent});
  for (auto [axis, extent] :
       llvm::zip_equal(spread.getAxes(), tensorType(spread.getX()).getShape()))
    if (extent != 1)
      used.push_back({axis, extent});
  return kept == used ? reduce : prim::ReduceOp();
}

/// Whether `x` is a tensor of which the largest element of each of its parts is subtracted, from
/// all elements of that part.
static bool isBelowMaximum(Value x) {
  auto difference = x.getDefiningOp<prim::SubOp>();
  auto reduce =
      difference ? reductionOver(difference.getRhs(), difference.getLhs()) : prim::ReduceOp();
  return reduce && reduce.getKind() == prim::ReduceKind::max;
}

/// Whether `op` divides exponentials, of which the largest of each row is 1, by the row's sum.
static bool isShare(prim::DivOp op) {
  auto exp = op.getLhs().getDefiningOp<prim::ExpOp>();
  auto sum = exp ? reductionOver(op.getRhs(), op.getLhs()) : prim::ReduceOp();
  return sum && sum.getKind() == prim::ReduceKind::sum && isBelowMaximum(exp->getOperand(0)) &&
         llvm::is_contained(sum.getAxes(), tensorType(op.getLhs()).getRank() - 1);
}

bool prim::isNotPositive(prim::ExpOp op) {
  return op->hasAttr(kNotPositive) || isBelowMaximum(op->getOperand(0));
}

bool prim::makesShares(prim::DivOp op) { return op->hasAttr(kShares) || isShare(op); }

void prim::markShares(Operation *root) {
  Attribute unit = UnitAttr::get(root->getContext());
  root->walk([&](Operation *op) {
    if (auto exp = dyn_cast<prim::ExpOp>(op); exp && isBelowMaximum(exp->getOperand(0)))
      op->setDiscardableAttr(kNotPositive, unit);
    if (auto div = dyn_cast<prim::DivOp>(op); div && isShare(div))
      op->setDiscardableAttr(kShares, unit);
  });
}
