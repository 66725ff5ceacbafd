//===- ProductSchedule.cpp - How a product is cut into blocks -------------===//
//
// The model behind schedules of products and convolutions: each template that takes one is given
// its best tile, and an estimate where there is a choice. Tiles differ in how often operands are
// read, in how many multiprocessors have one, and in how much is on its way from memory.
//
//===----------------------------------------------------------------------===//
#include "MmaTile.h"
#include "ScheduleChoice.h"
#include "WgmmaTile.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Whether nobody writes the right operand of a product while a model runs: it is a weight.
static bool multipliesWeights(kernel::LaunchOp launch, Operation *product) {
  auto argument = dyn_cast<BlockArgument>(product->getOperand(1));
  if (!argument)
    return false;
  Value given = launch.getInputs()[argument.getArgNumber()];
  while (auto reshape = given.getDefiningOp<prim::ReshapeOp>())
    given = reshape.getX();
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

/// Cycles of the matrix units for a step of 128 rows and 128 bytes of k, which costs as much as
/// `fixed` columns beside its own.
static double wgmmaStep(unsigned columns, double fixed) {
  constexpr double kCycles = 4; // of a column
  return (columns + fixed) * kCycles;
}

/// Whether what follows a product reads more than a bias or two: something of the result's size.
static bool readsMuch(kernel::LaunchOp launch, const MatrixProduct &product) {
  int64_t resultRank = cast<RankedTensorType>(launch.getResultTypes()[0]).getRank();
  auto isLarge = [&](BlockArgument argument) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return type && argument != product.leftRows && argument != product.right &&
           type.getRank() >= std::min<int64_t>(resultRank, 2);
  };
  return llvm::any_of(launch.getBody().getArguments(), isLarge);
}

/// Whether what follows a product is a bias or little else, and no costly function.
static bool hasLightEpilogue(kernel::LaunchOp launch, const MatrixProduct &product) {
  return !readsMuch(launch, product) && llvm::none_of(launch.getBody().front(), [](Operation &op) {
    return op.hasTrait<prim::Costly>();
  });
}

/// The tile whose waves over the machine take least: a wide one does more with what it
/// fetches, a narrow one leaves fewer multiprocessors idle in the last wave. `sharers`: warp groups
/// that multiply one tile. Where each has its own, what it finishes is not waited for, but the L2
/// cache is: bytes a cycle to a multiprocessor, when all read.
static double scheduleWgmma(ScheduleChoice &s, kernel::LaunchOp launch,
                            const MatrixProduct &product, unsigned sharers, int64_t rows,
                            const GpuArch &arch) {
  constexpr double kFixed = 64,
                   kPipeline = 2500; // cycles until the first step, and of the epilogue
  // Wide tiles have four stages on their way, others six.
  constexpr double kEnd = 1000, kL2 = 52, kL2OfWide = 43;
  // Of all blocks, against those of the other template for wgmma; of windows.
  constexpr double kStart = 3500, kMeasured = 32, kWindow = 64;
  // Of 128 rows, whose sums a thread of one group holds: with registers for a light epilogue.
  constexpr unsigned kMostColumns = 128, kWide = 192;
  // Half as many rows again take a group 1.6 times as long: where the last wave is fuller for it.
  constexpr unsigned kRows = 128, kTallRows = 192;
  constexpr double kTall = 1.6;
  bool alone = sharers == 1;
  unsigned most = !alone ? 256 : hasLightEpilogue(launch, product) ? kWide : kMostColumns;
  s.form = Form::Wgmma;
  s.threads = MatrixTile::threads();
  s.rowThreads = alone ? MatrixTile::threads() / (MatrixTile::consumers + 1) : 0;
  s.mostBlocks = arch.multiprocessors;
  bool tall = alone && rows >= 0 && !product.window && product.resultBytes <= 2 &&
              !readsMuch(launch, product);
  auto steps = double(product.steps());
  // Results of four bytes are twice as much to store (4096 x 4096 x 4096 of 8-bit integers: 90.5 us
  // in shared tiles of 256 columns, 82.7 in turns; as tf32, of four times the steps, 336 and 402).
  auto result = cast<RankedTensorType>(launch.getResultTypes()[0]).getElementType();
  double pipeline = kPipeline * (result.getIntOrFloatBitWidth() > 16 ? 2 : 1);
  auto costOf = [&](unsigned height, unsigned columns, double fixed) {
    int64_t down = rows < 0 ? arch.multiprocessors / 8 : llvm::divideCeil(rows, height);
    int64_t tiles = down * llvm::divideCeil(product.columns, columns);
    double waves = double(llvm::divideCeil(tiles, arch.multiprocessors));
    double bytes = (kRows + columns) * MatrixTile::depth * 2;
    double end = kEnd + (waves > 1 ? 0 : kPipeline); // one group finishes a tile
    double l2 = columns > kMostColumns ? kL2OfWide : kL2;
    double step = std::max(wgmmaStep(columns, 0), bytes / l2) * (height > kRows ? kTall : 1);
    return alone ? waves * steps * step + end
                 : waves * (steps * wgmmaStep(columns, fixed) + pipeline);
  };
  double least = 0;
  for (unsigned height : {kRows, kTallRows})
    for (unsigned columns : {256, 192, 160, 128, 96, 64}) {
      if (!MatrixTile::isWhole(columns, product) || columns > most || !product.fitsRows(height) ||
          (product.window && !product.window->fits(columns)) ||
          (height > kRows && (!tall || columns > kMostColumns)))
        continue;
      double cost = costOf(height, columns, kFixed);
      if (least == 0 || cost < least) {
        least = cost;
        s.rows = height;
        s.columns = columns;
      }
    }
  if (least == 0)
    return 0;
  auto tile = MatrixTile::fit(s.rows, s.columns, sharers, product, arch.sharedBytes);
  s.sharedBytes = tile.sharedBytes();
  if (multipliesWeights(launch, product.op))
    s.kept = std::min<int64_t>(tile.stages, product.steps());
  return costOf(s.rows, s.columns, product.window ? kWindow : kMeasured) + kStart;
}

