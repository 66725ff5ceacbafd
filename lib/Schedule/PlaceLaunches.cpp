//===- PlaceLaunches.cpp - Launches that belong on the host ---------------===//
//
// On a machine with a device, the host waits where it needs an extent or a condition that a kernel
// computes, and the device then for the host. Where what leads there is small, as shapes are, or a
// loop whose every turn depends on data, it takes less time on the host.
//
// Only launches that the host waits for may move: those that a read of data is computed from, and
// those of loops in which there is one. So nothing waits that did not wait before, and a model
// without such a read runs on the device alone.
//
// What is where is one minimum cut. Each launch is a node, and so is each tensor that a loop
// carries, a branch gives or the model takes. A launch costs what it takes on its side, by the
// models of both targets; a tensor that is read on the other side is moved once, which costs the
// wait, or what a copy to the device takes, and its bytes; and a read on the host of what lies on
// the device costs the wait. Whatever stands in a loop counts for the turns that it probably has.
// The device wins where little is gained, since extents that are open may be large.
//
//===----------------------------------------------------------------------===//
#include "MinimumCut.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/StorageLiveness.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Schedule/Schedule.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_PLACELAUNCHESPASS
#include "tcc/Schedule/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::schedule;
using kernel::Place;

namespace {

constexpr double kTurns = 16;         // that a loop probably has
constexpr int64_t kOpenExtent = 4096; // what an open extent may well be
constexpr double kHostPrice = 1.25;   // what the host must be better by
constexpr double kHostLaunch = 100;   // nanoseconds of a call with few elements

/// A launch that may run on the host, and what it takes on both sides.
struct Candidate {
  kernel::Schedule schedule;
  double host, device;
};

class Placement {
public:
  Placement(func::FuncOp function, const ScheduleModel &device, const ScheduleModel &host)
      : function(function), device(device), host(host), crossing(*device.crossingTimes()) {}
  void run();

private:
  void findCandidates(ArrayRef<prim::ExtractOp> reads);
  void addCandidate(kernel::LaunchOp launch);
  void addMakersOf(Value tensor);
  std::optional<MinimumCut::Node> nodeOf(Value storage);
  MinimumCut::Node nodeOf(kernel::LaunchOp launch);
  void addCosts();
  void addReader(Value tensor, MinimumCut::Node reader);
  void addReadersOf(Operation *op);
  void addArgument(BlockArgument argument);
  void record();
  void moveOperands(Operation *op);
  void move(OpOperand &operand, bool toHost);
  bool isOnHost(Value tensor);

  func::FuncOp function;
  const ScheduleModel &device, &host;
  ScheduleModel::CrossingTimes crossing;
  llvm::MapVector<Operation *, Candidate> candidates;
  DenseSet<Value> traced;
  MinimumCut cut;
  DenseMap<Value, MinimumCut::Node> nodes; ///< of tensors; of a launch its first result
  struct Copies {
    MinimumCut::Node onHost, onDevice; ///< of a tensor for readers of the side
  };
  DenseMap<Value, Copies> copies;
  DenseMap<std::pair<Value, unsigned>, Value> moved; ///< and whether to the host
};

} // namespace

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

static int64_t rounded(double nanoseconds) {
  return static_cast<int64_t>(std::min(nanoseconds, 1e12));
}

static double bytesOf(Value tensor) { return typicalBytes(tensorType(tensor), kOpenExtent); }

/// How often what stands in `block` is done in a run.
static double timesOf(Block *block) {
  double times = 1;
  for (Operation *op = block->getParentOp(); op && !isa<func::FuncOp>(op); op = op->getParentOp())
    times *= isa<prim::WhileOp>(op) ? kTurns : 1;
  return times;
}

