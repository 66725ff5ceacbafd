//===- ColumnSchedule.cpp - How few points of long reductions are cut -----===//
//
// A block has neighbouring points, and its threads share their elements; blocks may share points
// too, and meet in memory. Large sums are bound by memory: enough blocks fill the machine, and each
// reads as much as it can. Small ones (averages of images in squeeze and excitation) are bound by
// what each thread waits for: rounds of loads, the warps whose parts are added one after the other,
// and blocks that meet, which take as long as four rounds.
//
// Extents that are open are taken for what a matrix may have; blocks do not meet then where the
// points are open, since nobody knows how much memory they would meet in. Where the length is open
// it may be short or long: blocks are small, and a run says how many of them share points, as many
// at most as there is memory for.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// What is reduced: `length` elements for each of `units` vectors of points.
struct Columns {
  int64_t units, length, bytes; ///< bytes: of all elements, in memory
  unsigned unitBytes;           ///< of the elements that a vector reduces at once
  bool inner; ///< whether elements of a point lie together, not those of neighbouring points
  unsigned threads = GpuArch::threads; ///< of a block, at most
  bool open = false;                   ///< there may be any number of points

  /// Vectors of a block that lie together.
  unsigned most() const {
    return inner ? 1
                 : unsigned(std::min<int64_t>(GpuArch::warp, int64_t(llvm::PowerOf2Ceil(units))));
  }
};

/// A block's points, threads and share of their elements.
struct ColumnCut {
  unsigned threads, side;
  int64_t split;

  unsigned rowThreads() const { return threads / side; }
  int64_t blocksOf(const Columns &c) const { return llvm::divideCeil(c.units, side); }
  double cost(const Columns &c, const GpuArch &arch) const;
};

} // namespace

/// As an H200 takes them: of 77 cuts of averages of 196 to 12,544 elements, 74 within an eighth.
double ColumnCut::cost(const Columns &c, const GpuArch &arch) const {
  constexpr double kRound = 520, kWarp = 80, kBytes = 60; // kBytes: of a cycle
  constexpr double kMeeting = 2100, kPart = 230;          // kPart: found by another block
  double warps = double(threads) / GpuArch::warp;
  int64_t blocks = blocksOf(c) * split, round = int64_t(kColumnLoads) * rowThreads() * split;
  double cost = kRound * double(llvm::divideCeil(c.length, round)) + kWarp * warps +
                double(c.bytes) / kBytes / double(std::min<int64_t>(blocks, arch.multiprocessors));
  if (split > 1)
    cost += kMeeting + kPart * double(llvm::divideCeil(split, rowThreads())) + kWarp * warps;
  return cost;
}

/// The cut of small sums that should take least.
static ColumnCut cutSmall(const Columns &c, const GpuArch &arch) {
  constexpr int64_t kBlocks = 2, kMostRounds = 8; // kBlocks: of a multiprocessor
  constexpr unsigned kFewestThreads = 128;
  constexpr int64_t kSector = 32; // bytes that memory gives at once
  unsigned most = c.most();
  ColumnCut best{kFewestThreads, most, 1};
  double least = best.cost(c, arch);
  auto reads = [&](unsigned side) { return side * c.bytes / (c.units * c.length); };
  for (unsigned side = most; side > 0 && (side == most || reads(side) >= kSector); side /= 2)
    for (unsigned threads = kFewestThreads; threads <= GpuArch::threads; threads *= 2)
      for (int64_t rounds = 0; rounds <= (c.open ? 0 : kMostRounds); ++rounds) {
        ColumnCut cut{threads, side, 1};
        if (rounds > 0)
          cut.split = llvm::divideCeil(c.length, rounds * kColumnLoads * cut.rowThreads());
        bool fits =
            cut.split == 1 || (cut.blocksOf(c) * cut.split <= kBlocks * arch.multiprocessors &&
                               cut.blocksOf(c) <= int64_t(kCounterBytes / sizeof(int32_t)));
        double cost = cut.cost(c, arch);
        if (fits && cost < least) {
          best = cut;
          least = cost;
        }
      }
  return best;
}

/// Blocks share points until the machine is full, as long as each has work to do.
static ColumnCut cutLarge(const Columns &c, const GpuArch &arch) {
  // Blocks of a multiprocessor; rounds of loads of a thread alone, and of one that shares.
  constexpr int64_t kBlocks = 2, kWorthSharing = 8, kRounds = 2;
  constexpr unsigned kFewestThreads = 128, kSharingThreads = 512;
  constexpr unsigned kStrip = 128; // bytes
  auto of = [&](unsigned side) {
    ColumnCut cut{c.threads, side, 1};
    // A thread has its loads in flight at once.
    while (cut.threads > kFewestThreads &&
           c.length < int64_t(kColumnLoads) * cut.threads / int64_t(side))
      cut.threads /= 2;
    return cut;
  };
  ColumnCut cut = of(c.most());
  int64_t blocks = cut.blocksOf(c), round = int64_t(kColumnLoads) * cut.rowThreads();
  int64_t wanted = kBlocks * arch.multiprocessors, most = c.length / (kRounds * round);
  int64_t split = std::min<int64_t>(llvm::divideCeil(wanted, blocks), most);
  if (!c.open && split >= 2 && c.length >= kWorthSharing * round) {
    cut.split = split;
    // Where the machine is full, rather a few less than blocks that wait for others to end.
    if (wanted / blocks >= 2 && wanted / blocks < most) {
      cut.split = wanted / blocks;
      cut.threads = std::min(cut.threads, kSharingThreads);
    }
    return cut;
  }
  // Too little to meet in memory: narrower blocks, as long as neighbours read enough together.
  while (cut.side / 2 * c.unitBytes >= kStrip && cut.blocksOf(c) < arch.multiprocessors)
    cut = of(cut.side / 2);
  return cut;
}

