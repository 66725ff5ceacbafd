#include "tcc/Analysis/StorageLiveness.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;

Value tcc::storageOf(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  return v;
}

StorageLiveness::StorageLiveness(Block &block) : block(block) {
  for (Operation &op : block)
    positions[&op] = positions.size();
}

unsigned StorageLiveness::position(Operation *op) const {
  return positions.lookup(block.findAncestorOpInBlock(*op));
}

Operation *StorageLiveness::lastReader(Value v) const {
  Operation *last = nullptr;
  auto include = [&](Operation *op) {
    if (op && positions.contains(op) && (!last || positions.lookup(last) < positions.lookup(op)))
      last = op;
  };
  for (Operation *user : v.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (!here || isa<prim::DimOp>(user))
      continue;
    include(here);
    if (isa<prim::ReshapeOp>(user))
      include(lastReader(user->getResult(0)));
  }
  return last;
}

unsigned StorageLiveness::lastUse(Value v) const {
  Operation *last = lastReader(v);
  return last ? positions.lookup(last) : 0;
}
