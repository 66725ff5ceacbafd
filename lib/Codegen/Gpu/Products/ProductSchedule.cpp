//===- ProductSchedule.cpp - How a product is cut into blocks -------------===//
//
// The model behind schedules of products and convolutions: each template that takes one is given
// its best tile, and an estimate where there is a choice. Tiles differ in how often operands are
// read, in how many multiprocessors have one, and in how much is on its way from memory.
//
//===----------------------------------------------------------------------===//
#include "../SharedKernels.h"
#include "ExactProductSchedule.h"
#include "tcc/Analysis/StorageLiveness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

bool device::multipliesWeights(kernel::LaunchOp launch, Operation *product) {
  auto argument = dyn_cast<BlockArgument>(product->getOperand(1));
  if (!argument)
    return false;
  Value given = storageOf(launch.getInputs()[argument.getArgNumber()]);
  return given.getDefiningOp<prim::WeightOp>() != nullptr;
}

/// Columns of a block, warps that share k and steps that a warp has on their way: what has memory
/// busiest. All multiprocessors have about as many columns, and bytes on their way for its
/// latency.
static void scheduleSkinnyMma(ScheduleChoice &s, const MmaProduct &product, int64_t products,
                              const GpuArch &arch) {
  constexpr int64_t kStep = 64, kOpen = 4096, kWarps = 24; // bytes; columns; of a multiprocessor
  constexpr int64_t kStaticBytes = 48 << 10;
  constexpr double kClock = 1.8e9, kLatency = 1400, kStart = 1500; // cycles
  s.form = Form::SkinnyMma;
  double memory = double(arch.bytesPerSecond) / arch.multiprocessors / kClock;
  int64_t steps = llvm::divideCeil(product.inner * product.instruction.elementBytes(), kStep);
  int64_t across = (product.batch < 0 ? 1 : product.batch), n = product.columns;
  bool few = product.rows <= MatrixInstruction::rows / 2;
  int64_t most = (few ? 8 : 4) / products;          // pieces in registers
  int64_t sumBytes = (few ? 8 : 16) * products * 4; // of a column and warp
  double least = 0;
  for (int64_t columns : {32, 16, 8})
    for (int64_t warps = std::clamp<int64_t>(steps, 1, 16); warps >= std::min<int64_t>(steps, 4);
         warps /= 2)
      for (int64_t depth = most * 8 / columns; depth >= 1; depth /= 2) {
        if (warps * columns * sumBytes > kStaticBytes)
          break;
        int64_t rounds = llvm::divideCeil(steps, warps * depth);
        int64_t each = llvm::divideCeil(across * llvm::divideCeil(n < 0 ? kOpen : n, columns),
                                        arch.multiprocessors);
        int64_t resident = std::min(each, std::max<int64_t>(1, kWarps / warps));
        double onTheirWay = double(resident * warps * depth * columns * products * kStep);
        double bytes = double(each * rounds * warps * depth * columns * products * kStep);
        double waves = double(llvm::divideCeil(each, resident));
        double cost = kStart * waves + bytes / std::min(memory, onTheirWay / kLatency);
        if (least != 0 && cost >= least)
          continue;
        least = cost;
        s.threads = warps * GpuArch::warp;
        s.columns = columns;
        s.depth = depth;
      }
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//
// Estimates in cycles of a multiprocessor. They rank tiles, and the two templates where both
// take a product.

/// Slices on their way: enough for the latency of memory, if two blocks fit then. Few rows do
/// little else than to wait for memory.
static unsigned stagesFor(const MmaTile &tile, int64_t steps, const GpuArch &arch) {
  constexpr int64_t kFewRows = 32, kInFlight = 64 << 10, kMost = 8;
  constexpr int64_t kStatic = 1024; // bytes of other shared memory
  int64_t shared = arch.sharedBytes - kStatic, fit = shared / tile.stageBytes();
  int64_t bytes = tile.rows <= kFewRows ? std::max(kInFlight, shared / 2 - kStatic) : kInFlight;
  int64_t wanted = std::clamp<int64_t>(bytes / tile.stageBytes(), 3, kMost);
  return static_cast<unsigned>(std::min({fit, wanted, std::max<int64_t>(steps, 2)}));
}

/// The most open rows or columns that have a schedule of their own.
constexpr int64_t kMostOpen = 4096;

/// Cycles of a product in such tiles.
struct MmaCost {
  double multiply, finish;
};

static MmaCost mmaCost(const MmaTile &tile, unsigned stages, int64_t split,
                       const MmaProduct &product, const GpuArch &arch) {
  constexpr double kProducts = 1024, kShared = 128, kL2 = 40; // a cycle: of 16 bits, bytes, bytes
  constexpr double kStep = 650, kMemory = 1000, kPipeline = 1500, kMeeting = 2000; // latencies
  // Sums that are finished in a cycle, those of rows and columns past the end included: 96 products
  // of 64^3 took 3.18 us in 128 x 64 and 2.61 in 64 x 64, 12 of 128 x 64 x 128 3.07 and 2.21 in 32
  // x 64 (H200).
  constexpr double kFinish = 5;
  // More rows or columns than those for which there are schedules of their own.
  constexpr int64_t kOpen = 4 * kMostOpen;
  auto tiles = [](int64_t extent, unsigned size) {
    return int64_t(llvm::divideCeil(extent < 0 ? kOpen : extent, size));
  };
  int64_t blocks = (product.batch < 0 ? 8 : product.batch) * tiles(product.rows, tile.rows) *
                   tiles(product.columns, tile.columns) * split;
  double warps = tile.threads() / 32;
  double step = std::max({double(tile.rows) * tile.columns * 64 / kProducts,
                          warps * (tile.warpRows + tile.warpColumns) * tile.lineBytes / kShared,
                          tile.stageBytes() / kL2});
  int64_t resident = std::max<int64_t>(1, arch.sharedBytes / (stages * tile.stageBytes()));
  int64_t each = llvm::divideCeil(blocks, arch.multiprocessors);
  int64_t together = std::min(each, resident);
  double steps = double(llvm::divideCeil(product.steps(), split));
  double latency = std::max(kStep, kMemory / (stages - 1));
  double cost = double(llvm::divideCeil(each, together)) *
                (steps * std::max(latency, double(together) * step) + kPipeline);
  if (split > 1)
    cost += kMeeting + double(split) * tile.rows * tile.columns * 4 / kL2;
  return {cost, double(each) * tile.rows * tile.columns / kFinish};
}

/// Numbers of parts of k that blocks may have of a tile.
constexpr int64_t kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

/// Whether a product of known extents may have so many of them in such tiles.
static bool maySplit(const MmaTile &tile, int64_t split, const MmaProduct &product) {
  constexpr int64_t kShortest = 4; // steps of a block that shares a tile
  int64_t tiles = product.batch * llvm::divideCeil(product.rows, tile.rows) *
                  llvm::divideCeil(product.columns, tile.columns);
  return split == 1 || (tiles <= int64_t(kCounterBytes / sizeof(int32_t)) &&
                        split * kShortest <= product.steps());
}

/// Whether the columns of a product of bytes do not lie along k: they are read one by one.
static bool gathersColumns(Operation *op, const MmaProduct &product) {
  auto dot = dyn_cast<prim::DotOp>(op);
  return dot && product.instruction.elementBytes() == 1 &&
         (dot.getRhsContract().empty() ||
          dot.getRhsContract().back() + 1 != tensorType(dot.getRhs()).getRank());
}

/// The best tiles, and what multiplying takes in them: the estimate for wgmma does not count what
/// is finished either. Where an extent of `op` is open, blocks share them as a run wants it.
static double scheduleMma(ScheduleChoice &s, Operation *op, const MmaProduct &product,
                          const GpuArch &arch, bool shares = true) {
  constexpr unsigned kMostHeld = 64; // bytes of a slice; more spill
  s.form = Form::Mma;
  s.depth = product.depth();
  // A thread holds what it reads of a slice one by one.
  bool gathers = gathersColumns(op, product);
  bool known = shares && product.batch >= 0 && product.rows >= 0 && product.columns >= 0;
  double least = 0, multiply = 0;
  for (const MmaTile &tile : MmaTile::all()) {
    unsigned stages = stagesFor(tile, product.steps(), arch);
    if (stages < std::clamp<int64_t>(product.steps(), 2, 3))
      continue; // too large for the architecture
    if (gathers && tile.columns * MmaTile::lineBytes / tile.threads() > kMostHeld)
      continue;
    int64_t tiles = !known ? 0
                           : product.batch * llvm::divideCeil(product.rows, tile.rows) *
                                 llvm::divideCeil(product.columns, tile.columns);
    for (int64_t split : kSplits) {
      if (split > 1 && !(known && maySplit(tile, split, product)))
        break;
      MmaCost cost = mmaCost(tile, stages, split, product, arch);
      if (least != 0 && cost.multiply + cost.finish >= least)
        continue;
      least = cost.multiply + cost.finish;
      multiply = cost.multiply;
      s.rows = tile.rows;
      s.columns = tile.columns;
      s.threads = tile.threads();
      s.vectors = stages;
      s.sharedBytes = stages * tile.stageBytes();
      s.split = split;
      s.scratchBytes = split > 1 ? kCounterBytes + tiles * split * tile.rows * tile.columns * 4 : 0;
    }
  }
  if (product.open)
    shareByRun(s, op, arch);
  return multiply;
}

SmallVector<FewRows> device::scheduleFewMma(kernel::LaunchOp launch, Schedule many,
                                            const GpuArch &arch) {
  constexpr int64_t kOfBoth =
      512; // of rows and columns, between which tiles are four times as many
  constexpr int64_t kTypical[] = {16, 64, 256, kOfBoth, 1024, kMostOpen};
  constexpr double kWorse = 1.1; // about what estimates are off by
  constexpr unsigned kKernels = 4;
  std::optional<MmaProduct> product = mmaProduct(launch, /*tf32=*/true);
  if (!product || product->batch < 0 || (product->rows >= 0 && product->columns >= 0))
    return {};
  // Elements of the result for so many of what is open.
  int64_t others = product->batch;
  for (int64_t extent : {product->rows, product->columns})
    others *= std::max<int64_t>(extent, 1);
  auto elements = [&](int64_t open) {
    return product->rows < 0 && product->columns < 0 ? open * open : open;
  };
  auto costAt = [&](const ScheduleChoice &choice, int64_t open) {
    MmaTile tile = MmaTile::of(choice.attr(launch.getContext()));
    double least = 0;
    for (int64_t split : kSplits) {
      if (split > 1 && !(product->openInner && maySplit(tile, split, product->with(open))))
        break;
      MmaCost cost = mmaCost(tile, choice.vectors, split, product->with(open), arch);
      if (least == 0 || cost.multiply + cost.finish < least)
        least = cost.multiply + cost.finish;
    }
    return RowsWay{choice, open, least};
  };
  SmallVector<RowsWay> ways;
  bool both = product->rows < 0 && product->columns < 0;
  for (int64_t open : kTypical) {
    if (open == kOfBoth && !both)
      continue;
    ScheduleChoice choice;
    scheduleMma(choice, productOf(launch), product->with(open), arch, product->openInner);
    ways.push_back(costAt(choice, open));
  }
  shareKernels(ways, many, kWorse, kKernels, costAt);
  SmallVector<std::pair<ScheduleChoice, int64_t>> choices;
  for (RowsWay &way : ways) {
    way.choice.indexBits = many.getIndexBits();
    choices.push_back({way.choice, elements(way.rows)});
  }
  return schedulesByRows(choices, others, many);
}

/// Whether a product is one of several matrices.
static bool isBatch(Operation *product) {
  auto dot = dyn_cast<prim::DotOp>(product);
  return dot && !dot.getLhsBatch().empty();
}

/// Below what part of wgmma's estimate, which counts what is read and written, that of mma.sync,
/// which does not, is surely faster. Of each tap wgmma multiplies 128 bytes of channels, mma.sync
/// those that there are: 8 images of 16 x 112^2 by 80 filters of 7^2 took 186 us in bf16 and 94 by
/// mma.sync, of 24 x 28^2 by 128 of 5^2 27.1 and 12.9, of 32 x 56^2 by 64 of 3^2 13.4 and 11.5, of
/// 40 x 28^2 16.0 and 13.1, but of 48 x 28^2 8.1 and 8.7 (H200, transposes included).
static double surelyFaster(Operation *product) {
  constexpr double kOfProducts = 0.43, kOfWindows = 0.4, kOfFewChannels = 0.8;
  constexpr int64_t kFewChannels = 48;
  auto conv = dyn_cast<prim::ConvOp>(product);
  if (!conv)
    return kOfProducts;
  auto w = tensorType(conv.getW());
  bool few = w.getElementTypeBitWidth() == 16 && w.getDimSize(1) < kFewChannels;
  return few ? kOfFewChannels : kOfWindows;
}

/// A product on matrix units by each template that takes it, and in the general form.
void device::scheduleProducts(SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                              const GpuArch &arch, bool tf32) {
  ScheduleChoice start = all.pop_back_val(), mma = start, general = start;
  auto product = arch.matrixUnit != MatrixUnit::None ? mmaProduct(launch, tf32) : std::nullopt;
  double wgmmaCost = scheduleWgmmas(all, start, launch, arch, tf32);
  double surely = surelyFaster(productOf(launch));
  double mmaCost = 0;
  if (product) {
    mmaCost = scheduleMma(mma, productOf(launch), *product, arch);
    // The templates are compared by few of what is open, as that for wgmma is estimated.
    constexpr int64_t kCompared = 128;
    ScheduleChoice compared;
    if (product->rows < 0)
      mmaCost = scheduleMma(compared, productOf(launch), product->with(kCompared), arch,
                            /*shares=*/false);
  }
  // Measured: small matrices of a batch as well (96 of 64^3 2.3 us by mma.sync, and 1.7). Of open
  // rows each estimate takes a number of tiles of its own.
  bool open = isa<prim::DotOp>(productOf(launch)) && ProductSizes::of(productOf(launch)).rows < 0;
  bool mmaFirst = wgmmaCost && mmaCost < surely * wgmmaCost && !isBatch(productOf(launch)) && !open;
  if (product)
    all.insert(mmaFirst ? all.begin() : all.end(), mma);
  bool sharesInner = false;
  if (isSkinny(productOf(launch))) {
    // Matrix units multiply 32 columns at least.
    constexpr int64_t kFewer = 4, kFewColumns = 32;
    ProductSizes sizes = ProductSizes::of(productOf(launch));
    bool first = !product || (sizes.columns > 0 && sizes.columns <= kFewer &&
                              (sizes.rows < 0 || sizes.rows > sizes.columns));
    ScheduleChoice skinny = start;
    scheduleSkinny(skinny, launch, sizes, arch);
    // Few columns of a long sum are one block's there: 2 x 100,000 x 2 took 41.4 us in bf16, and in
    // f32, shared by blocks, 4.9.
    sharesInner = skinny.split > 1 && sizes.batch * sizes.columns <= kFewColumns;
    all.insert(first || sharesInner ? all.begin() : all.end(), skinny);
  }
  if (product && isSkinnyMma(productOf(launch), *product) && !sharesInner) {
    all.insert(all.begin(), start);
    auto products = productsOf(launch);
    scheduleSkinnyMma(all.front(), *product, int64_t(products.size()), arch);
    if (llvm::all_of(products, [&](Operation *op) { return multipliesWeights(launch, op); }))
      all.front().kept = all.front().depth;
  }
  scheduleExactProduct(general, launch, arch);
  // Matrix units multiply 32 columns at least. Microseconds of grouped convolutions by mma.sync and
  // in tiles of 8: 8 channels, 3 x 3, 736 and 277, 1 x 1 43.0 and 17.6, 4 channels, 3 x 3, 138 and
  // 113; but 5 x 5 8.3 and 11.8, 64 channels to 8 23.7 and 30.1, and to 16 columns, 3 x 3, 101 and
  // 168.
  constexpr int64_t kNarrow = 8, kShort = 72; // columns, k
  ProductSizes sizes = ProductSizes::of(productOf(launch));
  auto conv = dyn_cast<prim::ConvOp>(productOf(launch));
  bool narrow = conv && conv.getGroups() > 1 && !wgmmaCost && sizes.columns > 0 &&
                sizes.columns <= kNarrow && sizes.inner > 0 && sizes.inner <= kShort;
  // A few short rows and columns of many matrices: of 32 x 8 x 512 x 8 in bf16 tiles of 16 x 64
  // took 8.4 us and the general form 2.8, of 512 x 4 x 64 x 4 5.7 and 3.1 (H200).
  constexpr int64_t kFewRows = 16, kLeast = 16, kSmall = 1 << 22; // rows; k; multiply-adds
  bool small = isa<prim::DotOp>(productOf(launch)) && sizes.batch > 1 && sizes.rows > 0 &&
               sizes.rows <= kFewRows && sizes.columns > 0 && sizes.columns <= kNarrow &&
               sizes.inner >= kLeast &&
               sizes.batch * sizes.rows * sizes.columns * sizes.inner <= kSmall;
  all.insert(narrow || small ? all.begin() : all.end(), general);
  if (columnProduct(launch)) {
    // Sums over rows of the right operand, as memory gives them.
    scheduleColumn(start, launch, arch);
    all.insert(all.begin(), start);
  }
}
