//===- AheadProductSchedule.cpp - Products that read ahead ----------------===//
//
// The model behind tiles of exact products whose threads read what they multiply next beside what
// they multiply, and whose slices asynchronous copies may bring: of f32, and of f64 on matrix
// units. A scheduler with few warps is busy then, so that tiles may be large or their threads few.
//
//===----------------------------------------------------------------------===//
#include "AheadProductSchedule.h"
#include "CopiedTile.h"
#include "MatrixInstructions.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

constexpr int64_t kShared = 227 << 10, kOfSystem = 1024, kResident = 2048, kBlocks = 32;

/// A tile of a group of so many threads, of which `across` are along a row, in slices of `depth`.
/// `stages` of a ring that copies fill; 0: registers bring slices.
struct AheadTile {
  unsigned rows, columns, depth, threads, across, parts, stages;

  unsigned sums() const { return rows * columns / threads; } ///< of a thread
  /// Elements of four and eight bytes, of which a few rows more than the tile's are kept apart.
  unsigned sliceBytes(unsigned bytes, bool byOwn) const {
    unsigned apart = GpuArch::accessBytes / bytes * (bytes == 8 ? 2 : 1), both = rows + columns;
    unsigned elements = std::max(depth * (both + 2 * apart), byOwn ? both * (depth + apart) : 0);
    return elements * bytes;
  }
  unsigned sharedBytes(unsigned bytes, bool byOwn) const {
    unsigned ring = parts * std::max(stages, 2u) * sliceBytes(bytes, byOwn);
    return parts > 1 ? std::max(ring, parts * rows * columns * bytes) : ring;
  }
  /// Whether a choice is of such tiles.
  bool isOf(const ScheduleChoice &s, unsigned bytes, bool byOwn) const {
    return s.hasTile(rows, columns, depth, int64_t(threads) * parts, across, 1, parts) &&
           s.sharedBytes == (stages ? sharedBytes(bytes, byOwn) : 0);
  }
  /// Blocks that a multiprocessor has at once. `shares`: they add up what others left.
  int64_t resident(unsigned bytes, bool byOwn, bool shares) const {
    int64_t all = int64_t(threads) * parts;
    return std::max<int64_t>(1, std::min({kShared / (sharedBytes(bytes, byOwn) + kOfSystem),
                                          int64_t(aheadBlocks(all, sums() * bytes / 4, shares)),
                                          kResident / all, kBlocks}));
  }
};

/// What is known of a product.
struct Problem {
  ProductSizes sizes;
  const GpuArch &arch;
  std::optional<DirectOperand> left, right;

  Problem(prim::DotOp dot, const ProductSizes &sizes, Type element, const GpuArch &arch)
      : sizes(sizes), arch(arch), left(directOperand(dot, 0, element)),
        right(directOperand(dot, 1, element)) {}
  bool known() const {
    return sizes.batch > 0 && sizes.rows > 0 && sizes.columns > 0 && sizes.inner > 0;
  }
  int64_t tiles(const AheadTile &t) const {
    return sizes.batch * int64_t(llvm::divideCeil(sizes.rows, t.rows)) *
           int64_t(llvm::divideCeil(sizes.columns, t.columns));
  }
  /// Whether copies can bring its slices: `group` elements in 16 bytes.
  bool copies(const AheadTile &t, unsigned group, bool units) const {
    if (!left || !right)
      return false;
    return llvm::all_of(std::array{std::pair(&*left, t.rows), std::pair(&*right, t.columns)},
                        [&](auto operand) {
                          TileShape shape{operand.second, t.depth, group, units ? 2 * group : group,
                                          units && operand.first->innerFirst()};
                          return CopiedTile::fits(*operand.first, shape, t.threads);
                        });
  }
};

} // namespace

unsigned device::aheadBlocks(int64_t threads, unsigned words, bool shares) {
  // Words of sums and registers of a thread: some more where it adds up what others left.
  constexpr unsigned kFew = 64, kRegisters = 128, kShares = 168, kMany = 256;
  constexpr int64_t kSmall = 128;
  int64_t registers = words > kFew ? kMany : shares && threads <= kSmall ? kShares : kRegisters;
  return unsigned(std::max<int64_t>(1, GpuArch::registers / (threads * registers)));
}

unsigned device::residentProducts(kernel::LaunchOp launch, Schedule s, const GpuArch &arch) {
  Type result = tensorType(productOf(launch)->getResult(0)).getElementType();
  unsigned words = computeType(sumType(result)).getIntOrFloatBitWidth() / 32;
  unsigned sums = s.getRows() * s.getColumns() * s.getVectors() / s.getThreads();
  auto inShared = unsigned((arch.sharedBytes + kOfSystem) / (s.getSharedBytes() + kOfSystem));
  return std::max(1u,
                  std::min(aheadBlocks(s.getThreads(), sums * words, s.getSplit() > 1), inShared));
}

