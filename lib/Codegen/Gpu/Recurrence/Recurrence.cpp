//===- Recurrence.cpp - Which loops are a kernel, and how it is cut -------===//
//
// A recurrent layer is a loop of small products: a turn of two launches takes 3 to 4 us, whatever
// they compute. Rows of the batch do not depend on each other, so a block can take some of them
// through all turns, with the matrices in its registers and shared memory: nobody waits for another
// block, and a turn takes two barriers.
//
//===----------------------------------------------------------------------===//
#include "Recurrence.h"
#include "../ClusterExchange.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

int64_t Recurrence::Phase::offsetOf(prim::DotOp product) const {
  int64_t offset = 0;
  for (prim::DotOp other : products) {
    if (other == product)
      break;
    offset += tensorType(other.getResult()).getDimSize(1);
  }
  return offset;
}

Type Recurrence::Phase::element() const {
  return tensorType(prim::DotOp(products.front()).getRhs()).getElementType();
}

int64_t Recurrence::units(unsigned number) const {
  return tensorType(stateIn(number)).getDimSize(1);
}

static bool isFloatOf(Type type, bool narrowToo) {
  return type.isF32() || (narrowToo && (type.isF16() || type.isBF16()));
}

namespace {

/// Reads the loop's body, operator by operator.
class RecurrenceReader {
public:
  explicit RecurrenceReader(prim::WhileOp loop) { r.loop = loop; }
  std::optional<Recurrence> read();

private:
  bool readCounter();
  bool readCarried();
  bool readSequence(unsigned number);
  bool readBody();
  bool readProduct(prim::DotOp dot);
  int64_t commonUnits() const;
  bool isRows(Value v) const {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && type.getRank() == 2 && type.hasStaticShape() && type.getDimSize(0) == r.batch;
  }

  Recurrence r;
  DenseMap<Value, unsigned> depends; ///< on states: the phases before it
  llvm::SmallPtrSet<Operation *, 4> written;
};

} // namespace

