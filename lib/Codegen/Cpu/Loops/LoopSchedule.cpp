//===- LoopSchedule.cpp - How loops are cut into tasks --------------------===//
//
// Lanes lie along the last axis, unless that and those after another have but a few points
// (the three channels of an image), and a task does a run of points worth a thread's while.
//
// The exception is a transpose between memory and result: lanes along the result's last axis
// read with a stride, which costs a gather a lane. If the operand is contiguous along another
// axis of the result, a task does a block of that axis, whose reads are made along it and
// transposed in registers (LaneTranspose.cpp). That axis is found here: each operand is
// followed from what is stored, and the operands that lie across vote.
//
//===----------------------------------------------------------------------===//
#include "../LaunchSchedules.h"
#include "../Rows/CollapsedRows.h"
#include "../Rows/PeriodicLines.h"
#include "../Rows/WindowLines.h"
#include "Moves.h"
#include "OperandWalk.h"
#include "PastCaches.h"
#include "RowGroups.h"
#include "tcc/Analysis/InPlace.h"
#include "tcc/Analysis/PlanarConv.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// An axis before that of the lanes along which operands lie that those would
/// gather, and how many of its indices make a block (RowBlock).
struct BlockedAxis {
  unsigned axis;
  int64_t rows;
};

} // namespace

/// Whether `extent` points of the axis are few beside the axis before, where lanes are better off.
/// As many as fill the smallest vector are if an operand lies along that axis.
static bool areFewPoints(kernel::LaunchOp launch, int64_t axis, int64_t extent) {
  constexpr int64_t kFewPoints = 4;
  return extent > 0 && (extent < kFewPoints ||
                        (extent == kFewPoints && walkOf(launch, axis).votes[axis - 1] > 0));
}

/// With lanes along `laneAxis`, behind which axes have `innerPoints`.
static std::optional<BlockedAxis> blockedAxis(kernel::LaunchOp launch, unsigned laneAxis,
                                              int64_t innerPoints, const CpuTarget &cpu) {
  constexpr int64_t kFewest = 4, kSmallBody = 6, kLargeBody = 24, kMostVectors = 16, kBlock = 4;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (laneAxis < 1)
    return std::nullopt;
  unsigned lanes = lanesFor(cpu.lanes(32), type.getDimSize(laneAxis));
  OperandWalk walk = walkOf(launch, laneAxis);
  auto best = std::max_element(walk.votes.begin(), walk.votes.begin() + laneAxis);
  unsigned axis = best - walk.votes.begin();
  int64_t extent = type.getDimSize(axis);
  if (*best == 0 || lanes < kFewest || (!ShapedType::isDynamic(extent) && extent < kFewest))
    return std::nullopt;
  // Every row is written out: few of them where much is computed, or held in registers.
  int64_t rows = walk.operators <= kSmallBody && *best == 1 ? 16
                 : walk.operators <= kLargeBody             ? 8
                                                            : 4;
  unsigned bits = type.getElementTypeBitWidth();
  // Whole lines of the cache, where a vector is a part of one: what else is read before the next
  // vector of the line may lie in the same few sets.
  int64_t most = lanes;
  if (lanes == cpu.lanes(32))
    most = std::max<int64_t>(most, cpu.lineBytes / 4);
  rows = std::min<int64_t>({rows, most, bits > 32 ? 8 : 16});
  if (innerPoints > 1) // each has its own vectors
    rows = std::clamp<int64_t>(kMostVectors / llvm::PowerOf2Ceil(innerPoints), kFewest, rows);
  if (ShapedType::isDynamic(extent))
    return BlockedAxis{axis, rows};
  // Rows that are left are done one by one, or with others again where that does no harm: then the
  // block of which all take the shortest, each besides its rows as long as a few of them.
  bool mayRepeat = overwritableInputs(launch).empty();
  auto blocks = [&](int64_t size) { return llvm::divideCeil(extent, size) * (size + kBlock); };
  while (rows > kFewest &&
         (rows > extent || (mayRepeat ? blocks(rows / 2) < blocks(rows)
                                      : extent % rows > extent % (rows / 2) + extent / 8)))
    rows /= 2;
  return BlockedAxis{axis, rows};
}