/// Stages of a tile's block if `together` of them share a multiprocessor; 0: they do not fit.
static unsigned stagesOf(WgmmaTile tile, int64_t steps, int64_t together, const GpuArch &arch) {
  constexpr int64_t kMost = 8, kOfSystem = 1024; // bytes of each block
  constexpr int64_t kOthers = 64;                // registers of a thread beside its sums
  int64_t threads = tile.threads(), registers = int64_t(tile.columns) / 2 + kOthers;
  bool fits = together * threads <= 2048 && together * threads * registers <= GpuArch::registers;
  int64_t bytes = (arch.sharedBytes + kOfSystem) / together - kOfSystem;
  tile.stages = std::min(kMost, steps);
  while (tile.stages > 1 && tile.sharedBytes() > bytes)
    --tile.stages;
  return fits && tile.sharedBytes() <= bytes ? tile.stages : 0;
}

/// What a tile costs in each block of `split`, and the schedule for it; 0 where it does not fit.
/// `onceBytes`: of operands that come from memory, where one tile reads what no other one does.
static double wgmmaTileCost(ScheduleChoice &s, WgmmaTile tile, int64_t split, int64_t tiles,
                            int64_t allSteps, int64_t onceBytes, const GpuArch &arch) {
  // Measured on an H200: bytes a cycle from L2 to one multiprocessor and to all, and out of
  // another block's shared memory; cycles of a block beside that, alone and where one follows
  // another, of meeting, of a step's latency, and of what a thread finishes at once. Clusters leave
  // multiprocessors idle that they do not divide: of 132, 96 ran in clusters of four at once, and
  // 120 did not.
  constexpr double kOne = 60, kAll = 6500, kOther = 12;
  constexpr double kMemory = 0.87, kClock = 1.8e9; // of the rate that a GPU is said to have
  constexpr double kStart = 4400, kNext = 6000, kMeeting = 500, kLatency = 900, kUnit = 300;
  int64_t steps = llvm::divideCeil(allSteps, split), blocks = tiles * split;
  int64_t usable = split > 1 ? int64_t(arch.multiprocessors) * 3 / 4 : arch.multiprocessors;
  int64_t each = llvm::divideCeil(blocks, usable), together = std::min<int64_t>(each, 8);
  for (; together > 0; --together)
    if ((tile.stages = stagesOf(tile, steps, together, arch)) >= std::min<int64_t>(steps, 3))
      break;
  if (together == 0)
    return 0;
  double waves = double(llvm::divideCeil(each, together));
  double bytes = double(steps * tile.stageBytes());
  double sums = double(tile.rows * tile.columns) * 4 * double(split - 1) / double(split);
  double multiply = double(each * steps) * wgmmaStep(tile.columns, 64) * tile.rows / 128;
  double fetch = std::max({double(each) * bytes / kOne, double(blocks) * bytes / kAll, multiply,
                           waves * kLatency * double(steps) / tile.stages,
                           double(onceBytes) / (kMemory * double(arch.bytesPerSecond) / kClock)});
  double finish = double(each) * kUnit * tile.columns / (16 * double(split));
  double meet = split > 1 ? double(each) * sums / kOther + waves * kMeeting : 0;
  s.rows = tile.rows;
  s.columns = tile.columns;
  s.vectors = tile.stages;
  s.threads = tile.threads();
  s.split = split;
  s.sharedBytes = tile.sharedBytes();
  return kStart + (waves - 1) * kNext + fetch + meet + finish;
}

