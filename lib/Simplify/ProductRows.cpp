//===- ProductRows.cpp - Products keep the axes of their rows -------------===//
//
// Exporters flatten the rows of a linear layer before its product and give them their axes back
// after its bias. A product names the axes that it sums, so its rows may have any number of axes;
// flattened ones only stand between the product and what follows it, which would go through
// memory.
//
//   %f = prim.reshape %x to [4096, 768]                %p = prim.dot %x, %w -> [8, 512, 3072]
//   %p = prim.dot %f, %w -> [4096, 3072]               %q = prim.add %p, broadcast %bias
//   %q = prim.add %p, broadcast %bias
//   %r = prim.reshape %q to [8, 512, 3072]
//
// All that is computed from the product in flattened rows has to be elementwise, a product of
// flattened rows again, or a reshape, and at least one reshape has to undo the first: else another
// reshape would take its place. What else elementwise operators read has to be the same for all
// rows, or of unflattened rows as well.
//
//===----------------------------------------------------------------------===//
#include "Simplify/Splat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Simplify/Simplify.h"
#include "llvm/ADT/SetVector.h"

namespace tcc {
#define GEN_PASS_DEF_PRODUCTROWSPASS
#include "tcc/Simplify/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

namespace {

/// What is computed in the flattened rows of one product.
class FlattenedRows {
public:
  /// False where the product has to stay.
  bool collect(prim::DotOp dot);
  /// Gives the product that takes the place of the first one.
  Operation *unflatten();

private:
  bool add(Operation *user, Value read);
  bool canUnflatten(Value operand);
  Value unflattened(OpBuilder &b, Value operand);
  RankedTensorType unflattened(Value v) {
    SmallVector<int64_t> shape(rows);
    shape.push_back(tensorType(v).getShape().back());
    return tensorType(v).clone(shape);
  }

  SmallVector<int64_t> rows; ///< extents
  prim::ReshapeOp flattening;
  llvm::SetVector<Operation *> ops;
  llvm::SmallSetVector<Operation *, 4> ends; ///< reshapes
  IRMapping map;
};

} // namespace

/// The reshape that gives `value`, if it only numbers rows otherwise.
static prim::ReshapeOp reshapedRows(Value value) {
  auto reshape = value.getDefiningOp<prim::ReshapeOp>();
  if (!reshape)
    return {};
  auto from = tensorType(reshape.getX()), to = tensorType(value);
  bool keepsColumns = from.hasStaticShape() && to.hasStaticShape() && from.getRank() > 1 &&
                      to.getRank() > 1 && from.getShape().back() == to.getShape().back() &&
                      from.getShape().back() > 0;
  return keepsColumns ? reshape : prim::ReshapeOp();
}

/// A product of its left operand's rows by columns.
static bool isProductOfRows(prim::DotOp dot) {
  int64_t rank = tensorType(dot.getLhs()).getRank();
  return dot.getLhsBatch().empty() && dot.getLhsContract() == ArrayRef<int64_t>{rank - 1} &&
         tensorType(dot.getResult()).getRank() == rank;
}

/// What is the same for all rows.
static prim::BroadcastOp columnsOf(Value operand) {
  auto broadcast = operand.getDefiningOp<prim::BroadcastOp>();
  int64_t last = tensorType(operand).getRank() - 1;
  bool isAlong = broadcast && broadcast.getAxes() == ArrayRef<int64_t>{last};
  return isAlong ? broadcast : prim::BroadcastOp();
}

bool FlattenedRows::add(Operation *user, Value read) {
  if (user->getBlock() != flattening->getBlock())
    return false;
  if (isa<prim::ReshapeOp>(user))
    return tensorType(user->getResult(0)).hasStaticShape() && (ends.insert(user), true);
  auto dot = dyn_cast<prim::DotOp>(user);
  bool multiplies = dot && dot.getLhs() == read && dot.getRhs() != read && isProductOfRows(dot);
  if (!multiplies && !(prim::isElementwise(user) && user->getNumResults() == 1))
    return false;
  ops.insert(user);
  return true;
}

bool FlattenedRows::canUnflatten(Value operand) {
  Operation *op = operand.getDefiningOp();
  if ((op && ops.contains(op)) || splatOf(operand) || columnsOf(operand))
    return true;
  prim::ReshapeOp reshape = reshapedRows(operand);
  return reshape && tensorType(reshape.getX()).getShape().drop_back() == ArrayRef<int64_t>(rows);
}

bool FlattenedRows::collect(prim::DotOp dot) {
  flattening = reshapedRows(dot.getLhs());
  if (!flattening || !isProductOfRows(dot))
    return false;
  llvm::append_range(rows, tensorType(flattening.getX()).getShape().drop_back());
  ops.insert(dot);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Operation *user : ops[i]->getResult(0).getUsers())
      if (!add(user, ops[i]->getResult(0)))
        return false;
  for (Operation *op : ops) {
    auto product = dyn_cast<prim::DotOp>(op);
    Operation *right = product ? product.getRhs().getDefiningOp() : nullptr;
    if (right && ops.contains(right))
      return false;
    // The left operand is the first one.
    for (Value operand : op->getOperands().take_front(product ? 1 : op->getNumOperands()))
      if (!canUnflatten(operand))
        return false;
  }
  return llvm::any_of(ends, [&](Operation *end) {
    return end->getResult(0).getType() == unflattened(end->getOperand(0));
  });
}

