//===- RowRegion.cpp - What is computed in the rows of a product ----------===//
#include "RowRegion.h"
#include "Splat.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::simplify;

bool tcc::simplify::isProductOfRows(prim::DotOp dot) {
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

bool RowRegion::add(Operation *user, Value read) {
  if (user->getBlock() != ops[0]->getBlock())
    return false;
  if (isEnd(user)) {
    ends.insert(user);
    return true;
  }
  auto dot = dyn_cast<prim::DotOp>(user);
  bool multiplies = dot && dot.getLhs() == read && dot.getRhs() != read && isProductOfRows(dot);
  if (!multiplies && !(prim::isElementwise(user) && user->getNumResults() == 1))
    return false;
  ops.insert(user);
  return true;
}

bool RowRegion::canRead(Value operand) {
  Operation *op = operand.getDefiningOp();
  return (op && ops.contains(op)) || splatOf(operand) || columnsOf(operand) || isThere(operand);
}

bool RowRegion::follow(prim::DotOp dot) {
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
      if (!canRead(operand))
        return false;
  }
  return true;
}

Value RowRegion::read(OpBuilder &b, Value operand) {
  if (Value known = map.lookupOrNull(operand))
    return known;
  Attribute splat = splatOf(operand);
  prim::BroadcastOp columns = columnsOf(operand);
  if (!splat && !columns)
    return there(b, operand);
  RankedTensorType type = typeOf(operand);
  if (splat)
    return prim::ConstantOp::create(b, operand.getLoc(), type, DenseElementsAttr::get(type, splat));
  return prim::BroadcastOp::create(b, operand.getLoc(), type, columns.getX(),
                                   ArrayRef<int64_t>{type.getRank() - 1}, ValueRange());
}

Operation *RowRegion::rebuild() {
  SmallVector<Operation *> inOrder = ops.takeVector();
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : inOrder) {
    OpBuilder b(op);
    Value result = op->getResult(0), made;
    if (auto dot = dyn_cast<prim::DotOp>(op)) {
      RankedTensorType type = typeOf(result);
      made = prim::DotOp::create(b, op->getLoc(), type, read(b, dot.getLhs()), dot.getRhs(),
                                 ArrayRef<int64_t>(), dot.getRhsBatch(),
                                 ArrayRef<int64_t>{type.getRank() - 1}, dot.getRhsContract());
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(read(b, operand));
      Operation *clone = b.clone(*op);
      clone->setOperands(operands);
      clone->getResult(0).setType(typeOf(result));
      made = clone->getResult(0);
    }
    map.map(result, made);
  }
  for (Operation *end : ends)
    restore(end, map.lookup(end->getOperand(0)));
  Operation *first = map.lookup(inOrder[0]->getResult(0)).getDefiningOp();
  for (Operation *op : llvm::reverse(inOrder))
    op->erase();
  return first;
}
