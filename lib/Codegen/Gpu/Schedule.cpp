//===- Schedule.cpp - How a kernel is cut into blocks ---------------------===//
//
// The model behind GPU schedules: how a launch is cut into blocks, and how many elements a thread
// takes. It prefers what fills the machine, then what reads memory in whole lines. What it chooses
// is recorded on the launch; the kernel's template and the host's count of blocks read it there,
// because they would disagree if each computed it.
//
//===----------------------------------------------------------------------===//
#include "Fourier/FourierKernel.h"
#include "KernelFrame.h"
#include "Loops/SharedPoints.h"
#include "Loops/TransposedOperand.h"
#include "Matrices/MatrixBlock.h"
#include "Products/MatrixTile.h"
#include "Recurrence/Recurrence.h"
#include "Scatters/ScatterKernel.h"
#include "tcc/Analysis/PlanarConv.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

int64_t device::volumeOf(ArrayRef<int64_t> extents) {
  int64_t all = 1;
  for (int64_t d : extents)
    all = ShapedType::isDynamic(d) || all < 0 ? -1 : all * d;
  return all;
}

/// Elements, or -1 when they are not known.
static int64_t elements(RankedTensorType type) { return volumeOf(type.getShape()); }

/// 32 where every number of an element fits, with room for the threads past the end.
static unsigned indexBits(kernel::LaunchOp launch) {
  constexpr int64_t kMost = int64_t(1) << 30;
  bool small = true;
  auto look = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      small &= tensor.hasStaticShape() && tensor.getNumElements() < kMost;
    else
      small &= !type.isIndex() && !type.isInteger(64);
  };
  for (Type type : launch->getOperandTypes())
    look(type);
  for (Operation &op : launch.getBody().front())
    for (Type type : op.getResultTypes())
      look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  return small ? 32 : 64;
}

/// A channels-last convolution that gives each channel filters of its own, which share nothing.
static bool hasOwnFilters(prim::ConvOp conv) {
  return conv.getChannelsLast() && conv.getGroups() > 1 &&
         tensorType(conv.getW()).getDimSize(1) == 1;
}

/// One filter for each channel, whose neighbours lie together too, or where a run is given them:
/// then each lane's is read alone, as often as a strip needs it.
static bool isDepthwise(prim::ConvOp conv) {
  auto w = tensorType(conv.getW());
  auto layout = prim::layoutOf(w);
  auto order = dyn_cast_if_present<prim::AxisOrderAttr>(layout);
  return hasOwnFilters(conv) && w.getDimSize(0) == int64_t(conv.getGroups()) &&
         (!layout || (order && order.getOrder().back() == 0));
}

/// Whether neighbours of what `op` gives come from neighbours in memory, or are gathered, where
/// lanes differ in nothing else. `whole`: extents and offsets that a vector must divide for that.
static bool keepsNeighbours(Operation &op, SmallVectorImpl<int64_t> &whole) {
  auto last = [](Value v) { return tensorType(v).getRank() - 1; };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](prim::TransposeOp o) {
        ArrayRef<int64_t> permutation = o.getPermutation();
        return permutation.empty() || permutation.back() == last(o.getX());
      })
      .Case([&](prim::ConvOp o) { return isDepthwise(o); })
      .Case([&](prim::PoolOp o) { return o.getChannelsLast(); })
      .Case([&](prim::ReverseOp o) { return !llvm::is_contained(o.getAxes(), last(o.getX())); })
      .Case([&](prim::ConcatOp o) {
        if (static_cast<int64_t>(o.getAxis()) == last(o.getResult()))
          for (Value input : o.getInputs())
            whole.push_back(tensorType(input).getShape().back());
        return true;
      })
      .Case([&](prim::PadOp o) {
        if (last(o.getX()) < 0)
          return true;
        auto low = getConstantIntValue(o.getMixedLow().back());
        whole.push_back(low.value_or(ShapedType::kDynamic));
        whole.push_back(tensorType(o.getX()).getShape().back());
        return o.getInterior().back() == 0;
      })
      .Case([](prim::DotOp) { return false; })
      .Default([](Operation *) { return true; });
}

/// What `v` is computed from in its kernel, and by.
static void collectFrom(Value v, DenseSet<Operation *> &found) {
  Operation *op = v.getDefiningOp();
  if (op && found.insert(op).second)
    for (Value operand : op->getOperands())
      collectFrom(operand, found);
}

