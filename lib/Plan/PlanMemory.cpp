//===- PlanMemory.cpp - One arena by liveness -----------------------------===//
//
// Results of static size share one arena. Each is live from its launch to the
// last reader of it or of a reshape of it; nested blocks count as their op in the
// top block. A kernel that reads a dying buffer point by point writes over it
// (InPlace.h): the two are one buffer with one longer life. Largest first, each goes
// to the lowest offset that no live neighbour occupies: greedy by size (Pisarchyk and Lee,
// Efficient Memory Management for Deep Neural Net Inference, 2020), within a few percent of the
// lower bound on real models.
//
//===----------------------------------------------------------------------===//
#include "Plan/InPlace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Kernel/Places.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Plan/Plan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

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
  explicit MemoryPlanner(func::FuncOp function) : function(function) {
    unsigned n = 0;
    for (Operation &op : function.getBody().front())
      positions[&op] = n++;
  }
  /// The sizes of the arenas, the static one first.
  SmallVector<int64_t> run();

private:
  unsigned positionOf(Operation *op) {
    return positions[function.getBody().front().findAncestorOpInBlock(*op)];
  }
  unsigned lastUse(Value value);
  int64_t outputOf(Value value);
  /// The other results are new values of arguments, which are written at the end.
  bool isOutput(unsigned result) { return !function.getResultAttr(result, graph::kMutatesAttr); }
  void collect(kernel::LaunchOp launch);
  Value dyingInput(kernel::LaunchOp launch, unsigned number);
  bool moveIn(kernel::LaunchOp launch, size_t arena, int64_t size);
  std::optional<std::pair<size_t, int64_t>> dynamicArena(kernel::LaunchOp launch, unsigned result);
  int64_t allocatedPlace(kernel::LaunchOp launch);
  int64_t carriedPlace(kernel::LaunchOp launch);
  int64_t assignOffsets(size_t arena);

  func::FuncOp function;
  DenseMap<Operation *, unsigned> positions;
  std::vector<Buffer> buffers;
  std::vector<Tenant> tenants;
  DenseMap<Value, size_t> bufferOf; ///< of results, the last tenants
  DenseMap<Operation *, SmallVector<int64_t>> places;
  /// The unknown extents of each dynamic arena, sorted.
  std::vector<SmallVector<void *>> factors;
  DenseSet<int64_t> takenOutputs;
};

} // namespace

unsigned MemoryPlanner::lastUse(Value value) {
  unsigned last = 0;
  for (Operation *user : value.getUsers()) {
    last = std::max(last, positionOf(user));
    if (isa<prim::ReshapeOp>(user))
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
}

/// The output that `value` (or a static reshape of it) is, or -1.
int64_t MemoryPlanner::outputOf(Value value) {
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &use : value.getUses()) {
    if (use.getOwner() == end && isOutput(use.getOperandNumber()) &&
        !takenOutputs.contains(use.getOperandNumber()))
      return use.getOperandNumber();
    if (auto reshape = dyn_cast<prim::ReshapeOp>(use.getOwner()))
      if (cast<RankedTensorType>(reshape.getType()).hasStaticShape())
        if (int64_t k = outputOf(reshape.getResult()); k >= 0)
          return k;
  }
  return -1;
}

/// Whether several inputs of `launch` are views of `buffer`.
static bool readsTwice(kernel::LaunchOp launch, Value buffer) {
  unsigned readers = 0;
  for (Value input : launch.getInputs()) {
    while (auto reshape = input.getDefiningOp<prim::ReshapeOp>())
      input = reshape.getX();
    readers += input == buffer;
  }
  return readers > 1;
}

void MemoryPlanner::collect(kernel::LaunchOp launch) {
  bool top = launch->getParentOp() == function;
  SmallVector<int64_t> own;
  for (auto [i, value] : llvm::enumerate(launch.getResults())) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t output = top ? outputOf(value) : -1;
    if (output >= 0) {
      takenOutputs.insert(output);
      own.push_back(kOutputPlace - output);
      continue;
    }
    auto share = type.hasStaticShape() || !top ? std::nullopt : dynamicArena(launch, i);
    own.push_back(top ? kDynamicPlace : carriedPlace(launch));
    if (inputOfPlace(own.back()) >= 0)
      continue;
    if (!type.hasStaticShape() && !share) {
      own.back() = top ? allocatedPlace(launch) : kDynamicPlace;
      continue;
    }
    unsigned at = positionOf(launch);
    size_t arena = share ? share->first : 0;
    int64_t size =
        share ? share->second : llvm::alignTo(std::max<int64_t>(tensorBytes(type), 1), 64);
    if (top && moveIn(launch, arena, size))
      continue;
    tenants.push_back({launch, static_cast<unsigned>(i), buffers.size()});
    bufferOf[value] = buffers.size();
    buffers.push_back({arena, size, -1, at, top ? std::max(at, lastUse(value)) : at});
  }
  places[launch] = own;
}