/// A counter from 0 in steps of one, below a constant.
bool RecurrenceReader::readCounter() {
  Block &condition = r.loop.getCondition().front();
  auto compare = condition.getTerminator()->getOperand(0).getDefiningOp<arith::CmpIOp>();
  auto counter = compare ? dyn_cast<BlockArgument>(compare.getLhs()) : BlockArgument();
  if (!counter || counter.getOwner() != &condition ||
      compare.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  r.counter = counter.getArgNumber();
  auto turns = getConstantIntValue(compare.getRhs());
  auto next = r.stateOut(r.counter).getDefiningOp<arith::AddIOp>();
  if (!turns || *turns < 1 || !next || next.getLhs() != r.stateIn(r.counter) ||
      getConstantIntValue(next.getRhs()) != 1 ||
      getConstantIntValue(r.loop.getInits()[r.counter]) != 0)
    return false;
  r.turns = *turns;
  return true;
}

/// Every turn writes another place of the axis, and all of them all places.
bool RecurrenceReader::readSequence(unsigned number) {
  auto part = r.stateOut(number).getDefiningOp<prim::InsertSliceOp>();
  Value given = r.stateIn(number);
  if (!part || part.getX() != given || !given.hasOneUse() || !part->hasOneUse())
    return false;
  auto type = tensorType(given), update = tensorType(part.getUpdate());
  int axis = -1;
  for (auto [i, start] : llvm::enumerate(part.getMixedStarts())) {
    if (part.getSteps()[i] != 1)
      return false;
    if (getConstantIntValue(start) == 0 && update.getDimSize(i) == type.getDimSize(i))
      continue;
    if (axis >= 0 || update.getDimSize(i) != 1 || type.getDimSize(i) != r.turns)
      return false;
    axis = int(i);
    // The counter, or what is left of it.
    auto value = dyn_cast<Value>(start);
    if (value && value == r.stateIn(r.counter))
      continue;
    auto left = value ? value.getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    if (!left || left.getRhs() != r.stateIn(r.counter) ||
        getConstantIntValue(left.getLhs()) != r.turns - 1)
      return false;
  }
  Value row = part.getUpdate();
  while (auto reshape = row.getDefiningOp<prim::ReshapeOp>()) {
    written.insert(reshape);
    row = reshape.getX();
  }
  SmallVector<int64_t> rest(type.getShape());
  if (axis < 0)
    return false;
  rest.erase(rest.begin() + axis);
  if (!isRows(row) || rest != SmallVector<int64_t>(tensorType(row).getShape()))
    return false;
  written.insert(part);
  r.sequences.push_back({number, part, unsigned(axis), row});
  return true;
}

bool RecurrenceReader::readCarried() {
  for (auto [number, argument] : llvm::enumerate(r.body().getArguments())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isState = type && type.getRank() == 2 && type.hasStaticShape() &&
                   isFloatOf(type.getElementType(), true) &&
                   !isa_and_nonnull<prim::InsertSliceOp>(r.stateOut(number).getDefiningOp());
    if (!isState)
      continue;
    if (r.batch && r.batch != type.getDimSize(0))
      return false;
    r.batch = type.getDimSize(0);
    r.states.push_back(number);
    depends[argument] = 0;
  }
  if (r.states.empty() || r.batch < 1)
    return false;
  for (unsigned number = 0; number < r.body().getNumArguments(); ++number)
    if (number != r.counter && !llvm::is_contained(r.states, number) && !readSequence(number))
      return false;
  return llvm::all_of(r.states, [&](unsigned number) { return isRows(r.stateOut(number)); });
}

bool RecurrenceReader::readProduct(prim::DotOp dot) {
  auto right = dyn_cast<BlockArgument>(dot.getRhs());
  auto matrix = tensorType(dot.getRhs());
  bool plain = right && right.getOwner() == r.loop->getBlock() && matrix.getRank() == 2 &&
               !prim::layoutOf(matrix) && dot.getLhsBatch().empty() &&
               dot.getLhsContract() == ArrayRef<int64_t>{1} &&
               dot.getRhsContract() == ArrayRef<int64_t>{1};
  Type sum = sumType(tensorType(dot.getResult()).getElementType());
  if (!plain || !isRows(dot.getLhs()) || !isFloatOf(matrix.getElementType(), true) || !sum.isF32())
    return false;
  unsigned first = depends.lookup(dot.getLhs());
  auto *phase = llvm::find_if(r.phases, [&](const Recurrence::Phase &p) {
    return p.left == dot.getLhs() && p.element() == matrix.getElementType();
  });
  if (phase == r.phases.end()) {
    // Phases are computed in the order in which they are found here.
    r.phases.push_back({dot.getLhs(), {}, 0, matrix.getDimSize(1)});
    phase = &r.phases.back();
  }
  phase->products.push_back(dot);
  phase->columns += matrix.getDimSize(0);
  depends[dot.getResult()] = std::max(first, unsigned(phase - r.phases.begin()) + 1);
  return true;
}

bool RecurrenceReader::readBody() {
  for (Operation &op : r.body().without_terminator()) {
    if (op.getNumRegions() || op.getNumResults() != 1)
      return false;
    if (written.contains(&op))
      continue;
    unsigned phase = 0;
    bool onState = false;
    for (Value operand : op.getOperands())
      if (auto it = depends.find(operand); it != depends.end()) {
        onState = true;
        phase = std::max(phase, it->second);
      }
    Value result = op.getResult(0);
    if (!isa<RankedTensorType>(result.getType())) {
      if (onState || !isMemoryEffectFree(&op))
        return false;
      continue;
    }
    if (!tensorType(result).hasStaticShape())
      return false;
    if (auto dot = dyn_cast<prim::DotOp>(op)) {
      if (!onState || !readProduct(dot))
        return false;
      continue;
    }
    if (!onState) {
      // What the turn reads beside its state.
      if (!prim::isElementwise(&op) && !isa<prim::SliceOp, prim::ReshapeOp, prim::BroadcastOp,
                                            prim::TransposeOp, prim::ConstantOp, prim::IotaOp>(op))
        return false;
      continue;
    }
    auto slice = dyn_cast<prim::SliceOp>(op);
    bool keepsRows = prim::isElementwise(&op);
    if (slice)
      keepsRows = llvm::all_of(slice.getMixedStarts(),
                               [](OpFoldResult s) { return getConstantIntValue(s).has_value(); }) &&
                  getConstantIntValue(slice.getMixedStarts()[0]) == 0 && slice.getSteps()[0] == 1 &&
                  isRows(slice.getX());
    if (!keepsRows || !isRows(result))
      return false;
    depends[result] = phase;
  }
  return !r.phases.empty();
}

int64_t RecurrenceReader::commonUnits() const {
  int64_t units = r.units(r.states.front());
  auto are = [&](Value v) { return tensorType(v).getDimSize(1) == units; };
  auto areGates = [&](Value v) { return tensorType(v).getDimSize(1) % units == 0; };
  if (!llvm::all_of(r.states, [&](unsigned number) { return are(r.stateIn(number)); }) ||
      !llvm::all_of(r.sequences, [&](const Recurrence::Sequence &s) { return are(s.row); }) ||
      !llvm::all_of(r.phases, [&](const Recurrence::Phase &p) { return are(p.left); }))
    return 0;
  for (Operation &op : r.body().without_terminator()) {
    auto slice = dyn_cast<prim::SliceOp>(op);
    if (op.getNumResults() != 1 || !depends.contains(op.getResult(0)))
      continue;
    if (!areGates(op.getResult(0)))
      return 0;
    if (slice &&
        (*getConstantIntValue(slice.getMixedStarts()[1]) % units != 0 || slice.getSteps()[1] != 1))
      return 0;
  }
  return units;
}

std::optional<Recurrence> RecurrenceReader::read() {
  if (!readCounter() || !readCarried() || !readBody())
    return std::nullopt;
  r.commonUnits = commonUnits();
  return std::move(r);
}

std::optional<Recurrence> Recurrence::of(prim::WhileOp loop) {
  return RecurrenceReader(loop).read();
}

int64_t RecurrencePlan::farChunks() const {
  int64_t all = 0;
  for (const Part &part : parts)
    all += part.chunks - part.kept - part.near;
  return all;
}

std::optional<RecurrencePlan> RecurrencePlan::of(const Recurrence &r, unsigned rows, unsigned split,
                                                 const GpuArch &arch, bool far) {
  // Registers of a thread beside its weights, of one row and for each more. With fewer of them more
  // forms spill, which is better than a loop of the host where shared memory has no more room.
  constexpr int64_t kOthers = 80, kOfRow[] = {12, 4}, kMostRegisters = 248;
  for (int64_t ofRow : kOfRow) {
    std::optional<RecurrencePlan> plan = of(r, rows, 0, split, arch.sharedBytes);
    if (!plan)
      return std::nullopt;
    // Each of four schedulers has as many warps as the one with the most.
    int64_t given = int64_t(llvm::alignTo(plan->threads, 4 * GpuArch::warp));
    int64_t registers = std::min(kMostRegisters, GpuArch::registers / given / 8 * 8);
    int64_t words = registers - kOthers - (int64_t(rows) - 1) * ofRow;
    plan = of(r, rows, unsigned(std::max<int64_t>(0, words)), split, arch.sharedBytes);
    if (plan && (far || plan->farChunks() == 0))
      return plan;
  }
  return std::nullopt;
}

/// Of a turn: what is multiplied, and read of states and weights in shared memory, where a warp
/// takes two cycles to read four elements of a state. Fitted to layers of 64 to 256 units, on an
/// H200.
double RecurrencePlan::turnCycles(const Recurrence &r) const {
  constexpr double kMultiplied = 128, kRead = 64, kBytes = 128, kTurn = 900, kExchange = 220;
  double cycles = split > 1 ? kTurn + kExchange : kTurn;
  for (auto [phase, part] : llvm::zip(r.phases, parts)) {
    double products = rows * double(own(phase.columns)) * double(phase.inner);
    double bytes = tcc::elementBytes(phase.element());
    cycles += products / kMultiplied + products / kRead;
    cycles += part.near * bytes * chunk * threads / kBytes;
  }
  return cycles;
}

std::optional<RecurrencePlan> RecurrencePlan::of(const Recurrence &r, const GpuArch &arch) {
  constexpr int64_t kMostRows = 4;
  std::optional<RecurrencePlan> best;
  double least = 0;
  for (unsigned split = 1; split <= arch.largestCluster(); split *= 2) {
    if (best && split > GpuArch::portableCluster)
      break;
    if (split > 1 && (!arch.clusters() || r.commonUnits == 0))
      break;
    // Pairs of multiprocessors are always there. Parts of a GPU have as many as larger clusters do
    // not divide, and one GPU of a kind fewer than another.
    int64_t usable = arch.multiprocessors / split;
    if (split > 2)
      usable = usable * 3 / 4;
    int64_t waves = llvm::divideCeil(r.batch, usable * kMostRows);
    if (split == 1 && waves > 1)
      continue;
    auto rows = unsigned(llvm::divideCeil(r.batch, usable * waves));
    std::optional<RecurrencePlan> plan = of(r, rows, split, arch, /*far=*/false);
    if (plan && split > GpuArch::portableCluster && !plan->narrow(r, arch))
      continue;
    double cycles = plan ? double(waves) * plan->turnCycles(r) : 0;
    if (!plan || (best && cycles >= least))
      continue;
    best = plan;
    least = cycles;
  }
  return best;
}

std::optional<RecurrencePlan> RecurrencePlan::narrow(const Recurrence &r,
                                                     const GpuArch &arch) const {
  if (split <= GpuArch::portableCluster)
    return std::nullopt;
  return of(r, rows, GpuArch::portableCluster, arch, /*far=*/true);
}

std::optional<RecurrencePlan> RecurrencePlan::of(const Recurrence &r, unsigned rows,
                                                 unsigned keptWords, unsigned split, int64_t room) {
  // Threads that a block rather has.
  constexpr int64_t kWanted = 512, kMostLanes = 8, kMostPoints = 8;
  RecurrencePlan plan;
  plan.rows = rows;
  plan.split = split;
  if (split > 1) {
    plan.allUnits = r.commonUnits;
    plan.units = llvm::divideCeil(r.commonUnits, split);
    if ((split - 1) * plan.units >= plan.allUnits)
      return std::nullopt;
  }
  int64_t threads = GpuArch::warp;
  for (const Recurrence::Phase &phase : r.phases) {
    int64_t lanes = 1, columns = plan.own(phase.columns);
    while (lanes < kMostLanes && 2 * lanes * columns <= kWanted && 2 * lanes * chunk <= phase.inner)
      lanes *= 2;
    plan.parts.push_back({unsigned(lanes), 0, 0, 0, 0});
    threads = std::max(threads, int64_t(llvm::alignTo(lanes * columns, GpuArch::warp)));
  }
  if (threads > GpuArch::threads)
    return std::nullopt;
  plan.threads = unsigned(threads);
  plan.keptWords = keptWords;
  int64_t words = keptWords, bytes = 0;
  // Each list begins at a multiple of 16 bytes.
  auto take = [&](int64_t more) { bytes += int64_t(llvm::alignTo(more, GpuArch::accessBytes)); };
  for (auto [phase, part] : llvm::zip(r.phases, plan.parts)) {
    int64_t chunkWords = tcc::elementBytes(phase.element()) * chunk / 4;
    part.chunks = unsigned(llvm::divideCeil(phase.inner, chunk * part.lanes));
    part.width = part.chunks * chunk * part.lanes;
    part.kept = unsigned(std::min<int64_t>(part.chunks, words / chunkWords));
    words -= part.kept * chunkWords;
    take(rows * plan.own(phase.columns) * 4); // sums
    take(rows * part.width * 4);              // a left operand that is no state
    if (split > 1)
      take(ClusterExchange::bytesOfBarrier);
  }
  for (unsigned number : r.states) {
    int64_t units = r.units(number);
    for (auto [phase, part] : llvm::zip(r.phases, plan.parts))
      if (phase.left == r.stateIn(number))
        units = std::max<int64_t>(units, part.width);
    take(2 * rows * int64_t(llvm::alignTo(units, chunk)) * 4);
    if (rows * r.units(number) > kMostPoints * threads)
      return std::nullopt;
  }
  if (split > 1)
    take(2 * ClusterExchange::bytesOfBarrier);
  if (bytes > room)
    return std::nullopt;
  for (auto [phase, part] : llvm::zip(r.phases, plan.parts)) {
    int64_t ofChunk = tcc::elementBytes(phase.element()) * chunk * threads;
    part.near = unsigned(std::min<int64_t>(part.chunks - part.kept, (room - bytes) / ofChunk));
    bytes += part.near * ofChunk;
  }
  plan.sharedBytes = bytes;
  return plan;
}

prim::WhileOp device::loopOf(kernel::LaunchOp launch) {
  if (launch.getKind() != kernel::KernelKind::Special)
    return {};
  return dyn_cast_or_null<prim::WhileOp>(kernel::specialOf(launch));
}

void device::scheduleRecurrence(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  std::optional<Recurrence> r = Recurrence::of(loopOf(launch));
  std::optional<RecurrencePlan> plan = r ? RecurrencePlan::of(*r, arch) : std::nullopt;
  if (!plan)
    return;
  s.form = Form::Line;
  s.threads = s.rowThreads = plan->threads;
  s.rows = plan->rows;
  s.split = plan->split;
  s.kept = plan->keptWords;
  s.sharedBytes = unsigned(plan->sharedBytes);
  std::optional<RecurrencePlan> narrow = plan->narrow(*r, arch);
  // The counter is an index, and small.
  constexpr int64_t kMost = int64_t(1) << 30;
  auto isSmall = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || (tensor.hasStaticShape() && tensor.getNumElements() < kMost);
  };
  if (llvm::all_of(launch->getOperandTypes(), isSmall) &&
      llvm::all_of(launch.getResultTypes(), isSmall))
    s.indexBits = 32;
  if (!narrow)
    return;
  ScheduleChoice other = s;
  other.threads = other.rowThreads = narrow->threads;
  other.split = narrow->split;
  other.kept = narrow->keptWords;
  other.sharedBytes = unsigned(narrow->sharedBytes);
  s.narrow = other.attr(launch.getContext());
}
