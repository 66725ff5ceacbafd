//===- ExactProductSchedule.cpp - Products without matrix units -----------===//
//
// The model behind schedules of products and convolutions whose sums are made by multiply-adds: the
// general form, for all of them, and that of few rows or columns. Tiles differ in how often
// operands are read, in how many multiprocessors have one, and in what they compute in vain; a
// block may be alone with a tile, share it with others, or have its threads in groups, each with a
// matrix of its own or a part of k.
//
//===----------------------------------------------------------------------===//
#include "ExactProductSchedule.h"
#include "../ScheduleChoice.h"
#include "AheadProductSchedule.h"
#include "MatrixTile.h"
#include "OperandTile.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Whether neighbours of an operand differ in the last of these axes.
static bool liesAlong(Value operand, ArrayRef<int64_t> axes) {
  return !axes.empty() && axes.back() == innermostAxis(operand);
}

bool device::lieAlongSums(Operation *op, const ProductSizes &sizes) {
  constexpr int64_t kShort = 128; // elements of k
  auto dot = dyn_cast<prim::DotOp>(op);
  return dot && sizes.inner >= kShort && liesAlong(dot.getLhs(), dot.getLhsContract()) &&
         liesAlong(dot.getRhs(), dot.getRhsContract());
}

bool device::isSkinny(Operation *op) {
  constexpr int64_t kFew = 8; // rows or columns
  ProductSizes sizes = ProductSizes::of(op);
  auto few = [](int64_t extent) { return extent > 0 && extent <= kFew; };
  return (few(sizes.rows) || few(sizes.columns)) && lieAlongSums(op, sizes);
}

/// Elements of k that a lane of it reads at once: those of 16 bytes, where rows lie at whole ones.
static int64_t lanesOfSkinny(Operation *product) {
  int64_t lanes = GpuArch::accessBytes;
  for (Value operand : product->getOperands().take_front(2)) {
    auto type = tensorType(operand);
    int64_t most = GpuArch::accessBytes / std::max<int64_t>(2, elementBytes(type.getElementType()));
    lanes = std::min({lanes, most, type.getShape().back() & -type.getShape().back()});
  }
  return std::max<int64_t>(1, lanes);
}

void device::scheduleSkinny(ScheduleChoice &s, kernel::LaunchOp launch, const ProductSizes &sizes,
                            const GpuArch &arch) {
  s.form = Form::Skinny;
  s.threads = 128;
  int64_t warps = int64_t(arch.multiprocessors) * s.threads / GpuArch::warp;
  bool across = sizes.columns > 0 && (sizes.rows < 0 || sizes.columns < sizes.rows);
  int64_t many = across ? sizes.rows : sizes.columns;
  unsigned &each = across ? s.rows : s.columns;
  each = 4;
  while (each > 1 && sizes.batch * many < 2 * warps * int64_t(each))
    each /= 2;
  // Blocks share k where those of all results leave multiprocessors idle, as long as each walks for
  // longer than it takes them to meet.
  constexpr int64_t kBlocks = 4, kWorthSharing = 24,
                    kMost = 64; // of a multiprocessor; steps; parts
  int64_t perBlock = int64_t(s.threads / GpuArch::warp) * each;
  int64_t blocks = sizes.batch * llvm::divideCeil(many, perBlock);
  int64_t steps = sizes.inner / GpuArch::warp / lanesOfSkinny(productOf(launch));
  bool known = sizes.batch > 0 && many > 0 && blocks <= int64_t(kCounterBytes / sizeof(int32_t));
  if (!known || blocks >= arch.multiprocessors)
    return;
  int64_t split = std::min({kBlocks * arch.multiprocessors / blocks, steps / kWorthSharing, kMost});
  if (split < 2)
    return;
  s.split = unsigned(split);
  s.scratchBytes = unsigned(kCounterBytes + blocks * split * s.threads * 8);
}

