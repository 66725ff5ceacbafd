//===- StoragePlan.cpp - Arenas by liveness -------------------------------===//
//
// Results of static size share one arena. Each is live from its launch to the
// last reader of it or of a reshape of it; nested blocks count as their op in the
// top block. A kernel that reads a dying buffer point by point writes over it
// (InPlace.h): the two are one buffer with one longer life. Largest first, each goes
// to the lowest offset that no live neighbour occupies: greedy by size (Pisarchyk and Lee,
// Efficient Memory Management for Deep Neural Net Inference, 2020), within a few percent of the
// lower bound on real models.
//
// A kernel that changes a part of an argument that the model changes (a cache of keys and values)
// does so where the argument lies, if no later one needs what was there.
//
// What a turn of a loop leaves to the next is not copied: it is written over what the turn before
// left, or the two change places. A row that a turn inserts into what the loop carries is written
// there by the kernel that makes it.
//
// Results whose unknown extents are the same values share a dynamic arena, which the run
// allocates once: offsets and sizes count in bytes times the product of those extents.
//
//===----------------------------------------------------------------------===//
#include "Plan/StoragePlan.h"
#include "tcc/Analysis/InPlace.h"
#include "tcc/Analysis/InsertedPart.h"
#include "tcc/Analysis/StorageLiveness.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Signature/Signature.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

namespace {

struct Buffer {
  size_t arena; ///< 0: the static one
  int64_t size, offset = -1;
  unsigned first, last; ///< positions in the top block
};

/// A result that lies in a buffer.
struct Tenant {
  kernel::LaunchOp launch;
  unsigned result;
  size_t buffer;
};

class MemoryPlanner {
public:
  MemoryPlanner(func::FuncOp function, bool inPlace, CheckFlags flags)
      : function(function), inPlace(inPlace), liveness(function.getBody().front()) {
    plan.flags = std::move(flags);
  }
  StoragePlan run();

private:
  std::optional<unsigned> outputOf(Value value);
  /// The other results are new values of arguments, which are written at the end.
  bool isOutput(unsigned result) { return Signature(function).isOutput(result); }
  void collect(kernel::LaunchOp launch);
  Place collectResult(kernel::LaunchOp launch, unsigned result);
  SmallVector<unsigned> overwritable(kernel::LaunchOp launch) {
    return inPlace ? overwritableInputs(launch) : SmallVector<unsigned>();
  }
  Value dyingInput(kernel::LaunchOp launch, unsigned number);
  bool moveIn(kernel::LaunchOp launch, size_t arena, int64_t size);
  std::optional<std::pair<size_t, int64_t>> dynamicArena(kernel::LaunchOp launch, unsigned result);
  Place overAllocated(kernel::LaunchOp launch);
  std::optional<OverInput> overCarried(kernel::LaunchOp launch);
  std::optional<Place> carriedOn(kernel::LaunchOp launch, unsigned result);
  std::optional<InPart> inPart(Value value);
  std::optional<OverArgument> overChanged(kernel::LaunchOp launch);
  int64_t assignOffsets(size_t arena);

  func::FuncOp function;
  bool inPlace;
  StorageLiveness liveness;
  StoragePlan plan;
  std::vector<Buffer> buffers;
  std::vector<Tenant> tenants;
  DenseMap<Value, size_t> bufferOf; ///< of results, the last tenants
  /// The unknown extents of each dynamic arena, sorted.
  std::vector<SmallVector<void *>> factors;
  DenseSet<unsigned> takenOutputs;
  DenseSet<Value> takenCarried; ///< arguments of loops that a result lies over
};

} // namespace

/// Whether the extents that `reshape` leaves open are known before what `value` is made by.
static bool extentsAreKnown(prim::ReshapeOp reshape, Value value) {
  Operation *maker = storageOf(value).getDefiningOp();
  return llvm::all_of(reshape.getSizes(), [&](Value size) {
    Operation *op = size.getDefiningOp();
    return !op || (op->getBlock() == maker->getBlock() && op->isBeforeInBlock(maker));
  });
}

/// The result of the model that `value` (or a reshape of it) is, if any.
std::optional<unsigned> MemoryPlanner::outputOf(Value value) {
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &use : value.getUses()) {
    if (use.getOwner() == end && isOutput(use.getOperandNumber()) &&
        !takenOutputs.contains(use.getOperandNumber()))
      return use.getOperandNumber();
    if (auto reshape = dyn_cast<prim::ReshapeOp>(use.getOwner()))
      if (extentsAreKnown(reshape, value))
        if (auto output = outputOf(reshape.getResult()))
          return output;
  }
  return std::nullopt;
}

/// Whether several inputs of `launch` are views of `buffer`.
static bool readsTwice(kernel::LaunchOp launch, Value buffer) {
  unsigned readers = 0;
  for (Value input : launch.getInputs())
    readers += storageOf(input) == buffer;
  return readers > 1;
}

