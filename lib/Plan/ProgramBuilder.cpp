//===- ProgramBuilder.cpp - Values and memory of a host program -----------===//
//
// Every tensor of the function gets its memory in the program, every scalar its value. An extent
// is asked for where its tensor is made, once, because later operators may not see the tensor any
// more.
//
//===----------------------------------------------------------------------===//
#include "Plan/ProgramBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Signature/Signature.h"

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
  Operation *op = tensor.getDefiningOp();
  assert((isa_and_nonnull<prim::WeightOp, prim::ConstantOp>(op)) &&
         "a tensor has no place: fusion left it without a kernel");
  return known = dataOf(op, space);
}

/// The weight or constant that `op` is, as it lies in `where`.
Value ProgramBuilder::dataOf(Operation *op, host::MemorySpace where) {
  OpBuilder::InsertionGuard guard(b);
  if (lastWeight)
    b.setInsertionPointAfter(lastWeight);
  else
    b.setInsertionPointToStart(entry);
  auto type = host::memoryType(tensorType(op->getResult(0)), where);
  if (auto weight = dyn_cast<prim::WeightOp>(op))
    lastWeight = host::WeightOp::create(b, weight.getLoc(), type, weight.getName());
  else
    lastWeight =
        host::ConstantOp::create(b, op->getLoc(), type, cast<prim::ConstantOp>(op).getElements());
  return lastWeight->getResult(0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Whether result `number` of a loop or branch lies on the host.
static bool isOnHost(Operation *op, unsigned number) {
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(kernel::kOnHost);
  return numbers && llvm::is_contained(numbers.asArrayRef(), number);
}

/// Where `tensor` lies. Of weights and constants, where launches read them.
host::MemorySpace ProgramBuilder::spaceOf(Value tensor) const {
  if (space == host::MemorySpace::host)
    return space;
  Value storage = storageOf(tensor);
  unsigned number = 0;
  Operation *op = storage.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(storage)) {
    op = argument.getOwner()->getParentOp();
    number = argument.getArgNumber();
  } else {
    number = cast<OpResult>(storage).getResultNumber();
  }
  bool onHost = false;
  if (auto launch = dyn_cast<kernel::LaunchOp>(op))
    onHost = bool(launch.getOnHostAttr());
  else if (auto move = dyn_cast<kernel::MoveOp>(op))
    onHost = move.getPlace() == kernel::Place::Host;
  else if (isa<prim::WhileOp, prim::IfOp>(op))
    onHost = isOnHost(op, number);
  else
    onHost = hostArguments.contains(storage);
  return onHost ? host::MemorySpace::host : space;
}

MemRefType ProgramBuilder::memoryType(Value tensor) const {
  return host::memoryType(tensorType(tensor), spaceOf(tensor));
}

SmallVector<Type> ProgramBuilder::programTypes(ValueRange values) const {
  return llvm::map_to_vector(values, [&](Value v) -> Type {
    return isa<RankedTensorType>(v.getType()) ? memoryType(v) : v.getType();
  });
}

/// Whether the host reads single elements of `tensor`, and nobody anything else.
static bool onlyHostReads(Value tensor) {
  return !tensor.use_empty() && llvm::all_of(tensor.getUsers(), [](Operation *user) {
    return isa<prim::ExtractOp, prim::DimOp>(user) ||
           (isa<prim::ReshapeOp>(user) && onlyHostReads(user->getResult(0)));
  });
}

/// What is changed, and what is kept from run to run, lies where kernels write it.
void ProgramBuilder::findHostArguments() {
  for (BlockArgument argument : source.getArguments()) {
    unsigned number = argument.getArgNumber();
    bool changed = Signature(source).isState(number);
    for (unsigned i = 0; i < source.getNumResults(); ++i)
      changed |= changedBy(i) == argument;
    bool read = source.getArgAttr(number, kernel::kOnHost) || onlyHostReads(argument);
    if (isa<RankedTensorType>(argument.getType()) && !changed && read)
      hostArguments.insert(argument);
  }
}

/// `tensor`, or what it is a view of with the elements in the same order, where the host reads it
/// without waiting if it lies there.
Value ProgramBuilder::whereHostReads(Value tensor) {
  Operation *root = storageOf(tensor).getDefiningOp();
  if (space == host::MemorySpace::host || !isa_and_nonnull<prim::WeightOp, prim::ConstantOp>(root))
    return memoryOf(tensor);
  Value &known = hostData[root];
  return known ? known : known = dataOf(root, host::MemorySpace::host);
}

Value ProgramBuilder::allocate(Value tensor) {
  return host::AllocOp::create(b, memoryType(tensor), openExtents(tensor));
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
  auto type = host::ArenaType::get(b.getContext(), space);
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
