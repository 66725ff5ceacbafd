//===- ProductColumns.cpp - What follows a product keeps its columns ------===//
//
// A layer whose columns are heads by features, or experts by hidden units, is one product whose
// columns a reshape splits; its bias has those axes, and so has what is computed point by point
// behind it. A template's epilogue computes in the product's own columns, so the reshape would end
// the kernel there. It is put behind what follows:
//
//   %p = prim.dot %x, %w -> [1024, 768]              %p = prim.dot %x, %w
//   %r = prim.reshape %p to [1024, 12, 64]           %q = prim.add %p, broadcast %bias' [768]
//   %q = prim.add %r, broadcast %bias [12, 64]       %r = prim.reshape %q to [1024, 12, 64]
//
// All that follows has to be so, up to views, other products and the end of the block, and what
// else it reads a number, the same for all rows, or such a product itself. Where heads are reduced,
// as norms of them are, a kernel of rows computes what is between in their own shape.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {
#define GEN_PASS_DEF_PRODUCTCOLUMNSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// What is computed point by point from a product whose columns are split.
class SplitColumns {
public:
  /// False where it stays as it is.
  bool collect(prim::ReshapeOp first);
  void move();

private:
  bool isSplit(Value v) const;
  bool canRead(Value v) const;
  Value joined(OpBuilder &b, Value v);

  RankedTensorType split; ///< of a value, whatever its elements
  int64_t axes, columns;  ///< that the columns are split into
  llvm::SetVector<Operation *> ops;
  DenseMap<Value, Value> known;
};

} // namespace

/// How many axes `reshape` makes of the last one, leaving all others; 0 where it does not.
static int64_t splitAxes(prim::ReshapeOp reshape) {
  ArrayRef<int64_t> from = tensorType(reshape.getX()).getShape(), to = reshape.getType().getShape();
  if (from.empty() || to.size() <= from.size())
    return 0;
  ArrayRef<int64_t> rows = from.drop_back(), parts = to.drop_front(rows.size());
  // Of two open extents the one may take what the other gives.
  bool sameRows =
      to.take_front(rows.size()) == rows && llvm::count_if(rows, ShapedType::isDynamic) <= 1;
  bool known = !ShapedType::isDynamicShape(parts) && !ShapedType::isDynamic(from.back());
  return sameRows && known && ShapedType::getNumElements(parts) == from.back()
             ? int64_t(parts.size())
             : 0;
}

/// A reshape of a product's result, whose columns it splits.
bool SplitColumns::isSplit(Value v) const {
  auto reshape = v.getDefiningOp<prim::ReshapeOp>();
  return reshape && reshape.getX().getDefiningOp<prim::DotOp>() && splitAxes(reshape) == axes &&
         reshape.getType().getShape() == split.getShape();
}

bool SplitColumns::canRead(Value v) const {
  Operation *op = v.getDefiningOp();
  if (isSplit(v) || (op && ops.contains(op)))
    return true;
  if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return dense && dense.isSplat();
  }
  auto broadcast = dyn_cast_or_null<prim::BroadcastOp>(op);
  if (!broadcast)
    return false;
  ArrayRef<int64_t> shape = tensorType(broadcast.getX()).getShape();
  bool isNumber = llvm::all_of(shape, [](int64_t extent) { return extent == 1; });
  return isNumber ||
         (shape == split.getShape().take_back(axes) &&
          llvm::equal(broadcast.getAxes(), llvm::seq(split.getRank() - axes, split.getRank())));
}

bool SplitColumns::collect(prim::ReshapeOp first) {
  axes = splitAxes(first);
  split = first.getType();
  if (!axes || !isSplit(first))
    return false;
  columns = tensorType(first.getX()).getShape().back();
  SmallVector<Operation *> unread{first};
  while (!unread.empty())
    for (Operation *user : unread.pop_back_val()->getUsers()) {
      if (user->getBlock() != first->getBlock())
        return false;
      if (isa<prim::ReshapeOp, prim::TransposeOp, prim::SliceOp, prim::DotOp>(user) ||
          user->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (!prim::isElementwise(user) || user->getNumResults() != 1)
        return false;
      if (ops.insert(user))
        unread.push_back(user);
    }
  return !ops.empty() && llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value v) { return canRead(v); });
  });
}

/// `v` in the product's columns.
Value SplitColumns::joined(OpBuilder &b, Value v) {
  if (Value there = known.lookup(v))
    return there;
  if (isSplit(v))
    return v.getDefiningOp<prim::ReshapeOp>().getX();
  SmallVector<int64_t> shape(split.getShape().drop_back(axes));
  shape.push_back(columns);
  RankedTensorType type = tensorType(v).clone(shape);
  Location loc = v.getLoc();
  if (auto constant = v.getDefiningOp<prim::ConstantOp>())
    return prim::ConstantOp::create(
        b, loc, type, cast<DenseElementsAttr>(constant.getElements()).resizeSplat(type));
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  Value x = broadcast.getX();
  bool isNumber = tensorType(x).getNumElements() == 1;
  SmallVector<int64_t> extents(isNumber ? 0 : 1, columns),
      along(extents.size(), type.getRank() - 1);
  if (tensorType(x).getShape() != ArrayRef(extents))
    x = prim::ReshapeOp::create(b, loc, tensorType(x).clone(extents), x, ValueRange());
  return prim::BroadcastOp::create(b, loc, type, x, along, broadcast.getSizes());
}

void SplitColumns::move() {
  SmallVector<Operation *> inOrder = ops.takeVector();
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : inOrder) {
    OpBuilder b(op);
    Value result = op->getResult(0);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(joined(b, operand));
    Operation *made = b.clone(*op);
    made->setOperands(operands);
    made->getResult(0).setType(tensorType(result).clone(tensorType(operands.back()).getShape()));
    known[result] = made->getResult(0);
  }
  for (Operation *op : llvm::reverse(inOrder)) {
    Value result = op->getResult(0), made = known.lookup(result);
    if (!result.use_empty()) {
      OpBuilder b(op);
      b.setInsertionPointAfterValue(made);
      result.replaceAllUsesWith(
          prim::ReshapeOp::create(b, op->getLoc(), result.getType(), made, openExtents(b, made)));
    }
    op->erase();
  }
}

namespace {

class ProductColumnsPass : public tcc::impl::ProductColumnsPassBase<ProductColumnsPass> {
public:
  void runOnOperation() override {
    SmallVector<prim::ReshapeOp> reshapes;
    getOperation().walk([&](prim::ReshapeOp op) { reshapes.push_back(op); });
    for (prim::ReshapeOp reshape : reshapes) {
      SplitColumns columns;
      if (columns.collect(reshape))
        columns.move();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createProductColumnsPass() {
  return std::make_unique<ProductColumnsPass>();
}