/// What only says where the updates of a scatter go: the same for all neighbours of a row.
static DenseSet<Operation *> placesOfUpdates(kernel::LaunchOp launch) {
  DenseSet<Operation *> places, elements;
  Operation *op = launch.getKind() == kernel::KernelKind::Special ? specialOf(launch) : nullptr;
  if (!isa_and_nonnull<prim::ScatterAlongOp, prim::ScatterNdOp>(op))
    return places;
  collectFrom(op->getOperand(1), places);
  for (Value v : {op->getOperand(0), op->getOperand(2)})
    collectFrom(v, elements);
  for (Operation *element : elements)
    places.erase(element);
  return places;
}

/// What vectors of neighbouring results must divide; null where there are no such vectors.
static std::optional<SmallVector<int64_t>> wholesOf(kernel::LaunchOp launch) {
  SmallVector<int64_t> whole;
  DenseSet<Operation *> places = placesOfUpdates(launch);
  bool keeps = llvm::all_of(launch.getBody().front(), [&](Operation &op) {
    return places.contains(&op) || keepsNeighbours(op, whole);
  });
  return keeps ? std::optional(whole) : std::nullopt;
}

unsigned device::lanesFor(kernel::LaunchOp launch, RankedTensorType space) {
  constexpr unsigned kMost = 8;
  std::optional<SmallVector<int64_t>> wholes = wholesOf(launch);
  if (space.getRank() == 0 || !wholes)
    return 1;
  wholes->push_back(space.getShape().back());
  int64_t narrowest = 8;
  auto look = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && (elements(tensor) < 0 || elements(tensor) * 2 >= elements(space)))
      narrowest = std::min(narrowest, elementBytes(tensor.getElementType()));
  };
  for (Type type : launch.getInputs().getTypes())
    look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  unsigned lanes = std::min<int64_t>(kMost, GpuArch::accessBytes / narrowest);
  auto divides = [&](int64_t whole) { return !ShapedType::isDynamic(whole) && whole % lanes == 0; };
  while (lanes > 1 && !llvm::all_of(*wholes, divides))
    lanes /= 2;
  return lanes;
}

/// The last axis where it is short, as the channels of a pixel are: written at once, wherever its
/// elements are gathered from. Neighbouring threads read neighbouring pixels then. 1: it is not.
static unsigned shortLastAxis(kernel::LaunchOp launch, RankedTensorType space) {
  bool views = llvm::all_of(launch.getBody().front().without_terminator(), [](Operation &op) {
    return prim::isElementwise(&op) || isa<prim::PadOp, prim::TransposeOp, prim::ReshapeOp>(op) ||
           op.hasTrait<prim::Generated>() ||
           llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
  });
  int64_t extent = space.getRank() > 1 ? space.getShape().back() : 1;
  bool fits = llvm::all_of(launch.getResultTypes(), [&](Type type) {
    return extent * elementBytes(cast<RankedTensorType>(type).getElementType()) <=
           GpuArch::accessBytes;
  });
  return views && fits && extent > 1 && llvm::isPowerOf2_64(extent) ? unsigned(extent) : 1;
}

/// Divisions of integers are many instructions, of 64 bits calls, one after the other in a thread.
static unsigned lanesOfDivisions(kernel::LaunchOp launch) {
  unsigned lanes = GpuArch::accessBytes;
  for (Operation &op : launch.getBody().front())
    if (isa<prim::DivOp, prim::FloorDivOp, prim::RemOp, prim::ModOp>(op))
      if (auto type = dyn_cast<IntegerType>(tensorType(op.getResult(0)).getElementType()))
        lanes = std::min(lanes, type.getWidth() == 64 ? 1u : 2u);
  return lanes;
}