/// One tile a block: the less the tiles of a matrix read, the fewer there are; blocks that share
/// them pay for reading each other's sums.
static double scheduleWgmmaTile(ScheduleChoice &s, const MatrixProduct &product, int64_t rows,
                                const GpuArch &arch) {
  constexpr int64_t kCluster = 8; // blocks
  s.form = Form::Wgmma;
  double least = 0;
  if (rows < 0)
    return least;
  bool bytes = product.instruction(64).sum().isInteger(32);
  auto tilesOf = [&](unsigned height, unsigned columns) {
    return int64_t(llvm::divideCeil(rows, height)) *
           int64_t(llvm::divideCeil(product.columns, columns));
  };
  // Windows that keep half of the machine busy have long sums, and no time to meet.
  bool shares = !product.window || 2 * tilesOf(64, 128) < arch.multiprocessors;
  // Of few rows each tile has weights of its own, and no cut of them comes sooner than memory gives
  // them. 64 x 4096 x 4096 took 15.3 us in tiles of 64 x 40, and 17.2 in 64 x 128 and clusters of
  // three, which read less out of L2 (H100; the weights alone are 11.6).
  int64_t once = rows <= WgmmaTile::groupRows && !product.window
                     ? product.columns * product.steps() * MatrixTile::depth * 2
                     : 0;
  for (unsigned height : {64, 128})
    for (unsigned columns = 16; columns <= 128; columns += bytes ? 16 : 8) {
      bool slices = product.rightByColumns || columns % MatrixTile::sliceColumns == 0;
      // Measured: 104 columns took as long as 128, or longer.
      bool whole = columns <= (product.window ? 64 : 96) || columns % 32 == 0;
      if (!slices || !whole || !product.fitsRows(height) ||
          (product.window && !product.window->fits(columns)))
        continue;
      for (int64_t split = 1; split <= std::min(shares ? kCluster : 1, product.steps()); ++split) {
        ScheduleChoice choice = s;
        int64_t steps = llvm::divideCeil(product.steps(), split);
        if ((split - 1) * steps >= product.steps())
          continue; // a block would have none
        double cost = wgmmaTileCost(choice, {height, columns, 0}, split, tilesOf(height, columns),
                                    product.steps(), once, arch);
        if (cost == 0 || (least != 0 && cost >= least))
          continue;
        least = cost;
        s = choice;
      }
    }
  return least;
}

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
  auto tiles = [](int64_t extent, unsigned size) {
    return extent < 0 ? 8 : int64_t(llvm::divideCeil(extent, size));
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

/// Whether the columns of a product of bytes do not lie along k: they are read one by one.
static bool gathersColumns(Operation *op, const MmaProduct &product) {
  auto dot = dyn_cast<prim::DotOp>(op);
  return dot && product.instruction.elementBytes() == 1 &&
         (dot.getRhsContract().empty() ||
          dot.getRhsContract().back() + 1 != tensorType(dot.getRhs()).getRank());
}

/// The best tiles, and what multiplying takes in them: the estimate for wgmma does not count what
/// is finished either. `gathers`: a thread holds what it reads of a slice one by one.
static double scheduleMma(ScheduleChoice &s, const MmaProduct &product, bool gathers,
                          const GpuArch &arch) {
  constexpr unsigned kMostHeld = 64; // bytes of a slice; more spill
  constexpr int64_t kShortest = 4;   // steps of a block that shares a tile
  s.form = Form::Mma;
  s.depth = product.depth();
  bool known = product.batch >= 0 && product.rows >= 0 && product.columns >= 0;
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
    for (int64_t split : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}) {
      bool shares = known && tiles <= int64_t(kCounterBytes / sizeof(int32_t)) &&
                    split * kShortest <= product.steps();
      if (split > 1 && !shares)
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
  return multiply;
}

/// Rows of a product's matrix; -1: not known.
static int64_t rowsOf(const MatrixProduct &product) {
  return volumeOf(tensorType(product.rows()).getShape().take_front(product.rowAxes));
}

/// The templates for wgmma that take a product, best first, and the estimate of the first.
static double scheduleWgmmas(SmallVector<ScheduleChoice> &all, const ScheduleChoice &start,
                             kernel::LaunchOp launch, const GpuArch &arch, bool tf32) {
  std::optional<MatrixProduct> operands = matrixOperands(launch);
  if (arch.matrixUnit != MatrixUnit::Wgmma || !operands ||
      (tensorType(operands->left).getElementType().isF32() && !tf32))
    return 0;
  int64_t rows = rowsOf(*operands);
  std::optional<MatrixProduct> copied = matrixProduct(launch);
  ScheduleChoice persistent = start, alone = start, tile = start;
  double persistentCost = 0, aloneCost = 0;
  if (copied) {
    persistentCost = scheduleWgmma(persistent, launch, *copied, MatrixTile::consumers, rows, arch);
    aloneCost = scheduleWgmma(alone, launch, *copied, 1, rows, arch);
  }
  double tileCost = scheduleWgmmaTile(tile, *operands, rows, arch);
  if (tileCost && multipliesWeights(launch, operands->op))
    tile.kept = std::min<int64_t>(tile.vectors, llvm::divideCeil(operands->steps(), tile.split));
  if (persistentCost)
    all.push_back(persistent);
  if (aloneCost)
    all.insert(aloneCost < persistentCost ? all.begin() : all.end(), alone);
  persistentCost = std::min(persistentCost, aloneCost);
  // Measured where a multiprocessor has up to three tiles; beyond, tile after tile is as good.
  constexpr int64_t kTilesEach = 3;
  auto tilesAlong = [](int64_t extent, unsigned size) {
    return int64_t(llvm::divideCeil(extent, size));
  };
  auto tilesOf = [&](const ScheduleChoice &choice) {
    return tilesAlong(rows, choice.rows) * tilesAlong(operands->columns, choice.columns);
  };
  bool few = tileCost && tilesOf(tile) * tile.split <= kTilesEach * arch.multiprocessors;
  // Measured: one tile a multiprocessor, none of which is finished while another is multiplied.
  constexpr double kOfSingle = 128; // cycles of a step
  double against = persistentCost;
  if (few && persistentCost && !operands->window && tilesOf(all.front()) <= arch.multiprocessors)
    against += kOfSingle * double(operands->steps());
  bool first = tileCost && (!persistentCost || (few && tileCost < against));
  if (tileCost)
    all.insert(first ? all.begin() : all.end(), tile);
  return first ? tileCost : persistentCost;
}

/// Whether a product is one of several matrices.
static bool isBatch(Operation *product) {
  auto dot = dyn_cast<prim::DotOp>(product);
  return dot && !dot.getLhsBatch().empty();
}

/// A product on matrix units by each template that takes it, and in the general form.
void device::scheduleProducts(SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                              const GpuArch &arch, bool tf32) {
  // Of the other templates' estimate, which counts what is read and written; that of mma.sync
  // does not.
  constexpr double kSurely = 0.4;
  ScheduleChoice start = all.pop_back_val(), mma = start, general = start;
  auto product = arch.matrixUnit != MatrixUnit::None ? mmaProduct(launch, tf32) : std::nullopt;
  double wgmmaCost = scheduleWgmmas(all, start, launch, arch, tf32);
  double mmaCost =
      product ? scheduleMma(mma, *product, gathersColumns(productOf(launch), *product), arch) : 0;
  // Measured: small matrices of a batch as well (96 of 64^3 2.3 us by mma.sync, and 1.7).
  bool mmaFirst = wgmmaCost && mmaCost < kSurely * wgmmaCost && !isBatch(productOf(launch));
  if (product)
    all.insert(mmaFirst ? all.begin() : all.end(), mma);
  bool sharesInner = false;
  if (isSkinny(productOf(launch))) {
    // Matrix units multiply 32 columns at least.
    constexpr int64_t kFewer = 4, kFewColumns = 32;
    ProductSizes sizes = ProductSizes::of(productOf(launch));
    bool first =
        !product || (sizes.columns > 0 && sizes.columns <= kFewer && sizes.rows > sizes.columns);
    ScheduleChoice skinny = start;
    scheduleSkinny(skinny, launch, arch);
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