void MemoryPlanner::collect(kernel::LaunchOp launch) {
  SmallVector<Place> own;
  for (unsigned i = 0, e = launch.getNumResults(); i < e; ++i)
    own.push_back(collectResult(launch, i));
  plan.places[launch] = own;
}

/// Where a result lies; one in an arena gets its offset when all are known.
Place MemoryPlanner::collectResult(kernel::LaunchOp launch, unsigned result) {
  bool top = launch->getParentOp() == function;
  Value value = launch.getResult(result);
  RankedTensorType type = tensorType(value);
  if (launch.getOnHostAttr()) // small, and not where the arenas are
    return InBlock();
  if (plan.flags.of.contains(value))
    return InFlag();
  if (!top) {
    if (auto over = overCarried(launch))
      return *over;
    if (!type.hasStaticShape())
      return InBlock();
    if (auto part = inPart(value))
      return *part;
    if (auto next = carriedOn(launch, result))
      return *next;
  } else if (auto over = overChanged(launch)) {
    return *over;
  } else if (auto output = outputOf(value)) {
    takenOutputs.insert(*output);
    return InOutput{*output};
  }
  auto share = type.hasStaticShape() ? std::nullopt : dynamicArena(launch, result);
  if (!type.hasStaticShape() && !share)
    return overAllocated(launch);
  unsigned at = liveness.position(launch);
  size_t arena = share ? share->first : 0;
  int64_t size = share ? share->second : llvm::alignTo(std::max<int64_t>(tensorBytes(type), 1), 64);
  if (top && moveIn(launch, arena, size))
    return InArena{arena, -1};
  tenants.push_back({launch, result, buffers.size()});
  bufferOf[value] = buffers.size();
  buffers.push_back({arena, size, -1, at, top ? std::max(at, liveness.lastUse(value)) : at});
  return InArena{arena, -1};
}

/// The value behind input `number` of `launch` if this is its last reader.
Value MemoryPlanner::dyingInput(kernel::LaunchOp launch, unsigned number) {
  Value input = storageOf(launch.getInputs()[number]);
  bool dies = input.getDefiningOp<kernel::LaunchOp>() &&
              input.getParentBlock() == launch->getBlock() &&
              liveness.lastUse(input) == liveness.position(launch) && !readsTwice(launch, input);
  return dies ? input : Value();
}

/// The dynamic arena of a result, and its size there. Sizes keep their alignment only
/// in multiples of 64 bytes: others are left to the run's heap.
std::optional<std::pair<size_t, int64_t>> MemoryPlanner::dynamicArena(kernel::LaunchOp launch,
                                                                      unsigned result) {
  auto sizes = launch.getSizes().begin();
  for (unsigned i = 0; i < result; ++i)
    sizes += tensorType(launch.getResult(i)).getNumDynamicDims();
  RankedTensorType type = tensorType(launch.getResult(result));
  int64_t bytes = elementBytes(type.getElementType());
  SmallVector<void *> extents;
  for (int64_t d : type.getShape())
    if (ShapedType::isDynamic(d))
      extents.push_back((*sizes++).getAsOpaquePointer());
    else if (llvm::MulOverflow(bytes, d, bytes))
      return std::nullopt;
  if (bytes == 0 || bytes % 64)
    return std::nullopt;
  llvm::sort(extents);
  size_t arena = llvm::find(factors, extents) - factors.begin();
  if (arena == factors.size())
    factors.push_back(extents);
  return std::pair(arena + 1, bytes);
}

/// Puts the one result of `launch` into the buffer of an input that dies there.
bool MemoryPlanner::moveIn(kernel::LaunchOp launch, size_t arena, int64_t size) {
  for (unsigned number : overwritable(launch)) {
    auto found = bufferOf.find(dyingInput(launch, number));
    if (found == bufferOf.end() || buffers[found->second].arena != arena ||
        buffers[found->second].size != size)
      continue;
    size_t buffer = found->second;
    tenants.push_back({launch, 0, buffer});
    bufferOf[launch.getResult(0)] = buffer;
    buffers[buffer].last =
        std::max(liveness.position(launch), liveness.lastUse(launch.getResult(0)));
    return true;
  }
  return false;
}

/// The same for a result of dynamic shape: over an input that was allocated.
Place MemoryPlanner::overAllocated(kernel::LaunchOp launch) {
  for (unsigned number : overwritable(launch)) {
    auto input = dyn_cast_or_null<OpResult>(dyingInput(launch, number));
    if (!input || tensorType(input).hasStaticShape())
      continue;
    const Place &place = plan.places[input.getOwner()][input.getResultNumber()];
    if (std::holds_alternative<InBlock>(place) || std::holds_alternative<OverInput>(place))
      return OverInput{number};
  }
  return InBlock();
}

/// Whether the last reader of `value` is `launch`, and nobody else reads it there.
static bool isLastReader(const StorageLiveness &liveness, Value value, kernel::LaunchOp launch) {
  return liveness.lastReader(value) == launch.getOperation() && !readsTwice(launch, value);
}