/// What a model says, whose open extents are typical ones, for large ones; `start` is of the
/// launch.
static double nanoseconds(const ScheduleModel &model, kernel::LaunchOp launch,
                          std::optional<double> start = std::nullopt) {
  int64_t open = 0;
  for (TypeRange types :
       {TypeRange(launch.getInputs().getTypes()), TypeRange(launch->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        open = std::max<int64_t>(open, tensor.getNumDynamicDims());
  double more = std::pow(kOpenExtent / kTypicalExtent, static_cast<double>(open)), sum = 0;
  for (const ScheduleModel::TimePart &part : model.timeParts(launch))
    sum += part.what == "launch" ? start.value_or(part.nanoseconds) : part.nanoseconds * more;
  return sum;
}

//===----------------------------------------------------------------------===//
// What may move
//===----------------------------------------------------------------------===//

/// Whether `scalar` tells nothing but whether a run fails, which is asked when all is done.
static bool onlyChecks(Value scalar) {
  return llvm::all_of(scalar.getUsers(), [](Operation *user) {
    return isa<prim::AssertOp>(user) ||
           (user->getNumResults() == 1 && user->getNumRegions() == 0 && isPure(user) &&
            user->getResult(0).getType().isIntOrIndexOrFloat() && onlyChecks(user->getResult(0)));
  });
}

/// The loop whose turn `argument` is carried through; null for others.
static prim::WhileOp loopOf(BlockArgument argument) {
  return dyn_cast<prim::WhileOp>(argument.getOwner()->getParentOp());
}

/// What becomes result `number` of a loop or branch.
static SmallVector<Value> given(Operation *op, unsigned number) {
  SmallVector<Value> values;
  if (auto loop = dyn_cast<prim::WhileOp>(op)) {
    values.push_back(loop.getInits()[number]);
    values.push_back(loop.getBody().front().getTerminator()->getOperand(number));
  } else if (auto branch = dyn_cast<prim::IfOp>(op)) {
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      values.push_back(region->front().getTerminator()->getOperand(number));
  }
  return values;
}

void Placement::addCandidate(kernel::LaunchOp launch) {
  using kernel::KernelKind;
  constexpr KernelKind kinds[] = {KernelKind::Loop, KernelKind::Row, KernelKind::Special,
                                  KernelKind::Contraction};
  // Weights that lie as the device wants them.
  bool encoded = llvm::any_of(launch.getInputs().getTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getEncoding();
  });
  if (encoded || candidates.contains(launch.getOperation()) ||
      !llvm::is_contained(kinds, launch.getKind()))
    return;
  double onDevice = nanoseconds(device, launch);
  SmallVector<kernel::Schedule> ways = host.candidates(launch, ScheduleModel::Asked::Best);
  if (ways.empty())
    return;
  kernel::Schedule kept = launch.getScheduleAttr();
  launch.setScheduleAttr(ways.front());
  // The model's launch is a run of one kernel, with all that comes before and after.
  double onHost = nanoseconds(host, launch, kHostLaunch);
  candidates[launch.getOperation()] = {ways.front(), onHost, onDevice};
  launch.setScheduleAttr(kept);
}

/// The launches that `tensor` is computed by.
void Placement::addMakersOf(Value tensor) {
  SmallVector<Value> left{tensor};
  while (!left.empty()) {
    Value v = storageOf(left.pop_back_val());
    if (!isa<RankedTensorType>(v.getType()) || !traced.insert(v).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (auto loop = loopOf(argument))
        left.push_back(loop.getResult(argument.getArgNumber()));
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (auto launch = dyn_cast<kernel::LaunchOp>(op)) {
      addCandidate(launch);
      llvm::append_range(left, launch.getInputs());
    } else {
      llvm::append_range(left, given(op, cast<OpResult>(v).getResultNumber()));
    }
  }
}

void Placement::findCandidates(ArrayRef<prim::ExtractOp> reads) {
  for (prim::ExtractOp read : reads) {
    addMakersOf(read.getX());
    for (auto loop = read->getParentOfType<prim::WhileOp>(); loop;
         loop = loop->getParentOfType<prim::WhileOp>())
      loop.walk([&](kernel::LaunchOp launch) { addCandidate(launch); });
  }
}

//===----------------------------------------------------------------------===//
// The cut: nodes of its first side are on the host
//===----------------------------------------------------------------------===//

MinimumCut::Node Placement::nodeOf(kernel::LaunchOp launch) {
  auto [at, fresh] = nodes.try_emplace(launch.getResult(0));
  if (!fresh)
    return at->second;
  MinimumCut::Node node = at->second = cut.add();
  auto candidate = candidates.find(launch.getOperation());
  if (candidate == candidates.end()) {
    cut.cost(node, MinimumCut::second, MinimumCut::never);
    return node;
  }
  double times = timesOf(launch->getBlock());
  cut.cost(node, MinimumCut::second, rounded(times * kHostPrice * candidate->second.host));
  cut.cost(MinimumCut::first, node, rounded(times * candidate->second.device));
  return node;
}

/// Of what lies on one side; weights and constants lie on both.
std::optional<MinimumCut::Node> Placement::nodeOf(Value storage) {
  if (auto argument = dyn_cast<BlockArgument>(storage))
    if (auto loop = loopOf(argument))
      storage = loop.getResult(argument.getArgNumber());
  Operation *op = storage.getDefiningOp();
  if (auto launch = dyn_cast_or_null<kernel::LaunchOp>(op))
    return nodeOf(launch);
  if (isa_and_nonnull<prim::WeightOp, prim::ConstantOp>(op))
    return std::nullopt;
  auto [at, fresh] = nodes.try_emplace(storage);
  if (!fresh)
    return at->second;
  at->second = cut.add();
  MinimumCut::Node node = at->second;
  if (auto argument = dyn_cast<BlockArgument>(storage))
    addArgument(argument);
  return node;
}

/// The caller may have it on the device. What is changed, and what is kept from run to run, lies
/// where kernels write it.
void Placement::addArgument(BlockArgument argument) {
  constexpr double read = 0.9; // on the host where it is the same, as what only the host reads
  Signature signature(function);
  bool changed = signature.isState(argument.getArgNumber());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    changed |= signature.changedArgument(i) == argument.getArgNumber();
  cut.cost(nodes[argument], MinimumCut::second,
           changed ? MinimumCut::never
                   : rounded(read * (crossing.wait + crossing.byte * bytesOf(argument))));
}

/// A tensor is brought to the other side once, whoever reads it there.
void Placement::addReader(Value tensor, MinimumCut::Node reader) {
  Value storage = storageOf(tensor);
  std::optional<MinimumCut::Node> maker = nodeOf(storage);
  if (!maker || *maker == reader)
    return;
  auto [at, fresh] = copies.try_emplace(storage);
  if (fresh) {
    at->second = {cut.add(), cut.add()};
    double times = timesOf(storage.getParentBlock());
    double bytes = crossing.byte * bytesOf(storage);
    cut.cost(at->second.onHost, *maker, rounded(times * (crossing.wait + bytes)));
    cut.cost(*maker, at->second.onDevice, rounded(times * (crossing.send + bytes)));
  }
  cut.cost(reader, at->second.onHost, MinimumCut::never);
  cut.cost(at->second.onDevice, reader, MinimumCut::never);
}

void Placement::addReadersOf(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](kernel::LaunchOp launch) {
        MinimumCut::Node reader = nodeOf(launch);
        for (Value input : launch.getInputs())
          if (isa<RankedTensorType>(input.getType()))
            addReader(input, reader);
      })
      .Case([&](prim::ExtractOp read) {
        if (std::optional<MinimumCut::Node> maker = nodeOf(storageOf(read.getX())))
          cut.cost(MinimumCut::first, *maker, rounded(timesOf(read->getBlock()) * crossing.wait));
      })
      .Case<prim::WhileOp, prim::IfOp>([&](Operation *control) {
        for (Value result : control->getResults())
          if (isa<RankedTensorType>(result.getType()))
            for (Value v : given(control, cast<OpResult>(result).getResultNumber()))
              addReader(v, *nodeOf(result));
      })
      .Case([&](func::ReturnOp end) {
        for (Value v : end.getOperands())
          if (isa<RankedTensorType>(v.getType()))
            addReader(v, MinimumCut::second);
      });
}

void Placement::addCosts() {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    addReadersOf(op);
    return isa<kernel::LaunchOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
}

//===----------------------------------------------------------------------===//
// What was decided
//===----------------------------------------------------------------------===//

bool Placement::isOnHost(Value tensor) {
  std::optional<MinimumCut::Node> node = nodeOf(storageOf(tensor));
  return node && cut.isFirst(*node);
}

/// Before its first reader there; readers come in the order of the program.
void Placement::move(OpOperand &operand, bool toHost) {
  Value v = operand.get();
  Value &copy = moved[{v, toHost}];
  if (!copy) {
    Operation *reader = v.getParentBlock()->findAncestorOpInBlock(*operand.getOwner());
    OpBuilder b(reader);
    auto place = kernel::PlaceAttr::get(b.getContext(), toHost ? Place::Host : Place::Device);
    copy = kernel::MoveOp::create(b, reader->getLoc(), v.getType(), v, place);
  }
  operand.set(copy);
}

/// Brings what `op` reads to the side of its reader.
void Placement::moveOperands(Operation *op) {
  auto bring = [&](OpOperand &operand, bool toHost) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      return;
    bool both = !nodeOf(storageOf(operand.get()));
    if (both ? toHost : isOnHost(operand.get()) != toHost)
      move(operand, toHost);
  };
  Operation *parent = op->getParentOp();
  if (auto launch = dyn_cast<kernel::LaunchOp>(op)) {
    for (OpOperand &input : launch.getInputsMutable())
      bring(input, isOnHost(launch.getResult(0)));
  } else if (isa<prim::WhileOp>(op)) {
    for (OpOperand &init : op->getOpOperands())
      if (isa<RankedTensorType>(init.get().getType()))
        bring(init, isOnHost(op->getResult(init.getOperandNumber())));
  } else if (isa<prim::YieldOp>(op)) {
    for (OpOperand &next : op->getOpOperands())
      if (isa<RankedTensorType>(next.get().getType()))
        bring(next, isOnHost(parent->getResult(next.getOperandNumber())));
  }
}