/// Parts of k in a block each, where tiles of the general form are few: what a multiprocessor
/// computes, or waits for, against what meets. Gives what that costs; 0 where it is not known.
static double splitProduct(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  // Fitted to 41 products on an H200, in up to 12 numbers of parts: the choice takes up to 1.13
  // times as long as the best. Cycles of a slice, alone and for each of several blocks of a
  // multiprocessor; of a block beside, of meeting; bytes of the sums of a part that come in one.
  constexpr double kLatency = 1900, kStep = 900, kBlock = 1000, kMeeting = 3000, kL2 = 30;
  constexpr int64_t kTogether = 4, kFewest = 4, kMost = 128; // blocks; slices, parts
  Operation *op = productOf(launch);
  Type sum = computeType(sumType(tensorType(op->getResult(0)).getElementType()));
  ProductSizes sizes = ProductSizes::of(op);
  if (sizes.batch < 0 || sizes.rows < 0 || sizes.columns < 0 || sizes.inner < 0 ||
      !sum.isIntOrFloat() || sum.getIntOrFloatBitWidth() < 32)
    return 0;
  int64_t tiles = sizes.batch * int64_t(llvm::divideCeil(sizes.rows, s.rows)) *
                  int64_t(llvm::divideCeil(sizes.columns, s.columns));
  if (tiles == 0)
    return 0; // nothing to compute
  int64_t slices = llvm::divideCeil(sizes.inner, s.depth);
  int64_t bytes = int64_t(s.rows) * s.columns * (sum.getIntOrFloatBitWidth() / 8);
  // Slower, and slower still in two blocks: measured, on matrix units as well (f64, 1024^3 57.0 us
  // in one part, 78.8 in two).
  bool wide = sum.getIntOrFloatBitWidth() > 32;
  double least = 0;
  for (int64_t split = 1; split <= std::min(kMost, std::max<int64_t>(1, slices / kFewest));
       ++split) {
    if (split > 1 && tiles > int64_t(kCounterBytes / sizeof(int32_t)))
      break;
    int64_t steps = llvm::divideCeil(slices, split);
    if ((split - 1) * steps >= slices)
      continue; // a block would have none
    int64_t each = llvm::divideCeil(tiles * split, arch.multiprocessors);
    if (split > 1 && wide && each > 1)
      break;
    int64_t together = std::min(each, kTogether);
    double cost = double(llvm::divideCeil(each, together)) *
                  (double(steps) * std::max(kLatency, double(together) * kStep) + kBlock);
    if (split > 1)
      cost += kMeeting + double(split * bytes) / kL2;
    if (least != 0 && cost >= least)
      continue;
    least = cost;
    s.split = unsigned(split);
    s.scratchBytes = split > 1 ? unsigned(kCounterBytes + tiles * split * bytes) : 0;
  }
  return least;
}

namespace {

/// A tile of a group of so many threads, whose sums are those of squares of four or eight.
struct GroupTile {
  unsigned rows, columns, threads;

  unsigned side() const { return rows * columns == threads * 64 ? 8 : 4; }
};

} // namespace

/// Whether a product reads operands as they lie in memory, be it through views.
static bool readsMemory(prim::DotOp dot) {
  return llvm::all_of(ValueRange{dot.getLhs(), dot.getRhs()}, [](Value v) {
    while (Operation *op = v.getDefiningOp()) {
      if (!isa<prim::ReshapeOp, prim::TransposeOp, prim::SliceOp>(op))
        return false;
      v = op->getOperand(0);
    }
    return true;
  });
}

