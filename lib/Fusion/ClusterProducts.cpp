//===- ClusterProducts.cpp - What goes with a product ---------------------===//
//
// A product's kernel computes what follows it, point by point, where its sums are: what is added to
// them, functions of them, what makes them narrower. Which of it does is decided from both ends: by
// the product, which joins a kernel of its own shape, and, where no such kernel can have it, by
// what would otherwise join the reduction behind it.
//
//===----------------------------------------------------------------------===//
#include "Clustering.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

/// What the epilogue of a product reads instead of it: the product under another
/// shape with the same columns, or itself.
static Value rowsOf(Operation *op) {
  Value result = op->getResult(0);
  auto reshape =
      result.hasOneUse() ? dyn_cast<prim::ReshapeOp>(*result.user_begin()) : prim::ReshapeOp();
  if (!reshape || !op->hasTrait<prim::MatrixProduct>())
    return result;
  if (auto dot = dyn_cast<prim::DotOp>(op)) {
    int64_t columns =
        tensorType(dot.getRhs()).getRank() - dot.getRhsBatch().size() - dot.getRhsContract().size();
    if (columns != 1)
      return result;
  }
  auto from = tensorType(result), to = tensorType(reshape.getResult());
  bool sameColumns = to.getRank() > 0 && !from.isDynamicDim(from.getRank() - 1) &&
                     from.getShape().back() == to.getShape().back();
  return sameColumns ? reshape.getResult() : result;
}

/// Whether the transpose that `g` ends with is no part of the kernel of `product`.
bool Clustering::leavesTranspose(Operation *product, const Cluster &g) {
  auto stored = dyn_cast<prim::TransposeOp>(g.root);
  return stored && policy.model &&
         !policy.model->storesTransposed(product, tensorType(stored.getResult()).getElementType());
}

/// Whether `g` reads all of `v` at its own points, or stores at transposed ones. A part of `v` that
/// starts where it does is read at the same points, but has fewer of them.
bool Clustering::isReadInPlace(Cluster &g, Value v) {
  auto transposed = dyn_cast<prim::TransposeOp>(g.root);
  SmallVector<OpFoldResult> own = extentsOf(v.getDefiningOp(), v), space = g.space;
  if (space.size() != own.size())
    return false; // a reshape lies between
  Access at = accessIn(g, v), wanted = identityAccess(own.size());
  if (transposed) // the epilogue stores at the transposed point
    for (auto [i, axis] : llvm::enumerate(transposed.getPermutation())) {
      wanted[axis] = i;
      space[axis] = g.space[i];
    }
  if (at.size() != own.size() || !sameExtents(space, own))
    return false;
  return llvm::all_of(llvm::zip(at, wanted, own), [](auto entry) {
    auto [have, there, extent] = entry;
    return have == there || (have == kZero && getConstantIntValue(extent) == 1);
  });
}

bool Clustering::joinsEpilogue(Operation *op, Cluster &g) {
  if (leavesTranspose(op, g))
    return false;
  auto transposed = dyn_cast<prim::TransposeOp>(g.root);
  if (g.kind != KernelKind::Loop || (!isPointwise(g.root) && !transposed))
    return false;
  for (Operation *other : g.ops)
    if (!prim::isElementwise(other) && other != transposed)
      return false;
  Value rows = transposed ? op->getResult(0) : rowsOf(op);
  if (!isReadInPlace(g, rows))
    return false;
  g.kind = contractionKind(op);
  return true;
}

/// A product beside the one that `g` has, as a gate is beside what it opens, where the target
/// computes both at once.
bool Clustering::goesWithProduct(Operation *op, Cluster &g) {
  auto products = llvm::make_filter_range(g.ops, isContraction);
  return g.kind == KernelKind::Contraction && policy.model && llvm::hasSingleElement(products) &&
         policy.model->prefersTogether(*products.begin(), op);
}

/// The product that `v` is, or that it alone is computed from; null: nothing else may read it.
static Operation *productBefore(Value v) {
  Operation *op = v.hasOneUse() ? v.getDefiningOp() : nullptr;
  if (!op || isContraction(op))
    return op;
  if (prim::isElementwise(op))
    for (Value operand : op->getOperands())
      if (Operation *product = productBefore(operand))
        return product;
  return nullptr;
}

/// A product is a kernel of its own where `g` cannot have it. Then what makes its sums narrower
/// goes with it: half as much is written and read. So does all that lies before a transpose which
/// its kernel leaves to another.
bool Clustering::endsProduct(Operation *op, Cluster &g) {
  if (isa<prim::TransposeOp>(g.root) && prim::isElementwise(op))
    if (Operation *product = productBefore(op->getResult(0));
        product && leavesTranspose(product, g))
      return true;
  auto cast = dyn_cast<prim::CastOp>(op);
  auto bits = [](Value v) { return tensorType(v).getElementType().getIntOrFloatBitWidth(); };
  bool canHave =
      g.kind == KernelKind::Loop &&
      llvm::none_of(g.ops, [](Operation *other) { return other->hasTrait<prim::Reduction>(); }) &&
      isReadInPlace(g, op->getResult(0));
  if (!cast || canHave || bits(cast.getResult()) >= bits(cast.getX()))
    return false;
  Operation *product = productBefore(cast.getX());
  return product && !goesWithProduct(product, g);
}

/// What is added to a product belongs to its kernel, where the target prefers that, although a row
/// kernel could compute it as well, which then reads one operand less.
bool Clustering::addsToProduct(Operation *op) {
  Operation *product = nullptr;
  for (Value operand : op->getOperands())
    product = product ? product : productBefore(operand);
  return product && policy.model && policy.model->addsToProduct(product) &&
         sameExtents(extentsOf(op, op->getResult(0)), extentsOf(product, rowsOf(product)));
}