static void scheduleLoop(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  // Points that are numbered through make whole vectors, but for the last ones.
  constexpr int64_t kWhole = int64_t(1) << 30, kWidest = 16;
  bool open = !space.hasStaticShape();
  int64_t total = elements(space);
  if (isFlat(launch))
    space = RankedTensorType::get({open ? kWhole : int64_t(llvm::alignTo(total, kWidest))},
                                  space.getElementType());
  s.lanes = lanesFor(launch, space);
  // What is wider than what is read is stored in accesses of its own, which neighbouring threads do
  // side by side as long as each has one.
  for (Type type : launch.getResultTypes())
    while (s.lanes > 1 && s.lanes * elementBytes(cast<RankedTensorType>(type).getElementType()) >
                              GpuArch::accessBytes)
      s.lanes /= 2;
  s.lanes = std::min(s.lanes, lanesOfDivisions(launch));
  if (s.lanes == 1)
    s.lanes = shortLastAxis(launch, space);
  if (open || total < 0)
    return;
  // Few points: rather one a thread than an idle multiprocessor.
  int64_t busy = int64_t(arch.multiprocessors) * s.threads;
  while (s.lanes > 1 && total / s.lanes < busy)
    s.lanes /= 2;
  if (total % s.lanes != 0 && isFlat(launch))
    return;
  bool walks = llvm::any_of(launch.getBody().front(), [](Operation &op) {
    return isa<prim::ReduceOp, prim::PoolOp>(op) || op.hasTrait<prim::Contraction>();
  });
  if (s.lanes == 1 && walks)
    return;
  bool contracts = llvm::any_of(launch.getBody().front(),
                                [](Operation &op) { return op.hasTrait<prim::Contraction>(); });
  int64_t most = total / (s.lanes * busy);
  // Vectors whose elements are gathered one by one, of several channels, are too much at once: 3
  // channels of 8 x 224 x 224 that are sampled take 24.2 us on an H200 without sharing, 29.5 so and
  // 19.4 one by one. So are 16 pixels of each of several points (40.6 and 78.5), and of one pixel
  // there is little to share.
  constexpr unsigned kMostGathered = 16;
  auto gathered = unsigned(
      llvm::count_if(launch.getBody().front(), llvm::IsaPred<prim::TakeAlongOp, prim::GatherNdOp>));
  bool gathers = s.lanes > 1 && gathered;
  if (gathers && gathered > 1 && !contracts && !isFlat(launch))
    if (auto shared = sharedPoints(launch, total / busy);
        shared && gathered * shared->points <= kMostGathered) {
      s.lanes = 1;
      s.vectors = shared->points;
      s.depth = shared->before;
      return;
    }
  bool apart = contracts || gathers || most < 2 || isFlat(launch);
  if (auto shared = apart ? std::nullopt : sharedPoints(launch, most)) {
    s.vectors = shared->points;
    s.depth = shared->before;
    return;
  }
  // An access of a thread is enough, and its vectors are as many as make one.
  int64_t widest = elementBytes(space.getElementType());
  unsigned inputs = 0;
  for (Type type : launch.getInputs().getTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type); // or a number
    if (!tensor || elements(tensor) * 2 < total)
      continue;
    ++inputs;
    widest = std::max(widest, elementBytes(tensor.getElementType()));
  }
  auto canDouble = [&] { return total / (s.lanes * s.vectors * 2) >= 8 * busy; };
  // What is read at several places for each point is enough on its way with two of them.
  bool resamples = llvm::count_if(launch.getBody().front(),
                                  [](Operation &op) { return isa<prim::TakeOp>(op); }) > 1;
  while (s.vectors * s.lanes * widest < GpuArch::accessBytes && canDouble() &&
         !(resamples && s.vectors * s.lanes > 1))
    s.vectors *= 2;
  // Functions of narrow numbers take longer than memory: two chains of them are in flight then, in
  // blocks half as large.
  unsigned functions = llvm::count_if(
      launch.getBody().front(), [](Operation &op) { return op.hasTrait<prim::VeryCostly>(); });
  if (widest > 2 || functions < std::max(1u, inputs) || !canDouble())
    return;
  s.vectors *= 2;
  s.threads /= 2;
  // Those that branch, for large arguments, wait there for each vector: more of them are on their
  // way at once.
  if (llvm::any_of(launch.getBody().front(), llvm::IsaPred<prim::SinOp, prim::CosOp>) &&
      canDouble()) {
    s.vectors *= 2;
    s.threads /= 2;
  }
}

/// A depthwise convolution, of channels that lie together or of planes, whose results are what
/// follows it, pixel by pixel.
static prim::ConvOp depthwiseIn(kernel::LaunchOp launch) {
  auto conv = dyn_cast_or_null<prim::ConvOp>(productOf(launch));
  // Strips of every other pixel read memory in pieces: 96 x 112 x 112 by 3 x 3 / 2 takes 8.6 us on
  // an H200 so, and 4.1 as a product.
  bool planes = conv && isPlanar(conv) && conv.getStrides().back() == 1 &&
                tensorType(conv.getW()).getDimSize(0) == int64_t(conv.getGroups());
  bool plain = conv && (planes || (isDepthwise(conv) && wholesOf(launch))) &&
               isEpilogue(launch, conv) &&
               llvm::all_of(conv.getInputDilation(), [](int64_t gap) { return gap == 1; });
  auto shape = cast<RankedTensorType>(launch.getResultTypes()[0]).getShape();
  return plain && shape == tensorType(conv.getResult()).getShape() ? conv : prim::ConvOp();
}

