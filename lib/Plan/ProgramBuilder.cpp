//===- ProgramBuilder.cpp - Values and memory of a host program -----------===//
#include "Plan/ProgramBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void ProgramBuilder::bind(Value v, Value to) {
  if (!isa<RankedTensorType>(v.getType())) {
    scalars[v] = to;
    return;
  }
  memory[v] = to;
  bound.insert(v);
}

/// The program's value for a scalar or index of the source.
Value ProgramBuilder::scalarOf(Value v) {
  if (Value known = scalars.lookup(v))
    return known;
  Operation *op = v.getDefiningOp();
  assert(op && "host scalar without a definition");
  if (auto dim = dyn_cast<prim::DimOp>(op))
    return scalars[v] = extent(dim.getX(), dim.getAxis());
  // Arithmetic that dimOf added after its place was converted.
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, scalarOf(operand));
  return b.clone(*op, map)->getResult(0);
}

/// An extent that `tensor` brings with it, asked for where it is made.
Value ProgramBuilder::boundExtent(Value tensor, unsigned axis) {
  Value &known = boundExtents[{tensor, axis}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(memory.lookup(tensor));
  return known = host::DimOp::create(b, b.getIndexType(), memory.lookup(tensor), axis);
}

Value ProgramBuilder::extent(Value tensor, unsigned axis) {
  if (!tensorType(tensor).isDynamicDim(axis))
    return arith::ConstantIndexOp::create(b, tensorType(tensor).getDimSize(axis));
  if (bound.contains(tensor))
    return boundExtent(tensor, axis);
  OpBuilder at(source.getContext());
  at.setInsertionPointAfterValue(tensor);
  OpFoldResult d = prim::dimOf(at, tensor.getLoc(), tensor, axis);
  if (auto known = getConstantIntValue(d))
    return arith::ConstantIndexOp::create(b, *known);
  auto v = cast<Value>(d);
  if (auto dim = v.getDefiningOp<prim::DimOp>())
    return boundExtent(dim.getX(), dim.getAxis());
  return scalarOf(v);
}

/// The extents of `tensor` that its type leaves open.
SmallVector<Value> ProgramBuilder::openExtents(Value tensor) {
  SmallVector<Value> open;
  for (unsigned i = 0, e = tensorType(tensor).getRank(); i < e; ++i)
    if (tensorType(tensor).isDynamicDim(i))
      open.push_back(extent(tensor, i));
  return open;
}

/// Weights and constants come first in the program, in the order of their first use.
Value ProgramBuilder::memoryOf(Value tensor) {
  Value &known = memory[tensor];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  if (lastWeight)
    b.setInsertionPointAfter(lastWeight);
  else
    b.setInsertionPointToStart(entry);
  auto type = host::memoryType(tensorType(tensor));
  Operation *op = tensor.getDefiningOp();
  if (auto weight = dyn_cast_or_null<prim::WeightOp>(op))
    known = host::WeightOp::create(b, weight.getLoc(), type, weight.getName());
  else if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op))
    known = host::ConstantOp::create(b, constant.getLoc(), type, constant.getElements());
  else
    llvm_unreachable("a tensor has no place: fusion left it without a kernel");
  lastWeight = known.getDefiningOp();
  return known;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value ProgramBuilder::allocate(Value tensor) {
  return host::AllocOp::create(b, host::memoryType(tensorType(tensor)), openExtents(tensor));
}

void ProgramBuilder::copy(Value from, Value to) { host::CopyOp::create(b, from, to); }

/// `memory` as `type`; `sizes` are the extents that this leaves open. Where the shape is
/// `memory`'s own they are not needed.
Value ProgramBuilder::viewAs(Value memory, MemRefType type, ValueRange sizes) {
  if (memory.getType() == type)
    return memory;
  return host::ViewOp::create(b, type, memory, sizes);
}

/// Arena `number`. A dynamic one is taken when its first tensor is made: then its extents
/// are known.
Value ProgramBuilder::arena(size_t number, Value tensor) {
  Value &known = arenas[number];
  if (known)
    return known;
  auto type = host::ArenaType::get(b.getContext(), host::MemorySpace::host);
  if (number > 0)
    return known = host::AllocArenaOp::create(b, type, plan.arenas[number], openExtents(tensor));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return known = host::ArenaOp::create(b, type, plan.arenas[0]);
}

void ProgramBuilder::release(Value v) {
  if (owned.erase(v))
    host::FreeOp::create(b, memory.lookup(v));
}

const StorageLiveness &ProgramBuilder::livenessOf(Block &block) {
  return livenesses.try_emplace(&block, block).first->second;
}

/// Frees what this block made and nobody took over.
void ProgramBuilder::freeOwned(Block &block) {
  for (Operation &op : block)
    for (Value v : op.getResults())
      release(v);
}