/// The tile of a matrix product of numbers of 32 bits, and the parts of k that groups of a block's
/// threads have and that blocks have: what is multiplied and what is waited for. Gives what that
/// costs; 0 where nothing is known of it. `only`: the one kernel that is looked at.
static double tileProduct(ScheduleChoice &s, prim::DotOp dot, const ProductSizes &sizes,
                          const GpuArch &arch, const ScheduleChoice *only) {
  // Fitted to 270 schedules of 20 products of f32 on an H200, then to 82 of six others where one
  // warp of a scheduler is alone and where memory is waited for. In cycles of a multiprocessor.
  // What its blocks do in a round: multiply-adds, of which each of four schedulers has 32 lanes,
  // and warps stay where they are in a block; reads of shared memory; what is brought to it, by 32
  // elements; a warp's barrier; more where a scheduler has one warp or two. Or what they wait for:
  // the latency, and a bit more for each of k with eight by eight sums; longer for what only memory
  // has, of which so many bytes come in one. Then a block beside, sums of groups and of blocks that
  // meet, whose bytes come in one. Of a last wave this part counts even where few blocks have it.
  constexpr double kMultiply = 1.09, kScheduler = 0.62, kRead = 0.19, kBring = 2.5, kBarrier = 7.4,
                   kWarpAlone = 1.13, kAlone = 1.12, kLatency = 490, kLatencyAcross = 1150,
                   kLatencyOfK = 53, kMemory = 1040, kInOne = 16.7, kBlock = 800, kAdd = 196,
                   kMeeting = 2070, kL2 = 16, kLast = 0.17, kSurely = 1.03;
  constexpr int64_t kThreads = 256, kStatic = 48 << 10, kShared = 227 << 10, kOfSystem = 1024,
                    kResident = 2048, kBlocks = 32, kFewest = 4, kFine = 16, kMost = 128;
  constexpr unsigned kGroup = 4; // elements of 16 bytes
  constexpr GroupTile kTiles[] = {{128, 128, 256}, {128, 64, 128}, {64, 128, 128},
                                  {64, 64, 64},    {128, 32, 64},  {32, 128, 64},
                                  {32, 64, 32},    {16, 128, 32},  {32, 32, 64}};
  if (sizes.batch < 0 || sizes.rows < 0 || sizes.columns < 0 || sizes.inner < 0)
    return 0;
  int64_t operandBytes = 4 * sizes.batch * sizes.inner * (sizes.rows + sizes.columns);
  // Supposedly a round finds half of what lies along k in the first cache, from the one before.
  bool alongK = liesAlong(dot.getLhs(), dot.getLhsContract()) &&
                liesAlong(dot.getRhs(), dot.getRhsContract());
  double least = 0;
  auto consider = [&](const GroupTile &tile, int64_t parts, int64_t depth) {
    int64_t threads = tile.threads * parts, sums = int64_t(tile.rows) * tile.columns;
    int64_t tiles = sizes.batch * int64_t(llvm::divideCeil(sizes.rows, tile.rows)) *
                    int64_t(llvm::divideCeil(sizes.columns, tile.columns));
    int64_t slices = llvm::divideCeil(sizes.inner, depth), across = tile.rows + tile.columns;
    int64_t slice = TileShape{tile.rows, unsigned(depth), kGroup}.elements() +
                    TileShape{tile.columns, unsigned(depth), kGroup}.elements();
    int64_t bytes = 4 * std::max(2 * parts * slice, parts > 1 ? parts * sums : 0);
    if (tiles == 0 || threads > kThreads || bytes > kStatic || (parts > 1 && parts >= slices))
      return;
    if (only && !only->hasTile(tile.rows, tile.columns, depth, threads, 0, 1, parts))
      return;
    bool large = tile.side() == 8;
    unsigned registers = !large ? 64 : tile.threads == kThreads ? 128 : 168;
    int64_t most = std::max<int64_t>(
        1, std::min({kShared / (bytes + kOfSystem), GpuArch::registers / (threads * registers),
                     kResident / threads, kBlocks}));
    // Whoever shares what no cache keeps waits for it with the others.
    bool cold = operandBytes >= arch.l2Bytes * 4 / 5;
    // Groups of a block share what they leave for other blocks evenly.
    bool even = sums / tile.threads / kGroup % parts == 0;
    // Of many parts not each number is worth a look.
    for (int64_t split = 1; split <= (sizes.shares ? kMost : 1);
         split += std::max<int64_t>(1, split / kFine * 4)) {
      int64_t among = split * parts, rounds = llvm::divideCeil(slices, among);
      if (split > 1 &&
          (!even || among * kFewest > slices || tiles > int64_t(kCounterBytes / sizeof(int32_t))))
        break;
      if (among > 1 && (among - 1) * rounds >= slices)
        continue; // a block would have none
      if (only && split != only->split)
        continue;
      int64_t each = llvm::divideCeil(tiles * split, arch.multiprocessors);
      auto together = double(std::min(most, each)), warps = double(threads) / GpuArch::warp;
      double schedulers =
          warps < 4 ? std::max(1.0, 4 / warps * kScheduler) : std::max(1.0, 4 / (together * warps));
      double work = kMultiply * double(sums * depth * parts) / 128 * schedulers +
                    kRead * warps * double(depth) * tile.side() +
                    kBring * double(across * depth * parts) / GpuArch::warp + kBarrier * warps;
      if (together * warps <= 8)
        work *= together * warps <= 4 ? kWarpAlone : kAlone;
      double onTheirWay = together * double(across * depth * parts) * 4;
      double latency = (alongK ? kLatency : kLatencyAcross) +
                       (large ? kLatencyOfK * double(depth) : 0) +
                       (cold ? kMemory + onTheirWay / kInOne : 0);
      double waves =
          kLast * double(llvm::divideCeil(each, most)) +
          (1 - kLast) * std::max(1.0, double(tiles * split) / double(arch.multiprocessors * most));
      double cost = waves * (double(rounds) * std::max(latency, together * work) + kBlock) +
                    (parts > 1 ? kAdd * double(parts) : 0);
      if (split > 1)
        cost = kSurely * (cost + kMeeting + double((each + split) * sums * 4) / kL2);
      if (least != 0 && cost >= least)
        continue;
      least = cost;
      s.rows = tile.rows;
      s.columns = tile.columns;
      s.depth = unsigned(depth);
      s.threads = unsigned(threads);
      s.vectors = unsigned(parts);
      s.split = unsigned(split);
      s.scratchBytes = split > 1 ? unsigned(kCounterBytes + tiles * split * sums * 4) : 0;
    }
  };
  for (const GroupTile &tile : kTiles)
    for (int64_t parts : {1, 2, 4, 8})
      for (int64_t depth : {16, 8})
        consider(tile, parts, depth);
  return least;
}