/// Points fewer than these do not fill the machine.
static int64_t fewPoints(const GpuArch &arch) { return int64_t(arch.multiprocessors) * 1024; }

/// Whether the reduction of each point is worth sharing.
static bool isLongReduction(prim::ReduceOp reduce) {
  constexpr int64_t kLong = 16; // elements
  double points = typicalElements(tensorType(reduce.getResult()).getShape(), kTypicalReduction),
         all = typicalElements(tensorType(reduce.getX()).getShape(), kTypicalReduction);
  return points > 0 && all >= kLong * points;
}

/// Whether threads have to share the points' reductions to fill the machine.
static bool sharesReduction(kernel::LaunchOp launch, const GpuArch &arch) {
  prim::ReduceOp reduce = columnReduction(launch);
  return reduce && isLongReduction(reduce) &&
         typicalElements(tensorType(reduce.getResult()).getShape(), kTypicalReduction) <
             double(fewPoints(arch));
}

SmallVector<FewRows> device::scheduleFewPoints(kernel::LaunchOp launch, Schedule many,
                                               const GpuArch &arch) {
  prim::ReduceOp reduce = columnReduction(launch);
  if (!reduce || tensorType(reduce.getResult()).hasStaticShape() || !isLongReduction(reduce))
    return {};
  ScheduleChoice few;
  few.indexBits = many.getIndexBits();
  scheduleColumn(few, launch, arch);
  return {{few.attr(launch.getContext()), fewPoints(arch)}};
}

/// Parts of the axis of few lines, a warp each: all look at all indices, and each has enough places
/// to be worth it.
unsigned device::partsOfScatter(prim::ScatterAlongOp op, const GpuArch &arch) {
  constexpr int64_t kWarps = 16, kLeast = 8; // of a multiprocessor; places of a part
  auto shape = tensorType(op.getX()).getShape();
  int64_t all = volumeOf(shape), along = shape[op.getAxis()];
  if (all <= 0)
    return 1;
  int64_t warps = llvm::divideCeil(all / along, GpuArch::warp);
  int64_t most = llvm::divideCeil(along, kLeast), wanted = kWarps * arch.multiprocessors / warps;
  return unsigned(std::max<int64_t>(1, std::min(most, wanted)));
}

/// Neighbours of a row that is updated as a whole or not at all, 16 bytes at most.
static unsigned lanesOfSlice(prim::InsertSliceOp op) {
  auto x = tensorType(op.getX());
  int64_t row = x.getRank() ? x.getShape().back() : 1;
  bool whole = x.getRank() && !ShapedType::isDynamic(row) &&
               tensorType(op.getUpdate()).getShape().back() == row && op.getSteps().back() == 1;
  constexpr unsigned kMost = 8;
  unsigned lanes = 1;
  if (whole)
    lanes = std::min<int64_t>(kMost, GpuArch::accessBytes / elementBytes(x.getElementType()));
  while (lanes > 1 && row % lanes != 0)
    lanes /= 2;
  return lanes;
}

/// Whether operands lie across the results along axes that are long enough for tiles of both.
static bool fillsTiles(kernel::LaunchOp launch) {
  constexpr int64_t kLeast = 3; // of a tile's points, one in so many
  std::optional<TransposedOperand> operands = transposedOperand(launch);
  if (!operands)
    return false;
  auto shape = cast<RankedTensorType>(launch.getResultTypes()[0]).getShape();
  int64_t points = 1, places = 1, tile = transposedTile(transposedLanes(launch));
  for (const JoinedAxes &axes : {operands->across, operands->along}) {
    int64_t extent =
        volumeOf(llvm::map_to_vector(axes, [&](unsigned axis) { return shape[axis]; }));
    if (extent < 0)
      continue;
    points *= extent;
    places *= int64_t(llvm::alignTo(extent, tile));
  }
  return points * kLeast >= places;
}

/// ptxas would rather spill in a sort than have fewer blocks, and rather wait for one read after
/// the other where threads have rows of updates.
static void allotRegisters(ScheduleChoice &s) {
  bool sorts = s.form == Form::Line && s.scratchBytes;
  bool updates = s.form == Form::Scatter && (s.scratchBytes || s.rowThreads);
  if (sorts || updates)
    s.resident = std::max(s.resident, 1u);
}