Value FlattenedRows::unflattened(OpBuilder &b, Value operand) {
  if (Value known = map.lookupOrNull(operand))
    return known;
  RankedTensorType type = unflattened(operand);
  if (Attribute splat = splatOf(operand))
    return prim::ConstantOp::create(b, operand.getLoc(), type, DenseElementsAttr::get(type, splat));
  if (prim::BroadcastOp columns = columnsOf(operand))
    return prim::BroadcastOp::create(b, operand.getLoc(), type, columns.getX(),
                                     ArrayRef<int64_t>{type.getRank() - 1}, ValueRange());
  return reshapedRows(operand).getX();
}

Operation *FlattenedRows::unflatten() {
  SmallVector<Operation *> inOrder = ops.takeVector();
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : inOrder) {
    OpBuilder b(op);
    Value result = op->getResult(0), made;
    if (auto dot = dyn_cast<prim::DotOp>(op)) {
      made = prim::DotOp::create(b, op->getLoc(), unflattened(result), unflattened(b, dot.getLhs()),
                                 dot.getRhs(), ArrayRef<int64_t>(), dot.getRhsBatch(),
                                 ArrayRef<int64_t>{int64_t(rows.size())}, dot.getRhsContract());
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(unflattened(b, operand));
      Operation *clone = b.clone(*op);
      clone->setOperands(operands);
      clone->getResult(0).setType(unflattened(result));
      made = clone->getResult(0);
    }
    map.map(result, made);
  }
  for (Operation *end : ends) {
    OpBuilder b(end);
    Value rowsAgain = map.lookup(end->getOperand(0));
    if (rowsAgain.getType() != end->getResult(0).getType())
      rowsAgain = prim::ReshapeOp::create(b, end->getLoc(), end->getResult(0).getType(), rowsAgain,
                                          ValueRange());
    end->getResult(0).replaceAllUsesWith(rowsAgain);
    end->erase();
  }
  Operation *first = map.lookup(inOrder[0]->getResult(0)).getDefiningOp();
  for (Operation *op : llvm::reverse(inOrder))
    op->erase();
  if (flattening->use_empty())
    flattening->erase();
  return first;
}

namespace {

class ProductRowsPass : public tcc::impl::ProductRowsPassBase<ProductRowsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      for (auto it = block->begin(); it != block->end();) {
        auto dot = dyn_cast<prim::DotOp>(*it);
        FlattenedRows flattened;
        if (!dot || !flattened.collect(dot)) {
          ++it;
          continue;
        }
        it = std::next(flattened.unflatten()->getIterator());
      }
    });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createProductRowsPass() { return std::make_unique<ProductRowsPass>(); }