static void choose(ScheduleChoice &s, const AheadTile &t, int64_t split, int64_t tiles,
                   unsigned bytes, bool byOwn) {
  s.rows = t.rows;
  s.columns = t.columns;
  s.depth = t.depth;
  s.threads = t.threads * t.parts;
  s.rowThreads = t.across;
  s.lanes = 1;
  s.vectors = t.parts;
  s.sharedBytes = t.stages ? t.sharedBytes(bytes, byOwn) : 0;
  s.split = unsigned(split);
  s.scratchBytes =
      split > 1 ? unsigned(kCounterBytes + tiles * split * t.rows * t.columns * bytes) : 0;
}

/// Calls `visit` with numbers of blocks that share a tile, and the rounds of each, in which no
/// block has nothing.
static void forSplits(const AheadTile &t, int64_t tiles, const ProductSizes &sizes, int64_t most,
                      function_ref<void(int64_t, int64_t)> visit) {
  // Many threads have no registers left for the parts of many blocks.
  constexpr int64_t kFewest = 4, kManyThreads = 256; // slices of a block
  most = !sizes.shares ? 1 : t.threads < kManyThreads ? most : 2;
  int64_t slices = llvm::divideCeil(sizes.inner, t.depth);
  // LLVM unrolls what adds up the parts, and of numbers that are no power of two it spills.
  for (int64_t split = 1; split <= most; split *= 2) {
    int64_t among = split * t.parts, rounds = llvm::divideCeil(slices, among);
    if (split > 1 && (among * kFewest > slices || tiles > int64_t(kCounterBytes / sizeof(int32_t))))
      return;
    if (among == 1 || (among - 1) * rounds < slices)
      visit(split, rounds);
  }
}

double device::aheadProduct(ScheduleChoice &s, prim::DotOp dot, const ProductSizes &sizes,
                            const GpuArch &arch, double against, const ScheduleChoice *only) {
  // Fitted to 580 schedules of 39 products on an H200, in cycles of a multiprocessor: off by 6 % of
  // those that matter. Issue slots: a multiply-add has one, a read of 16 bytes a bit less; what is
  // brought and lies along k takes more of an element, and what lies across hides. How much of its
  // slots a scheduler uses by its warps, and blocks of many threads less. Then what a slice takes
  // to come, of memory that no cache keeps and by byte; what begins and ends, of all and of a tile,
  // by byte; sums of groups and of blocks that meet.
  constexpr double kRead = 0.685, kBring = 8.06, kBringCopied = 10.6, kRound = 11.8, kAlone = 0.852,
                   kTwo = 0.881, kMore = 0.956, kMany = 0.975, kLatency = 408, kMemory = 821,
                   kInOne = 0.0206, kStart = 1330, kTile = 2350, kOut = 0.0198, kAdd = 1150,
                   kMeeting = 1750, kL2 = 42.5, kLast = 0.415;
  constexpr unsigned kManyThreads = 256;
  constexpr double kSchedulers = 4;
  constexpr int64_t kMostShare = 64, kMostOfRegisters = 8; // blocks
  // Of what memory has to bring, where parts are more than the cache keeps: 52 MB cost nothing.
  constexpr double kOfMemory = 0.87, kClock = 1.8e9;
  constexpr AheadTile kTiles[] = {
      {128, 128, 16, 128, 16, 1, 0}, {128, 128, 8, 128, 16, 1, 0}, {128, 128, 16, 256, 16, 1, 0},
      {128, 64, 16, 128, 8, 1, 0},   {64, 64, 8, 128, 16, 1, 0},   {128, 128, 16, 256, 16, 1, 3},
      {128, 64, 16, 128, 8, 2, 3},   {64, 128, 16, 128, 16, 1, 3}, {64, 128, 8, 64, 8, 1, 4},
      {64, 64, 8, 128, 16, 1, 3},    {32, 64, 16, 32, 8, 4, 3}};
  Problem p(dot, sizes, Float32Type::get(dot.getContext()), arch);
  constexpr int64_t kFew = 32; // rows or columns, of which smaller tiles are made
  if (!p.known() || std::min(p.sizes.rows, p.sizes.columns) < kFew)
    return 0;
  bool cold =
      4 * p.sizes.batch * p.sizes.inner * (p.sizes.rows + p.sizes.columns) >= arch.l2Bytes * 4 / 5;
  if (!p.left || !p.right)
    return 0;
  // Registers bring single elements where these lie at odd places, which copies do better.
  bool vectors = p.left->lanes == 4 && p.right->lanes == 4;
  double least = against;
  for (const AheadTile &t : kTiles) {
    int64_t tiles = p.tiles(t);
    if (!t.stages && !vectors)
      continue;
    if (t.sharedBytes(4, false) > (t.stages ? arch.sharedBytes : 48 << 10) ||
        (t.stages && !p.copies(t, 4, false)) || (only && !t.isOf(*only, 4, false)))
      continue;
    double ownRows = double(t.rows) * t.across / t.threads,
           ownColumns = double(t.columns) / t.across;
    double across = double(t.rows + t.columns) * t.depth,
           alongK = t.depth * ((p.left->innerFirst() ? t.rows : 0.0) +
                               (p.right->innerFirst() ? t.columns : 0.0)),
           warps = double(t.threads) * t.parts / GpuArch::warp;
    double issued = t.depth * (ownRows * ownColumns + kRead * (ownRows + ownColumns) / 4) +
                    (t.stages ? kBringCopied : kBring) * alongK / t.threads + kRound;
    forSplits(t, tiles, p.sizes, t.stages ? kMostShare : kMostOfRegisters,
              [&](int64_t split, int64_t rounds) {
                if (only && split != only->split)
                  return;
                int64_t each = llvm::divideCeil(tiles * split, arch.multiprocessors),
                        most = t.resident(4, false, split > 1);
                auto together = double(std::min(most, each));
                double busy = together * warps / kSchedulers;
                // A warp that is alone with its scheduler waits for what registers bring.
                if (!t.stages && busy <= 1)
                  return;
                double used = (busy <= 1   ? kAlone
                               : busy <= 2 ? kTwo
                                           : kMore) *
                              std::min(1.0, busy) * (t.threads < kManyThreads ? 1 : kMany);
                double latency = kLatency;
                if (cold)
                  latency += kMemory + together * across * 4 * t.parts * kInOne;
                if (t.stages)
                  latency /= t.stages - 1;
                double waves = kLast * double(llvm::divideCeil(each, most)) +
                               (1 - kLast) * std::max(1.0, double(tiles * split) /
                                                               double(arch.multiprocessors * most));
                double tileBytes = 4.0 * t.rows * t.columns;
                double work = std::max(latency, together * warps * issued / kSchedulers / used);
                double adding = t.parts > 1 ? kAdd * t.parts : 0;
                double cost = kStart + waves * (double(rounds) * work + kTile + adding +
                                                together * tileBytes * kOut);
                if (split > 1)
                  cost += kMeeting + double(each + split) * tileBytes / kL2;
                double parts = split > 1 ? double(tiles * split) * tileBytes : 0;
                if (parts >= double(arch.l2Bytes))
                  cost += 2 * parts * kClock / (kOfMemory * double(arch.bytesPerSecond));
                if (cost >= least)
                  return;
                least = cost;
                choose(s, t, split, tiles, 4, false);
              });
  }
  return least < against ? least : 0;
}