/// Tiles for groups of a block's threads, which have matrices of their own or parts of k, where
/// that surely costs less than `against`. Gives what the choice costs. `only`: the one kernel that
/// is looked at.
static double groupProduct(ScheduleChoice &s, const ProductSizes &sizes, const GpuArch &arch,
                           double against, const ScheduleChoice *only) {
  // Fitted to 33 products of f32 on an H200, in 2 to 43 ways each: the choice takes up to 1.17
  // times as long as the best. Cycles of a slice, for a thread of 16 sums and by what all blocks of
  // a multiprocessor multiply and read; of a tile beside.
  constexpr double kLatency = 770, kMultiply = 0.0115, kRead = 0.154, kTile = 58, kSurely = 0.8;
  constexpr int64_t kFewest = 128, kThreads = 256, kRegisters = 64, kStatic = 48 << 10,
                    kShared = 227 << 10;
  constexpr unsigned kDepth = 16, kGroup = 4; // elements of 16 bytes
  constexpr GroupTile kTiles[] = {{32, 32, 64}, {32, 64, 128}, {64, 32, 128}, {16, 16, 16},
                                  {16, 32, 32}, {32, 16, 32},  {64, 16, 64},  {16, 64, 64},
                                  {64, 8, 32},  {128, 8, 64},  {8, 8, 4}};
  double least = against * kSurely;
  auto consider = [&](const GroupTile &tile, int64_t matrices, int64_t parts) {
    bool sharesSmall = parts > 1 && tile.threads < 16;
    int64_t groups = matrices * parts, threads = groups * tile.threads;
    int64_t rounds = llvm::divideCeil(sizes.inner, kDepth * parts);
    int64_t slice = TileShape{tile.rows, kDepth, kGroup}.elements() +
                    TileShape{tile.columns, kDepth, kGroup}.elements();
    int64_t bytes = 4 * std::max(groups * slice * (rounds > 1 ? 2 : 1),
                                 parts > 1 ? parts * tile.rows * tile.columns : 0);
    // A few threads keep all of a large slice in registers on its way.
    bool keeps = rounds == 1 || tile.rows + tile.columns <= tile.threads / 4 * 9;
    if (threads < (sharesSmall ? kFewest / 2 : kFewest) || threads > kThreads || bytes > kStatic ||
        !keeps)
      return;
    if (only && (only->split > 1 ||
                 !only->hasTile(tile.rows, tile.columns, kDepth, threads, 0, matrices, parts)))
      return;
    int64_t blocks = int64_t(llvm::divideCeil(sizes.batch, matrices)) *
                     int64_t(llvm::divideCeil(sizes.rows, tile.rows)) *
                     int64_t(llvm::divideCeil(sizes.columns, tile.columns));
    int64_t each = llvm::divideCeil(blocks, arch.multiprocessors);
    // Parts of 8 x 8 were faster where a multiprocessor has one block, and slower where it has two.
    if (sharesSmall && each > 1)
      return;
    int64_t together = std::max<int64_t>(
        1, std::min({each, kShared / bytes, GpuArch::registers / (threads * kRegisters)}));
    double work = double(groups) * kDepth *
                  (tile.rows * tile.columns * kMultiply + (tile.rows + tile.columns) * kRead);
    double cost = double(llvm::divideCeil(each, together)) *
                  (double(rounds) * std::max(kLatency, double(together) * work) + kTile);
    if (cost >= least)
      return;
    least = cost;
    s.rows = tile.rows;
    s.columns = tile.columns;
    s.depth = kDepth;
    s.threads = unsigned(threads);
    s.lanes = unsigned(matrices);
    s.vectors = unsigned(parts);
    s.split = 1;
    s.scratchBytes = 0;
  };
  for (const GroupTile &tile : kTiles)
    for (int64_t groups = 1; groups <= kThreads / tile.threads; groups *= 2) {
      if (groups <= sizes.batch)
        consider(tile, groups, 1);
      if (groups > 1 && groups * kDepth < 2 * sizes.inner)
        consider(tile, 1, groups);
    }
  return least < against * kSurely ? least : std::isinf(against) ? 0 : against;
}