SmallVector<Schedule> device::schedulesFor(kernel::LaunchOp launch, const GpuArch &arch,
                                           bool tf32) {
  SmallVector<ScheduleChoice> all(1);
  ScheduleChoice &s = all[0];
  s.indexBits = indexBits(launch);
  if (launch.getKind() == kernel::KernelKind::Row) {
    s.form = Form::Row;
    scheduleRow(s, launch, arch);
  } else if (launch.getKind() == kernel::KernelKind::Special) {
    Operation *op = specialOf(launch);
    s.form = Form::Scatter;
    s.threads = 128;
    if (isa<prim::WhileOp>(op)) {
      scheduleRecurrence(s, launch, arch);
      return {s.attr(launch.getContext())};
    }
    if (auto places = dyn_cast<prim::NonzeroOp>(op))
      scheduleCollect(s, places, arch);
    if (auto lines = dyn_cast<prim::FourierOp>(op))
      scheduleFourier(s, lines, arch);
    if (op->hasTrait<prim::MatrixFactor>())
      scheduleMatrices(s, op, arch);
    if (lineAxis(op))
      scheduleLine(s, launch, arch);
    if (isa<prim::ScatterRunsOp>(op)) {
      scheduleRunScatter(s, launch, arch);
      allotRegisters(s);
      return {s.attr(launch.getContext())};
    }
    bool sorts = scheduleNotedScatter(s, op, arch) || scheduleLineScatter(s, op, arch) ||
                 scheduleSortedScatter(s, launch, arch);
    if (auto along = dyn_cast<prim::ScatterAlongOp>(op); along && !sorts)
      s.split = partsOfScatter(along, arch);
    if (auto slice = dyn_cast<prim::InsertSliceOp>(op))
      s.lanes = lanesOfSlice(slice);
    allotRegisters(s);
  } else if (launch.getKind() == kernel::KernelKind::Attention) {
    scheduleAttention(all, launch, arch);
  } else if (prim::ConvOp conv = depthwiseIn(launch)) {
    s.threads = 128;
    std::tie(s.rows, s.lanes) =
        depthwiseStrip(conv, lanesFor(launch, tensorType(conv.getResult())), arch);
  } else if (auto conv = dyn_cast_or_null<prim::ConvOp>(productOf(launch));
             conv && hasOwnFilters(conv)) {
    // Nothing to share but the filters, which are small: points like any other.
    scheduleLoop(s, launch, arch);
  } else if (productOf(launch)) {
    scheduleProducts(all, launch, arch, tf32);
  } else if (fillsTiles(launch)) {
    s.form = Form::Transpose;
    s.lanes = transposedLanes(launch);
    s.rows = transposedTile(s.lanes);
  } else if (sharesReduction(launch, arch)) {
    scheduleColumn(s, launch, arch);
  } else {
    scheduleLoop(s, launch, arch);
  }
  return llvm::map_to_vector(
      all, [&](const ScheduleChoice &choice) { return choice.attr(launch.getContext()); });
}

void device::keepNear(SmallVectorImpl<RankedChoice> &ranked) {
  constexpr double kNear = 1.4;
  constexpr size_t kMost = 8;
  const auto *far = llvm::find_if(
      ranked, [&](const RankedChoice &way) { return way.cost > kNear * ranked.front().cost; });
  ranked.truncate(std::min(kMost, size_t(far - ranked.begin())));
}

SmallVector<Schedule> device::otherSchedulesFor(kernel::LaunchOp launch, const GpuArch &arch,
                                                ArrayRef<Schedule> own) {
  auto by = [&](Form form) {
    return llvm::any_of(own, [&](Schedule s) { return s.getForm() == form; });
  };
  ScheduleChoice start;
  start.indexBits = own.front().getIndexBits();
  SmallVector<RankedChoice> ways;
  if (by(Form::Wgmma))
    ways = otherWgmmas(start, launch, arch);
  if (by(Form::WgmmaAttention))
    ways = otherAttentions(start, launch, arch);
  SmallVector<Schedule> others;
  for (const RankedChoice &way : ways)
    if (Schedule s = way.choice.attr(launch.getContext()); !llvm::is_contained(own, s))
      others.push_back(s);
  return others;
}

Schedule device::chooseSchedule(kernel::LaunchOp launch, const GpuArch &arch, bool tf32) {
  return schedulesFor(launch, arch, tf32).front();
}

SmallVector<FewRows> device::schedulesByRows(ArrayRef<std::pair<ScheduleChoice, int64_t>> choices,
                                             int64_t rowElements, Schedule many) {
  SmallVector<FewRows> all;
  for (const auto &[choice, rows] : choices) {
    FewRows few{choice.attr(many.getContext()), rows * rowElements + 1};
    if (!all.empty() && all.back().schedule == few.schedule)
      all.back() = few;
    else
      all.push_back(few);
  }
  while (!all.empty() && all.back().schedule == many)
    all.pop_back();
  return all;
}