/// Elements that a point sums up, if it does.
static int64_t workPerPoint(kernel::LaunchOp launch) {
  int64_t most = 1;
  auto count = [&](ArrayRef<int64_t> extents) {
    most = std::max(most, static_cast<int64_t>(typicalElements(extents)));
  };
  for (Operation &op : launch.getBody().front()) {
    if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
      SmallVector<int64_t> extents;
      for (int64_t axis : reduce.getAxes())
        extents.push_back(cast<RankedTensorType>(reduce.getX().getType()).getDimSize(axis));
      count(extents);
    } else if (auto pool = dyn_cast<prim::PoolOp>(op)) {
      count(pool.getWindow());
    } else if (auto conv = dyn_cast<prim::ConvOp>(op); conv && isPlanar(conv)) {
      count(tensorType(conv.getW()).getShape().drop_front(2));
    } else if (isa<prim::DotOp, prim::ConvOp>(op)) {
      count(ArrayRef<int64_t>{ShapedType::kDynamic});
    }
  }
  return most;
}

/// A reduction goes across rows. Many vectors of each are a run of lines that memory gives at its
/// speed, and sums that do not wait for each other: as many as leave half of the registers, or a
/// few where what is summed needs those itself. What L2 does not hold comes in runs of so many
/// bytes even where registers hold fewer sums, and the others wait on the stack.
static unsigned reductionLanes(kernel::LaunchOp launch, const CpuTarget &cpu) {
  constexpr unsigned kFewVectors = 4, kMostOperators = 8, kLeastBits = 32, kRunBytes = 1024;
  unsigned bits = kLeastBits, operators = 0;
  int64_t bytes = 0;
  bool costly = false;
  for (Operation &op : launch.getBody().front()) {
    operators += prim::isElementwise(&op);
    costly |= op.hasTrait<prim::VeryCostly>();
    if (auto reduce = dyn_cast<prim::ReduceOp>(op))
      bits = std::max(bits, tensorType(reduce.getX()).getElementTypeBitWidth());
  }
  for (Value v : launch.getBody().getArguments())
    if (auto type = dyn_cast<RankedTensorType>(v.getType()); type && type.hasStaticShape())
      bytes = std::max(bytes, tensorBytes(type));
  bool few = costly || operators > kMostOperators;
  unsigned lanes = cpu.lanes(bits) * (few ? kFewVectors : cpu.vectorRegisters / 2);
  return !few && bytes > cpu.l2Bytes ? std::max(lanes, kRunBytes * 8 / bits) : lanes;
}

/// Whether `v` only says which rows are taken, an index for all lanes of a row.
static bool onlyChoosesRows(Value v) {
  return !v.use_empty() && llvm::all_of(v.getUses(), [](OpOperand &use) {
    auto take = dyn_cast<prim::TakeOp>(use.getOwner());
    return take && use.get() != take.getX() &&
           static_cast<int64_t>(take.getAxis()) + 1 < tensorType(take.getX()).getRank();
  });
}

/// Whether `op` gives what the host knows: an extent, or a number for all points.
static bool isOfHost(Operation &op) { return isa<prim::DimOp, prim::FromElementsOp>(op); }

/// Bits of the widest element that a kernel of points keeps in registers, if it does nothing but
/// compute and move points along their lines, or back along them.
static std::optional<unsigned> pointBits(kernel::LaunchOp launch) {
  unsigned bits = 0;
  auto add = [&](Value v, bool computes) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type) // an extent, or another number of the host
      return true;
    if (!type.getElementType().isIntOrFloat())
      return false;
    Type element = computes ? computeType(type.getElementType()) : type.getElementType();
    bits = std::max(bits, element.getIntOrFloatBitWidth());
    return true;
  };
  auto addAll = [&](ValueRange values, bool computes) {
    return llvm::all_of(values, [&](Value v) { return onlyChoosesRows(v) || add(v, computes); });
  };
  Block &body = launch.getBody().front();
  if (!addAll(body.getArguments(), /*computes=*/false))
    return std::nullopt;
  for (Operation &op : body.without_terminator()) {
    bool computes = prim::isElementwise(&op);
    bool inLanes = moves(&op, Move::Repeat, Move::Constant, Move::Join, Move::Position,
                         Move::Reshape, Move::Reverse, Move::Cut);
    if (auto take = dyn_cast<prim::TakeOp>(op))
      inLanes = onlyChoosesRows(take.getIndices());
    if (auto turned = dyn_cast<prim::TransposeOp>(op)) { // of which runs stay as they are
      ArrayRef<int64_t> order = turned.getPermutation();
      inLanes = !order.empty() && order.back() + 1 == int64_t(order.size());
    }
    inLanes |= isOfHost(op);
    if (!(computes || inLanes) || !addAll(op.getResults(), computes) ||
        (computes && !addAll(op.getOperands(), computes)))
      return std::nullopt;
  }
  return bits;
}