double device::unitsProduct(ScheduleChoice &s, prim::DotOp dot, const ProductSizes &sizes,
                            const GpuArch &arch, const ScheduleChoice *only) {
  // Of f64 on an H200, fitted to 145 schedules of eleven products: multiply-adds of a
  // multiprocessor in a cycle, and what reads of shared memory take beside them; more where it has
  // four warps, or eight; what 16 of k take to come. Then as above.
  constexpr double kMultiply = 181, kRead = 1.16, kFourWarps = 1.4, kEightWarps = 1.04,
                   kLatency = 212, kStart = 1700, kMeeting = 3560, kL2 = 15.4, kLast = 0.13;
  constexpr int64_t kMostShare = 8; // blocks
  constexpr AheadTile kTiles[] = {{64, 128, 16, 128, 8, 1, 3},
                                  {64, 64, 16, 128, 8, 1, 4},
                                  {32, 64, 16, 128, 8, 1, 4},
                                  {32, 32, 32, 128, 8, 1, 4},
                                  {32, 32, 16, 128, 8, 1, 5}};
  Problem p(dot, sizes, Float64Type::get(dot.getContext()), arch);
  if (!p.known())
    return 0;
  double least = 0;
  for (const AheadTile &t : kTiles) {
    int64_t tiles = p.tiles(t);
    if (t.sharedBytes(8, true) > arch.sharedBytes || !p.copies(t, 2, true) ||
        (only && !t.isOf(*only, 8, true)))
      continue;
    // A warp reads its rows and columns at each k, 16 elements at once.
    double warps = t.threads / GpuArch::warp, ownRows = 8.0 * t.rows * t.across / t.threads,
           ownColumns = 4.0 * t.columns / t.across;
    double work = t.rows * t.columns * t.depth / kMultiply +
                  kRead * warps * (ownRows + ownColumns) * t.depth / 16;
    forSplits(t, tiles, p.sizes, kMostShare, [&](int64_t split, int64_t rounds) {
      if (only && split != only->split)
        return;
      int64_t each = llvm::divideCeil(tiles * split, arch.multiprocessors),
              most = t.resident(8, true, split > 1);
      auto together = double(std::min(most, each));
      double busy = together * warps;
      double slower = busy <= 4 ? kFourWarps : busy <= 8 ? kEightWarps : 1;
      double waves =
          kLast * double(llvm::divideCeil(each, most)) +
          (1 - kLast) * std::max(1.0, double(tiles * split) / double(arch.multiprocessors * most));
      double cost = kStart + waves * double(rounds) *
                                 std::max(kLatency * t.depth / 16, together * work * slower);
      if (split > 1)
        cost += kMeeting + double((each + split) * t.rows * t.columns * 8) / kL2;
      if (least != 0 && cost >= least)
        return;
      least = cost;
      choose(s, t, split, tiles, 8, true);
    });
  }
  return least;
}