double device::scheduleExact(ScheduleChoice &s, kernel::LaunchOp launch, const ProductSizes &sizes,
                             const GpuArch &arch, const ScheduleChoice *only) {
  constexpr int64_t kLarge = 128, kShort = 512;
  constexpr double kSurely = 1.25; // of estimates that were fitted apart
  // What the older ones leave out: what begins and ends, and what is stored, by byte.
  constexpr double kStart = 2500, kOut = 0.025;
  Operation *op = productOf(launch);
  auto result = tensorType(op->getResult(0));
  s.form = Form::Product;
  s.rows = s.columns = 64;
  s.depth = 16;
  Type sum = computeType(sumType(result.getElementType()));
  auto dot = dyn_cast<prim::DotOp>(op);
  if (sum.getIntOrFloatBitWidth() > 32) {
    double cost = dot && sumsOnUnits(sum, arch) ? unitsProduct(s, dot, sizes, arch, only) : 0;
    if (cost > 0 || only)
      return cost;
    s.depth = sumsOnUnits(sum, arch) ? 16 : 8;
    splitProduct(s, launch, arch);
    return 0;
  }
  constexpr double kAny = std::numeric_limits<double>::infinity();
  double cost = dot && readsMemory(dot) ? tileProduct(s, dot, sizes, arch, only) : 0;
  if (cost > 0 || only) {
    // What smaller tiles were fitted to has short sums.
    if (sizes.inner <= kShort)
      cost = groupProduct(s, sizes, arch, cost > 0 ? cost : kAny, only);
    if (cost > 0)
      cost = kSurely * (cost + kStart +
                        kOut * 4 * double(sizes.batch * sizes.rows * sizes.columns) /
                            double(arch.multiprocessors));
    if (llvm::any_of(op->getOperandTypes(), [](Type type) {
          return !cast<RankedTensorType>(type).getElementType().isF32();
        }))
      return cost;
    double ahead = aheadProduct(s, dot, sizes, arch, cost > 0 ? cost : kAny, only);
    return ahead > 0 ? ahead : cost;
  }
  int64_t columns = result.getRank() ? result.getShape().back() : 1;
  if (auto conv = dyn_cast<prim::ConvOp>(op))
    columns = tensorType(conv.getW()).getDimSize(0) / int64_t(conv.getGroups());
  if (result.hasStaticShape() && !ShapedType::isDynamic(columns) && columns >= kLarge &&
      result.getNumElements() >= kLarge * kLarge * arch.multiprocessors)
    s.rows = s.columns = kLarge;
  else
    cost = splitProduct(s, launch, arch);
  if (cost > 0)
    groupProduct(s, sizes, arch, cost, nullptr);
  return 0;
}

std::optional<ProductSizes> device::openExactRows(kernel::LaunchOp launch, const GpuArch &arch) {
  auto dot = dyn_cast<prim::DotOp>(productOf(launch));
  if (!dot || !readsMemory(dot) || !isEpilogue(launch, dot))
    return std::nullopt;
  Type sum = computeType(sumType(tensorType(dot.getResult()).getElementType()));
  if (!sum.isIntOrFloat() || (sum.getIntOrFloatBitWidth() != 32 && !sumsOnUnits(sum, arch)))
    return std::nullopt;
  ProductSizes sizes = ProductSizes::of(dot);
  bool open = sizes.rows < 0 && sizes.batch > 0 && sizes.columns > 0 && sizes.inner > 0;
  return open ? std::optional(sizes) : std::nullopt;
}

void device::scheduleExactProduct(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  // Open rows, and results, beyond those of scheduleFewExactRows and scheduleFewOpenProducts.
  constexpr int64_t kMany = 4096, kManyResults = 1 << 22;
  ProductSizes sizes = ProductSizes::of(productOf(launch));
  if (std::optional<ProductSizes> open = openExactRows(launch, arch)) {
    sizes = *open;
    sizes.rows = kMany;
    sizes.shares = false;
  } else if (sizes.isOpen()) {
    // A kernel beside which there is none for few results has tiles for any number of them.
    if (isEpilogue(launch, productOf(launch)))
      sizes = typicalSizes(sizes, kManyResults);
    scheduleExact(s, launch, sizes, arch);
    s.split = 1;
    s.scratchBytes = 0;
    // Of results that are known a run may still have few tiles, with long sums.
    if (tensorType(productOf(launch)->getResult(0)).hasStaticShape())
      shareByRun(s, productOf(launch), arch);
    return;
  }
  scheduleExact(s, launch, sizes, arch);
}