/// Bytes of the narrowest element that is stored.
static unsigned resultBytes(kernel::LaunchOp launch) {
  unsigned bytes = std::numeric_limits<unsigned>::max();
  for (Type type : launch.getResultTypes())
    bytes = std::min(bytes, unsigned(elementBytes(getElementTypeOrSelf(type))));
  return bytes;
}

/// Whether little is done with numbers of 32 bits and more but to store them in fewer. Where
/// machines narrow two vectors to one, whole vectors of results take a few instructions, parts of
/// them as many each.
static bool isNarrowingCast(kernel::LaunchOp launch) {
  constexpr unsigned kMostOperators = 3, kMostOfBytes = 6, kBytes = 4; // of a byte: quantising
  unsigned operators = 0;
  for (Operation &op : launch.getBody().front().without_terminator())
    operators += prim::isElementwise(&op);
  unsigned bytes = resultBytes(launch);
  return operators <= (bytes == 1 ? kMostOfBytes : kMostOperators) && bytes < kBytes;
}

/// Words of a block of random numbers, which neighbours compute together; 1: nothing draws.
static unsigned wordsOfBlock(kernel::LaunchOp launch) {
  constexpr unsigned kBits = 128;
  auto draws = launch.getBody().front().getOps<prim::RandomBitsOp>();
  if (draws.empty())
    return 1;
  return kBits / tensorType((*draws.begin()).getResult()).getElementTypeBitWidth();
}

/// Whether elements are read at places that what was read before tells, again and again, as halving
/// does: of one vector each read waits for the last.
static bool readsInChain(kernel::LaunchOp launch) {
  constexpr unsigned kFewReads = 4;
  unsigned waiting = 0;
  llvm::SmallPtrSet<Operation *, 32> behind; // what waits for a read
  for (Operation &op : launch.getBody().front().without_terminator()) {
    auto waits = [&](Value v) { return behind.contains(v.getDefiningOp()); };
    auto take = dyn_cast<prim::TakeOp>(op);
    waiting += take && waits(take.getIndices());
    if (take || llvm::any_of(op.getOperands(), waits))
      behind.insert(&op);
  }
  return waiting >= kFewReads;
}

/// Lanes of 32 bits, or as many as a vector has of narrower elements where there are no others.
/// A function is a chain of operations that wait for each other, of which a processor looks ahead
/// over a few: several vectors beside each other, as many as registers hold what they need.
static unsigned pointLanes(kernel::LaunchOp launch, const CpuTarget &cpu) {
  constexpr unsigned kMostOperators = 8, kManyRegisters = 32, kBits = 32, kLeast = 8;
  constexpr unsigned kRegistersOfVector = 8; // others are operands of memory
  constexpr unsigned kChains = 4;            // reads on their way beside each other
  unsigned operators = 0, functions = 0, lanes = cpu.lanes(kBits);
  if (unsigned words = wordsOfBlock(launch); words > 1)
    return lanes * words;
  // Where a line may end anywhere and masks cost something, its end is single points.
  auto type = cast<RankedTensorType>(launch.getResultTypes().front());
  bool isOpen = type.getRank() == 0 || ShapedType::isDynamic(type.getShape().back());
  if (readsInChain(launch) && !(isOpen && cpu.vectorRegisters < kManyRegisters))
    return lanes * kChains;
  std::optional<unsigned> bits = pointBits(launch);
  if (!bits)
    return lanes;
  if (*bits < kBits)
    return cpu.lanes(std::max(*bits, kLeast));
  if (cpu.vectorRegisters < kManyRegisters && isNarrowingCast(launch))
    return cpu.lanes(8 * resultBytes(launch));
  if (*bits > kBits)
    return lanes;
  for (Operation &op : launch.getBody().front().without_terminator()) {
    if (!prim::isElementwise(&op) && !moves(&op, Move::Repeat, Move::Constant) &&
        periodOf(&op) == 0 && !isOfHost(op))
      return lanes;
    operators += prim::isElementwise(&op);
    functions += op.hasTrait<prim::VeryCostly>();
  }
  unsigned vectors = cpu.vectorRegisters / kRegistersOfVector;
  return functions == 1 && operators <= kMostOperators ? lanes * vectors : lanes;
}

