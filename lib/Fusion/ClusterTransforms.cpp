//===- ClusterTransforms.cpp - What goes with a Fourier transform ---------===//
//
// Where the target's kernel asks for its operands point by point, what they are computed from joins
// it as it would join a loop; and two results that become the parts of one are stored so.
//
//===----------------------------------------------------------------------===//
#include "Clustering.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

static bool liesAcross(Value v, DenseSet<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || isHost(op) || !(isFree(op) || isPointwise(op)) || !seen.insert(op).second)
    return false;
  if (auto transpose = dyn_cast<prim::TransposeOp>(op)) {
    ArrayRef<int64_t> order = transpose.getPermutation();
    if (!order.empty() && order.back() != int64_t(order.size()) - 1)
      return true;
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType()) && liesAcross(operand, seen);
  });
}

bool tcc::fusion::liesAcross(Value v) {
  DenseSet<Operation *> seen;
  return ::liesAcross(v, seen);
}

/// The one reader of `v`, if it is an `Op`.
template <typename Op> static Op onlyReader(Value v) {
  return v.hasOneUse() ? dyn_cast<Op>(*v.user_begin()) : Op();
}

/// Whether `slice` is the first elements of each line along the last axis.
static bool isFirstPart(prim::SliceOp slice) {
  RankedTensorType from = tensorType(slice.getX()), to = tensorType(slice.getResult());
  return from.hasStaticShape() && from.getRank() > 0 &&
         from.getShape().drop_back() == to.getShape().drop_back() &&
         llvm::all_of(slice.getMixedStarts(),
                      [](OpFoldResult start) { return getConstantIntValue(start) == 0; }) &&
         llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
}

/// Two results that one concatenation alone reads, as the parts of complex numbers, transposed or
/// as they are, all or the first ones of each line, maybe in another type: its kernel becomes that
/// of the operator.
bool Clustering::storesParts(Operation *op) {
  if (op->getNumResults() != 2 || isApart(op) || !asksForPoints(op))
    return false;
  prim::ConcatOp parts;
  std::optional<ArrayRef<int64_t>> order;
  size_t casts = 0;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Value v = result;
    ArrayRef<int64_t> own;
    bool turns = policy.model->turnsParts();
    if (auto cast = turns ? onlyReader<prim::CastOp>(v) : prim::CastOp()) {
      v = cast.getResult();
      ++casts;
    }
    auto transpose = turns ? onlyReader<prim::TransposeOp>(v) : prim::TransposeOp();
    if (transpose) {
      own = transpose.getPermutation();
      v = transpose.getResult();
    }
    auto reshape = onlyReader<prim::ReshapeOp>(v);
    if (auto slice =
            reshape && turns ? onlyReader<prim::SliceOp>(reshape.getResult()) : prim::SliceOp())
      reshape =
          isFirstPart(slice) ? onlyReader<prim::ReshapeOp>(slice.getResult()) : prim::ReshapeOp();
    auto concat = reshape ? onlyReader<prim::ConcatOp>(reshape.getResult()) : prim::ConcatOp();
    if (!concat || (parts && concat != parts) || (order && *order != own))
      return false;
    RankedTensorType type = tensorType(reshape.getResult());
    if (concat.getInputs().size() != 2 || concat.getInputs()[i] != reshape.getResult() ||
        type.getShape().back() != 1 || int64_t(concat.getAxis()) + 1 != type.getRank())
      return false;
    parts = concat;
    order = own;
  }
  Cluster *g = clusterOf.lookup(parts);
  if (!g || g->kind != KernelKind::Loop || g->root != parts || g->ops.size() != 1 + casts)
    return false;
  g->kind = KernelKind::Special;
  g->asking = op;
  g->ops.insert(op);
  clusterOf[op] = g;
  places[op] = 1;
  return true;
}