/// The value behind input `number` of `launch` if this is its last reader.
Value MemoryPlanner::dyingInput(kernel::LaunchOp launch, unsigned number) {
  Value input = launch.getInputs()[number];
  while (auto reshape = input.getDefiningOp<prim::ReshapeOp>())
    input = reshape.getX();
  bool dies = input.getDefiningOp<kernel::LaunchOp>() &&
              input.getParentBlock() == launch->getBlock() &&
              lastUse(input) == positionOf(launch) && !readsTwice(launch, input);
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
  for (unsigned number : plan::overwritableInputs(launch)) {
    auto found = bufferOf.find(dyingInput(launch, number));
    if (found == bufferOf.end() || buffers[found->second].arena != arena ||
        buffers[found->second].size != size)
      continue;
    size_t buffer = found->second;
    tenants.push_back({launch, 0, buffer});
    bufferOf[launch.getResult(0)] = buffer;
    buffers[buffer].last = std::max(positionOf(launch), lastUse(launch.getResult(0)));
    return true;
  }
  return false;
}

/// The same for a result of dynamic shape: over an input that was allocated.
int64_t MemoryPlanner::allocatedPlace(kernel::LaunchOp launch) {
  for (unsigned number : plan::overwritableInputs(launch)) {
    auto input = dyn_cast_or_null<OpResult>(dyingInput(launch, number));
    if (!input || bufferOf.contains(input))
      continue;
    int64_t place = places[input.getOwner()][input.getResultNumber()];
    if (place == kDynamicPlace || inputOfPlace(place) >= 0)
      if (!tensorType(input).hasStaticShape())
        return kInputPlace + number;
  }
  return kDynamicPlace;
}

/// What a loop carries lies in a block of its own. A kernel of the loop's body that is
/// the only one to need it may write over it.
int64_t MemoryPlanner::carriedPlace(kernel::LaunchOp launch) {
  for (unsigned number : plan::overwritableInputs(launch)) {
    auto carried = dyn_cast<BlockArgument>(launch.getInputs()[number]);
    if (!carried || carried.getOwner() != launch->getBlock() ||
        !isa<prim::WhileOp>(launch->getParentOp()))
      continue;
    if (llvm::count_if(carried.getUses(),
                       [](OpOperand &use) { return !isa<prim::DimOp>(use.getOwner()); }) == 1)
      return kInputPlace + number;
  }
  return kDynamicPlace;
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

SmallVector<int64_t> MemoryPlanner::run() {
  function.walk([&](kernel::LaunchOp launch) { collect(launch); });
  SmallVector<int64_t> sizes;
  for (size_t arena = 0; arena <= factors.size(); ++arena)
    sizes.push_back(assignOffsets(arena));
  DenseMap<Operation *, SmallVector<int64_t>> arenas;
  for (const Tenant &tenant : tenants) {
    const Buffer &buffer = buffers[tenant.buffer];
    places[tenant.launch][tenant.result] = buffer.offset;
    SmallVector<int64_t> &own = arenas[tenant.launch];
    own.resize(places[tenant.launch].size());
    own[tenant.result] = static_cast<int64_t>(buffer.arena);
  }
  MLIRContext *context = function.getContext();
  for (auto &[op, list] : places) {
    op->setAttr(kPlacesAttr, DenseI64ArrayAttr::get(context, list));
    if (auto own = arenas.lookup(op); llvm::any_of(own, [](int64_t arena) { return arena > 0; }))
      op->setAttr(kArenasAttr, DenseI64ArrayAttr::get(context, own));
  }
  return sizes;
}

namespace {

class PlanMemoryPass : public PassWrapper<PlanMemoryPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemoryPass)
  StringRef getArgument() const override { return "tcc-plan-memory"; }
  StringRef getDescription() const override {
    return "Place the results of kernels in one arena by liveness";
  }
  void runOnOperation() override {
    SmallVector<int64_t> sizes = {0};
    for (auto function : getOperation().getOps<func::FuncOp>()) // there is one
      sizes = MemoryPlanner(function).run();
    Builder b(&getContext());
    getOperation()->setAttr(kArenaSizeAttr, b.getI64IntegerAttr(sizes[0]));
    if (sizes.size() > 1)
      getOperation()->setAttr(kDynamicArenasAttr,
                              b.getDenseI64ArrayAttr(ArrayRef(sizes).drop_front()));
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createPlanMemoryPass() { return std::make_unique<PlanMemoryPass>(); }