void Placement::record() {
  SmallVector<Operation *> readers;
  Builder b(function.getContext());
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    readers.push_back(op);
    SmallVector<int64_t> onHost;
    if (isa<prim::WhileOp, prim::IfOp>(op))
      for (OpResult result : op->getResults())
        if (isa<RankedTensorType>(result.getType()) && isOnHost(result))
          onHost.push_back(result.getResultNumber());
    if (!onHost.empty())
      op->setAttr(kernel::kOnHost, b.getDenseI64ArrayAttr(onHost));
    return isa<kernel::LaunchOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  for (auto &[op, candidate] : candidates) {
    auto launch = cast<kernel::LaunchOp>(op);
    if (!isOnHost(launch.getResult(0)))
      continue;
    launch.setScheduleAttr(candidate.schedule);
    launch.setOnHostAttr(kernel::OnHostAttr::get(b.getContext(), rounded(candidate.host),
                                                 rounded(candidate.device)));
  }
  for (BlockArgument argument : function.getArguments())
    if (isa<RankedTensorType>(argument.getType()) && !argument.use_empty() && isOnHost(argument))
      function.setArgAttr(argument.getArgNumber(), kernel::kOnHost, b.getUnitAttr());
  for (Operation *reader : readers)
    moveOperands(reader);
}

void Placement::run() {
  SmallVector<prim::ExtractOp> reads;
  function.walk([&](prim::ExtractOp read) {
    if (read->getParentOfType<kernel::LaunchOp>() || onlyChecks(read.getResult()))
      return;
    if (!isa_and_nonnull<prim::WeightOp, prim::ConstantOp>(storageOf(read.getX()).getDefiningOp()))
      reads.push_back(read);
  });
  findCandidates(reads);
  if (candidates.empty())
    return;
  addCosts();
  cut.solve();
  record();
}

namespace {

class PlaceLaunchesPass : public tcc::impl::PlaceLaunchesPassBase<PlaceLaunchesPass> {
public:
  PlaceLaunchesPass(const ScheduleModel *device, const ScheduleModel *host)
      : device(device), host(host) {}
  void getDependentDialects(DialectRegistry &registry) const override {
    host->registerDialects(registry);
  }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      Placement(function, *device, *host).run();
  }

private:
  const ScheduleModel *device, *host;
};

} // namespace

std::unique_ptr<Pass> tcc::createPlaceLaunchesPass(const ScheduleModel *device,
                                                   const ScheduleModel *host) {
  return std::make_unique<PlaceLaunchesPass>(device, host);
}