/// Without the axes of one element at the end.
static RankedTensorType trimmed(RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  while (!shape.empty() && shape.back() == 1)
    shape = shape.drop_back();
  return RankedTensorType::get(shape, type.getElementType());
}

/// Of a product, whose rows read the same matrix.
static Columns columnsOf(ScheduleChoice &s, prim::DotOp dot) {
  auto right = tensorType(dot.getRhs());
  int64_t bytes = elementBytes(right.getElementType());
  s.lanes = GpuArch::accessBytes / bytes;
  while (s.lanes > 1 && right.getShape().back() % s.lanes != 0)
    s.lanes /= 2;
  int64_t length = 1, points = tensorType(dot.getResult()).getNumElements();
  for (int64_t axis : dot.getRhsContract())
    length *= right.isDynamicDim(axis) ? kTypicalReduction : right.getDimSize(axis);
  // Eight sums of a thread take registers: a vector by 4096 x 4096 in bf16 takes 11.9 us in blocks
  // of 1024 threads, and 8.3 in those of 512 (H200).
  constexpr unsigned kOfNarrow = 512;
  return {points / s.lanes,          length, points * length * bytes,
          unsigned(s.lanes * bytes), false,  bytes < 4 ? kOfNarrow : GpuArch::threads};
}

/// Vectors of neighbouring results, if neighbours lie together.
static Columns columnsOf(ScheduleChoice &s, kernel::LaunchOp launch, prim::ReduceOp reduce) {
  constexpr unsigned kAccumulated = 32; // bytes of a thread, which meet in shared memory
  auto x = tensorType(reduce.getX()), kept = tensorType(reduce.getResult());
  bool inner = llvm::is_contained(reduce.getAxes(), trimmed(x).getRank() - 1);
  if (!inner)
    s.lanes =
        std::min(lanesFor(launch, trimmed(kept)),
                 lanesFor(launch, trimmed(cast<RankedTensorType>(launch.getResultTypes()[0]))));
  int64_t bytes = elementBytes(computeType(x.getElementType()));
  while (s.lanes > 1 && s.lanes * bytes > kAccumulated)
    s.lanes /= 2;
  auto count = [&](RankedTensorType type) {
    return static_cast<int64_t>(typicalElements(type.getShape(), kTypicalReduction));
  };
  int64_t points = count(kept), all = count(x);
  int64_t read = elementBytes(x.getElementType());
  for (Type type : launch.getInputs().getTypes())
    if (auto input = dyn_cast<RankedTensorType>(type); input && count(input) == all)
      read = std::min(read, elementBytes(input.getElementType()));
  return {int64_t(llvm::divideCeil(points, s.lanes)),
          all / points,
          all * read,
          unsigned(s.lanes * elementBytes(x.getElementType())),
          inner,
          GpuArch::threads,
          !kept.hasStaticShape()};
}

Value device::partsOfOpenColumns(OpBuilder &b, Location loc, Value groups, Value length,
                                 Schedule s) {
  // Rounds of loads of a thread: blocks that meet take as long as four of them.
  constexpr int64_t kRounds = 4;
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value one = constant(1);
  Value some = arith::MaxSIOp::create(b, loc, groups, one);
  Value most = arith::DivSIOp::create(b, loc, constant(s.getMostBlocks()), some);
  Value worth =
      arith::DivSIOp::create(b, loc, length, constant(kRounds * kColumnLoads * s.getRowThreads()));
  return arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, most, worth), one);
}

/// Whether a run alone knows how long the reduction is.
static bool hasOpenLength(prim::ReduceOp reduce) {
  auto x = tensorType(reduce.getX());
  return llvm::any_of(reduce.getAxes(), [&](int64_t axis) { return x.isDynamicDim(axis); });
}

void device::scheduleColumn(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kSmall = int64_t(4) << 20; // bytes
  s.form = Form::Column;
  prim::DotOp dot = columnProduct(launch);
  Columns columns = dot ? columnsOf(s, dot) : columnsOf(s, launch, columnReduction(launch));
  ColumnCut cut = columns.bytes <= kSmall ? cutSmall(columns, arch) : cutLarge(columns, arch);
  if (!dot && hasOpenLength(columnReduction(launch))) {
    constexpr unsigned kThreads = 256, kBlocks = 4; // of a block; of a multiprocessor
    s.threads = kThreads;
    s.rowThreads = kThreads / cut.side;
    s.mostBlocks = s.split = kBlocks * arch.multiprocessors;
    s.scratchBytes = kCounterBytes + s.mostBlocks * cut.side * s.lanes * 8;
    return;
  }
  s.threads = cut.threads;
  s.rowThreads = cut.rowThreads();
  s.split = unsigned(cut.split);
  if (cut.split > 1)
    s.scratchBytes =
        unsigned(kCounterBytes + cut.blocksOf(columns) * cut.split * cut.side * s.lanes * 8);
}