/// An axis of few points for which a kernel computes much the same: where a grid lies for the
/// channels of an image.
static std::optional<BlockedAxis> sharedAxis(kernel::LaunchOp launch, unsigned laneAxis) {
  constexpr int64_t kMostRows = 8, kLeastOperators = 8;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (launch.getResultTypes().size() != 1 || !type.hasStaticShape() ||
      !launch.getBody().getOps<prim::PoolOp>().empty())
    return std::nullopt;
  for (unsigned axis = 0; axis < laneAxis; ++axis) {
    int64_t rows = type.getDimSize(axis), operators = 0;
    if (rows < 2 || rows > kMostRows)
      continue;
    auto isPart = [&](RankedTensorType part) {
      return part.hasStaticShape() && part.getNumElements() * rows == type.getNumElements();
    };
    for (Operation &op : launch.getBody().front().without_terminator())
      operators += prim::isElementwise(&op) && isPart(tensorType(op.getResult(0)));
    auto repeats = [&](prim::BroadcastOp op) {
      auto from = tensorType(op.getX());
      return isPart(from) &&
             llvm::none_of(llvm::zip_equal(op.getAxes(), from.getShape()), [&](auto pair) {
               return std::get<0>(pair) == axis && std::get<1>(pair) != 1;
             });
    };
    auto spreads = [&](prim::BroadcastOp op) {
      auto from = tensorType(op.getX());
      return op.getType().getShape() == type.getShape() &&
             !(from.hasStaticShape() && from.getNumElements() == 1);
    };
    auto broadcasts =
        llvm::make_filter_range(launch.getBody().getOps<prim::BroadcastOp>(), spreads);
    if (operators >= kLeastOperators && !broadcasts.empty() && llvm::all_of(broadcasts, repeats))
      return BlockedAxis{axis, rows};
  }
  return std::nullopt;
}

/// Whether a kernel of points only moves elements of its operands.
static bool onlyMoves(kernel::LaunchOp launch) {
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  SmallVector<Value> open(yield.getValues());
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto concat = dyn_cast<prim::ConcatOp>(op))
      llvm::append_range(open, concat.getInputs());
    else if (op->hasTrait<prim::Rearrangement>())
      open.push_back(op->getOperand(0));
    else if (!moves(op, Move::Constant))
      return false;
  }
  return true;
}

/// Points of a run that lies in an operand as it is stored from which on it is copied, which the C
/// library does by the machine's own instructions for so many bytes.
static int64_t leastCopied(kernel::LaunchOp launch) {
  constexpr int64_t kLeastBytes = 16384;
  return llvm::divideCeil(kLeastBytes, resultBytes(launch));
}

/// Of runs that are copied, which are the faster the longer they are: as long as some tasks remain
/// for each thread. 0: nobody knows.
static int64_t longestCopied(RankedTensorType type) {
  constexpr int64_t kTasks = 16, kMostBytes = 1 << 18, kLines = 64;
  if (!type.hasStaticShape())
    return 0;
  int64_t most = kMostBytes / elementBytes(type.getElementType());
  return std::min(type.getNumElements() / kTasks, most) / kLines * kLines;
}

