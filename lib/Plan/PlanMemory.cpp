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
  int64_t run();

private:
  unsigned positionOf(Operation *op) {
    return positions[function.getBody().front().findAncestorOpInBlock(*op)];
  }
  unsigned lastUse(Value value);
  int64_t outputOf(Value value);
  void collect(kernel::LaunchOp launch);
  Value dyingInput(kernel::LaunchOp launch, unsigned number);
  bool moveIn(kernel::LaunchOp launch, int64_t size);
  int64_t allocatedPlace(kernel::LaunchOp launch);
  int64_t assignOffsets();

  func::FuncOp function;
  DenseMap<Operation *, unsigned> positions;
  std::vector<Buffer> buffers;
  std::vector<Tenant> tenants;
  DenseMap<Value, size_t> bufferOf; ///< of results, the last tenants
  DenseMap<Operation *, SmallVector<int64_t>> places;
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
    if (use.getOwner() == end && !takenOutputs.contains(use.getOperandNumber()))
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
    bool isStatic = type.hasStaticShape();
    own.push_back(isStatic || !top ? kDynamicPlace : allocatedPlace(launch));
    if (!isStatic)
      continue;
    unsigned at = positionOf(launch);
    int64_t size = llvm::alignTo(std::max<int64_t>(tensorBytes(type), 1), 64);
    if (top && moveIn(launch, size))
      continue;
    tenants.push_back({launch, static_cast<unsigned>(i), buffers.size()});
    bufferOf[value] = buffers.size();
    buffers.push_back({size, -1, at, top ? std::max(at, lastUse(value)) : at});
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

/// Puts the one result of `launch` into the buffer of an input that dies there.
bool MemoryPlanner::moveIn(kernel::LaunchOp launch, int64_t size) {
  for (unsigned number : plan::overwritableInputs(launch)) {
    auto found = bufferOf.find(dyingInput(launch, number));
    if (found == bufferOf.end() || buffers[found->second].size != size)
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
    if (!input)
      continue;
    int64_t place = places[input.getOwner()][input.getResultNumber()];
    if (place == kDynamicPlace || inputOfPlace(place) >= 0)
      if (!tensorType(input).hasStaticShape())
        return kInputPlace + number;
  }
  return kDynamicPlace;
}

int64_t MemoryPlanner::assignOffsets() {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->size > b->size; });
  SmallVector<Buffer *> placed; // by offset
  int64_t arena = 0;
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
    arena = std::max(arena, offset + buffer->size);
    placed.insert(llvm::upper_bound(placed, buffer,
                                    [](Buffer *a, Buffer *b) { return a->offset < b->offset; }),
                  buffer);
  }
  return arena;
}

int64_t MemoryPlanner::run() {
  function.walk([&](kernel::LaunchOp launch) { collect(launch); });
  int64_t arena = assignOffsets();
  for (const Tenant &tenant : tenants)
    places[tenant.launch][tenant.result] = buffers[tenant.buffer].offset;
  for (auto &[op, list] : places)
    op->setAttr(kPlacesAttr, DenseI64ArrayAttr::get(op->getContext(), list));
  return arena;
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
    int64_t arena = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      arena = std::max(arena, MemoryPlanner(function).run());
    Builder b(&getContext());
    getOperation()->setAttr(kArenaSizeAttr, b.getI64IntegerAttr(arena));
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createPlanMemoryPass() { return std::make_unique<PlanMemoryPass>(); }