/// What a loop carries lies in a block of its own. The kernel of the loop's body that is the last
/// to read it may write over it; one of its condition may not, since the body reads it after that.
std::optional<OverInput> MemoryPlanner::overCarried(kernel::LaunchOp launch) {
  if (!isBodyOfLoop(launch->getParentRegion()))
    return std::nullopt;
  for (unsigned number : overwritable(launch)) {
    auto carried = dyn_cast<BlockArgument>(storageOf(launch.getInputs()[number]));
    if (carried && carried.getOwner() == launch->getBlock() &&
        isLastReader(StorageLiveness(*launch->getBlock()), carried, launch) &&
        takenCarried.insert(carried).second)
      return OverInput{number};
  }
  return std::nullopt;
}

/// Whether `op` is a loop whose first turn may go on in the block of `carried`.
static bool takesOver(Operation *op, Value carried) {
  auto loop = dyn_cast_or_null<prim::WhileOp>(op);
  return loop && llvm::any_of(loop.getInits(), [&](Value v) { return storageOf(v) == carried; });
}

/// What a loop's next turn begins with lies over what this turn began with, if that was read before
/// (the state of a recurrent layer, which only the product reads); or in a block of its own, so
/// that two blocks change places from turn to turn. Neither is copied.
std::optional<Place> MemoryPlanner::carriedOn(kernel::LaunchOp launch, unsigned result) {
  if (!isBodyOfLoop(launch->getParentRegion()))
    return std::nullopt;
  Value value = launch.getResult(result);
  Block &body = *launch->getBlock();
  for (auto [next, argument] : llvm::zip(body.getTerminator()->getOperands(), body.getArguments()))
    if (next == value && argument.getType() == value.getType()) {
      StorageLiveness turn(body);
      Operation *last = turn.lastReader(argument);
      if ((last && turn.position(last) >= turn.position(launch)) || takesOver(last, argument) ||
          !takenCarried.insert(argument).second)
        return InBlock();
      return OverCarried{argument.getArgNumber()};
    }
  return std::nullopt;
}

/// Where `value` is inserted, if nobody else reads it.
std::optional<InPart> MemoryPlanner::inPart(Value value) {
  if (!inPlace || !value.hasOneUse() || tensorBytes(tensorType(value)) % 64)
    return std::nullopt;
  auto reader = dyn_cast<kernel::LaunchOp>(*value.user_begin());
  if (!reader)
    return std::nullopt;
  std::optional<InsertedPart> part = InsertedPart::of(reader);
  if (!part || reader.getInputs()[part->part] != value ||
      part->elements * elementBytes(tensorType(value).getElementType()) % 64)
    return std::nullopt;
  plan.done.insert(reader);
  return InPart{reader};
}

/// The argument of the model whose new value a launch that changes a part of it makes.
std::optional<OverArgument> MemoryPlanner::overChanged(kernel::LaunchOp launch) {
  if (launch.getKind() != kernel::KernelKind::Special)
    return std::nullopt;
  Operation *end = function.getBody().front().getTerminator();
  Signature signature(function);
  for (unsigned number : overwritable(launch)) {
    auto argument = dyn_cast<BlockArgument>(storageOf(launch.getInputs()[number]));
    if (!argument || argument.getOwner() != &function.getBody().front() ||
        argument.getType() != launch.getResult(0).getType() ||
        !isLastReader(liveness, argument, launch))
      continue;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (signature.changedArgument(i) == argument.getArgNumber() &&
          storageOf(end->getOperand(i)) == launch.getResult(0))
        return OverArgument{number};
  }
  return std::nullopt;
}

int64_t MemoryPlanner::assignOffsets(size_t arena) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    if (buffer.arena == arena)
      order.push_back(&buffer);
  // Equal sizes in program order, which is that of their addresses.
  llvm::sort(order,
             [](Buffer *a, Buffer *b) { return a->size != b->size ? a->size > b->size : a < b; });
  SmallVector<Buffer *> placed; // by offset
  int64_t size = 0;
  for (Buffer *buffer : order) {
    int64_t offset = 0;
    for (Buffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (offset + buffer->size <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->size);
    }
    buffer->offset = offset;
    size = std::max(size, offset + buffer->size);
    placed.insert(llvm::upper_bound(placed, buffer,
                                    [](Buffer *a, Buffer *b) { return a->offset < b->offset; }),
                  buffer);
  }
  return size;
}

StoragePlan MemoryPlanner::run() {
  function.walk([&](kernel::LaunchOp launch) { collect(launch); });
  for (size_t arena = 0; arena <= factors.size(); ++arena)
    plan.arenas.push_back(assignOffsets(arena));
  for (const Tenant &tenant : tenants) {
    const Buffer &buffer = buffers[tenant.buffer];
    plan.places[tenant.launch][tenant.result] = InArena{buffer.arena, buffer.offset};
  }
  return std::move(plan);
}

StoragePlan plan::planStorage(func::FuncOp function, bool inPlace, CheckFlags flags) {
  return MemoryPlanner(function, inPlace, std::move(flags)).run();
}