/// `joined`: axes of the launch's own results that are its last one.
static kernel::Schedule scheduleOf(kernel::LaunchOp launch, JoinedAxes joined,
                                   const CpuTarget &cpu) {
  /// Points of about this much work make a task worth a thread.
  constexpr int64_t kGrainPoints = 16384, kMostPoints = 4096;
  constexpr int64_t kReducedColumns = 256; ///< of a task, at least
  constexpr int64_t kPlaneColumns = 1024;  ///< the same, since both ends of a line cost more
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  MLIRContext *context = launch.getContext();
  if (type.getRank() == 0)
    return cpu::LoopScheduleAttr::get(context, /*lanes=*/1, /*axis=*/0, kMostPoints,
                                      /*grain=*/1, /*block_axis=*/0, /*block_rows=*/1,
                                      /*copied_points=*/std::nullopt, /*past_caches=*/false,
                                      joined.count, joined.pieces, /*window_lines=*/false,
                                      /*shared=*/false);
  int64_t axis = type.getRank() - 1, innerPoints = 1;
  while (axis > 0) {
    int64_t extent = type.getDimSize(axis), next = type.getDimSize(axis - 1);
    bool few = !ShapedType::isDynamic(extent) && areFewPoints(launch, axis, innerPoints * extent);
    if (!few || (extent != 1 && !ShapedType::isDynamic(next) && next < extent))
      break;
    innerPoints *= extent;
    --axis;
  }
  int64_t work = workPerPoint(launch) * innerPoints;
  bool reduces = !launch.getBody().getOps<prim::ReduceOp>().empty();
  bool isOfPlanes = llvm::any_of(launch.getBody().getOps<prim::ConvOp>(), isPlanar);
  prim::ReduceOp grouped = groupedRows(launch, cpu);
  int64_t least = grouped      ? groupedColumns(grouped)
                  : reduces    ? kReducedColumns
                  : isOfPlanes ? kPlaneColumns
                               : 64;
  int64_t chunk = std::max(least, kMostPoints / work / 64 * 64); // a multiple of the lanes
  int64_t extent = type.getDimSize(axis);
  int64_t points = ShapedType::isDynamic(extent) ? kOpenRun : std::clamp<int64_t>(extent, 1, chunk);
  bool copied = false;
  auto across = blockedAxis(launch, axis, innerPoints, cpu);
  auto shared = across || innerPoints > 1 ? std::nullopt : sharedAxis(launch, axis);
  BlockedAxis block = across.value_or(shared.value_or(BlockedAxis{0, 1}));
  if (block.rows == 1 && innerPoints == 1) {
    copied = onlyMoves(launch);
    chunk = copied ? std::max(chunk, longestCopied(type)) : chunk;
    points = ShapedType::isDynamic(extent) ? points : std::clamp<int64_t>(extent, 1, chunk);
  }
  int64_t grain = std::max<int64_t>(1, kGrainPoints / (points * block.rows * work));
  unsigned lanes = grouped && block.rows == 1   ? groupedLanes(grouped, cpu)
                   : reduces && block.rows == 1 ? reductionLanes(launch, cpu)
                                                : pointLanes(launch, cpu);
  bool windowLines = block.rows == 1 && axis + 1 == type.getRank() && !poolsOfLines(launch).empty();
  lanes = windowLines && cpu.maskedMemory ? lanesOfLine(lanes, extent) : lanesFor(lanes, extent);
  // With an open extent a whole chunk is the longest run.
  int64_t shortest = leastCopied(launch), longest = ShapedType::isDynamic(extent) ? chunk : points;
  bool copies = copied && lanes > 1 && axis + 1 == type.getRank() && longest >= shortest;
  bool wholeLines = block.rows == 1 || lanes * resultBytes(launch) >= cpu.lineBytes;
  bool pastCaches = innerPoints == 1 && wholeLines && lanes > 1 && pointsOutgrowCaches(launch, cpu);
  return cpu::LoopScheduleAttr::get(context, lanes, axis, chunk, grain, block.axis, block.rows,
                                    copies ? std::optional(shortest) : std::nullopt, pastCaches,
                                    joined.count, joined.pieces, windowLines, shared.has_value());
}

kernel::Schedule tcc::codegen::loopSchedule(kernel::LaunchOp launch, const CpuTarget &cpu) {
  JoinedAxes joined = joinedAxes(launch);
  if (joined.count == 1)
    return scheduleOf(launch, joined, cpu);
  OwningOpRef<kernel::LaunchOp> copy = launch.clone();
  joinAxesInside(*copy, joined);
  auto schedule = cast<cpu::LoopScheduleAttr>(scheduleOf(*copy, joined, cpu));
  // Lines of few points are gone through several at a time, which pieces of a line are not.
  bool areLines = schedule.getAxis() + 1 == tensorType(copy->getResult(0)).getRank();
  return areLines ? schedule : scheduleOf(launch, {1}, cpu);
}
