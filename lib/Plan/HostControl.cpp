//===- HostControl.cpp - Branches and loops of a host program -------------===//
//
// They become scf.if and scf.while over memory and scalars. A tensor that leaves a
// region leaves in the block of the heap that it owns, if nobody reads it there
// afterwards, or as a copy. The values of a loop's next turn that lie in an arena are
// copied over the last turn's, which nobody needs then, unless they are among the next
// turn's themselves.
//
//===----------------------------------------------------------------------===//
#include "Plan/ProgramBuilder.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

/// `v` as it leaves a region for a value of type `outer`: in its own block, if it dies
/// here, or copied into `target`, or into a new block.
Value ProgramBuilder::leave(Value v, Type outer, bool dies, Value target) {
  if (!isa<RankedTensorType>(v.getType()))
    return scalarOf(v);
  Value block = memoryOf(v);
  if (!dies || !owned.erase(storageOf(v))) {
    block = target ? target : allocate(v);
    copy(memoryOf(v), block);
  }
  auto type = cast<RankedTensorType>(outer);
  MemRefType left = host::memoryType(type, host::memorySpace(cast<MemRefType>(block.getType())));
  SmallVector<Value> sizes;
  for (unsigned i = 0, e = type.getRank(); i < e && type != v.getType(); ++i)
    if (type.isDynamicDim(i))
      sizes.push_back(extent(v, i));
  return viewAs(block, left, sizes);
}

LogicalResult ProgramBuilder::convertIf(prim::IfOp op) {
  auto branch = scf::IfOp::create(b, programTypes(op.getResults()), scalarOf(op.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [region, block] : {std::pair(&op.getThenRegion(), branch.thenBlock()),
                               std::pair(&op.getElseRegion(), branch.elseBlock())}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    Block &body = region->front();
    if (failed(convertBlock(body)))
      return failure();
    SmallVector<Value> given;
    for (auto [v, t] : llvm::zip(body.getTerminator()->getOperands(), op.getResultTypes()))
      given.push_back(leave(v, t, storageOf(v).getParentBlock() == &body));
    freeOwned(body);
    scf::YieldOp::create(b, given);
  }
  for (auto [v, to] : llvm::zip(op.getResults(), branch.getResults())) {
    bind(v, to);
    if (isa<RankedTensorType>(v.getType()))
      owned.insert(v);
  }
  return success();
}

/// Whether the memory of `init` is needed by nobody but as the first value of `op`.
bool ProgramBuilder::diesIn(prim::WhileOp op, Value init) {
  Value storage = storageOf(init);
  return storage.getParentBlock() == op->getBlock() &&
         livenessOf(*op->getBlock()).lastReader(storage) == op.getOperation() &&
         llvm::none_of(storage.getUsers(),
                       [&](Operation *user) { return op->isProperAncestor(user); });
}

/// The values for the next turn.
SmallVector<Value> ProgramBuilder::nextTurn(prim::WhileOp op) {
  Block &body = op.getBody().front();
  Operation::operand_range next = body.getTerminator()->getOperands();
  SmallVector<Value> values;
  for (auto [v, argument] : llvm::zip(next, body.getArguments())) {
    Value storage = storageOf(v);
    bool dies = storage.getParentBlock() == &body;
    bool reused = isa<RankedTensorType>(v.getType()) && v.getType() == argument.getType() &&
                  tensorType(v).hasStaticShape() && owned.contains(argument) &&
                  !(dies && owned.contains(storage)) &&
                  llvm::none_of(next, [&](Value o) { return storageOf(o) == argument; });
    values.push_back(leave(v, argument.getType(), dies, reused ? memoryOf(argument) : Value()));
    if (reused)
      owned.erase(argument);
  }
  freeOwned(body);
  for (Value argument : body.getArguments())
    release(argument);
  return values;
}

LogicalResult ProgramBuilder::convertWhile(prim::WhileOp op) {
  SmallVector<Value> inits;
  for (auto [v, t] : llvm::zip(op.getInits(), op.getResultTypes()))
    inits.push_back(leave(v, t, diesIn(op, v)));
  SmallVector<Type> types = programTypes(op.getResults());
  SmallVector<Location> locs(types.size(), op.getLoc());
  auto loop = scf::WhileOp::create(b, types, inits);
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Block &body, Region &region) {
    Block *block = b.createBlock(&region, {}, types, locs);
    for (auto [v, to] : llvm::zip(body.getArguments(), block->getArguments()))
      bind(v, to);
    return block;
  };
  Block &condition = op.getCondition().front(), &body = op.getBody().front();
  Block *before = enter(condition, loop.getBefore());
  if (failed(convertBlock(condition)))
    return failure();
  Value proceed = scalarOf(condition.getTerminator()->getOperand(0));
  freeOwned(condition);
  scf::ConditionOp::create(b, proceed, before->getArguments());
  enter(body, loop.getAfter());
  for (Value argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      owned.insert(argument);
  if (failed(convertBlock(body)))
    return failure();
  scf::YieldOp::create(b, nextTurn(op));
  for (auto [v, to] : llvm::zip(op.getResults(), loop.getResults())) {
    bind(v, to);
    if (isa<RankedTensorType>(v.getType()))
      owned.insert(v);
  }
  return success();
}
