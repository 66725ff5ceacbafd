//===- WgmmaTileSchedule.cpp - How a product is cut into tiles of a block -===//
//
// The model of the template that computes one tile a block (WgmmaTileKernel.cpp), alone or shared
// by a cluster: what such tiles take, in cycles of a multiprocessor.
//
//===----------------------------------------------------------------------===//
#include "WgmmaSchedule.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Stages of a tile's block if `together` of them share a multiprocessor, those that the tile has
/// if it has any; 0: they do not fit.
static unsigned stagesOf(WgmmaTile tile, int64_t steps, int64_t together, const GpuArch &arch) {
  constexpr int64_t kMost = 8, kOfSystem = 1024; // bytes of each block
  constexpr int64_t kOthers = 64;                // registers of a thread beside its sums
  constexpr int64_t kOfTurned = 96;
  int64_t threads = tile.threads(),
          registers = int64_t(tile.instructionColumns()) / 2 + (tile.turned ? kOfTurned : kOthers);
  bool fits = together * threads <= 2048 && together * threads * registers <= GpuArch::registers;
  int64_t bytes = (arch.sharedBytes + kOfSystem) / together - kOfSystem;
  if (!tile.stages) {
    tile.stages = std::min(kMost, steps);
    while (tile.stages > 1 && tile.sharedBytes() > bytes)
      --tile.stages;
  }
  return fits && tile.sharedBytes() <= bytes ? tile.stages : 0;
}

namespace {

/// Measured on an H200: bytes a cycle from L2 to one multiprocessor and to all, and out of another
/// block's shared memory; cycles of a block beside that, alone and where one follows another, of
/// meeting, of a step's latency, and of what a thread finishes at once; columns that a step costs
/// beside its own. Clusters leave multiprocessors idle that they do not divide: of 132, 96 ran in
/// clusters of four at once, and 120 did not.
struct TileConstants {
  double one, all, other, start, next, meeting, latency, unit, fixed;

  static TileConstants of(const MatrixProduct &product) {
    // Those of products were fitted to 279 times of 35 of 64 to 2048 rows, from L2 and with weights
    // from memory; of windows, and of products in the other order, they are older.
    if (product.window || product.turned)
      return {60, 6500, 12, 4400, 6000, 500, 900, 300, 64};
    return {69, 8700, 4.9, 3450, 2700, 220, 1850, 75, 49};
  }
};

} // namespace

/// What a tile costs in each block of `split`, and the schedule for it; 0 where it does not fit.
/// `onceBytes`: of operands that come from memory, where one tile reads what no other one does. A
/// tile with stages is that of a kernel that is there.
static double wgmmaTileCost(ScheduleChoice &s, const TileConstants &k, WgmmaTile tile,
                            int64_t split, int64_t tiles, int64_t allSteps, int64_t onceBytes,
                            const GpuArch &arch) {
  constexpr double kMemory = 0.87, kClock = 1.8e9; // of the rate that a GPU is said to have
  int64_t steps = llvm::divideCeil(allSteps, split), blocks = tiles * split;
  int64_t usable = split > 1 ? int64_t(arch.multiprocessors) * 3 / 4 : arch.multiprocessors;
  int64_t each = llvm::divideCeil(blocks, usable), together = std::min<int64_t>(each, 8);
  unsigned given = tile.stages;
  for (; together > 0; --together) {
    tile.stages = given;
    if ((tile.stages = stagesOf(tile, steps, together, arch)) >= std::min<int64_t>(steps, 3))
      break;
  }
  if (together == 0)
    return 0;
  double waves = double(llvm::divideCeil(each, together));
  double bytes = double(steps * tile.stageBytes());
  double sums = double(tile.rows * tile.columns) * 4 * double(split - 1) / double(split);
  double multiply = double(each * steps) * wgmmaStep(tile.instructionColumns(), k.fixed) *
                    tile.groups() * WgmmaTile::groupRows / 128;
  double fetch = std::max({double(each) * bytes / k.one, double(blocks) * bytes / k.all, multiply,
                           waves * k.latency * double(steps) / tile.stages,
                           double(onceBytes) / (kMemory * double(arch.bytesPerSecond) / kClock)});
  double finish = double(each) * k.unit * tile.columns / (16 * double(split));
  double meet = split > 1 ? double(each) * sums / k.other + waves * k.meeting : 0;
  s.rows = tile.rows;
  s.columns = tile.columns;
  s.vectors = tile.stages;
  s.threads = tile.threads();
  s.split = split;
  s.sharedBytes = tile.sharedBytes();
  return k.start + (waves - 1) * k.next + fetch + meet + finish;
}

/// Of few rows each tile has weights of its own, and no cut of them comes sooner than memory gives
/// them. 64 x 4096 x 4096 took 15.3 us in tiles of 64 x 40, and 17.2 in 64 x 128 and clusters of
/// three, which read less out of L2 (H100; the weights alone are 11.6).
static int64_t onceBytes(const MatrixProduct &product, int64_t rows) {
  return rows <= WgmmaTile::groupRows && !product.window
             ? product.columns * product.steps() * MatrixTile::depth * 2
             : 0;
}

/// The tiles of one block each, those that take least first: the less the tiles of a matrix read,
/// the fewer there are; blocks that share them pay for reading each other's sums.
SmallVector<RankedChoice> device::rankWgmmaTiles(const ScheduleChoice &start,
                                                 const MatrixProduct &product, int64_t rows,
                                                 const GpuArch &arch) {
  constexpr int64_t kCluster = 8, kOpen = 4096; // blocks; rows
  SmallVector<RankedChoice> ranked;
  if (rows < 0 && !product.turned)
    return ranked;
  bool bytes = product.instruction(64).sum().isInteger(32), open = rows < 0;
  if (open)
    rows = kOpen;
  auto tilesOf = [&](unsigned height, unsigned columns) {
    return product.tilesDown(rows, height) * int64_t(llvm::divideCeil(product.columns, columns));
  };
  // Windows that keep half of the machine busy have long sums, and no time to meet.
  bool shares = !open && (!product.window || 2 * tilesOf(64, 128) < arch.multiprocessors);
  int64_t once = onceBytes(product, rows);
  TileConstants constants = TileConstants::of(product);
  auto consider = [&](unsigned height, unsigned columns) {
    // Measured: 104 columns took as long as 128, or longer.
    bool whole = columns <= (product.window ? 64 : 96) || columns % 32 == 0;
    if (!whole || !product.fitsRows(height) || (product.window && !product.window->fits(columns)))
      return;
    for (int64_t split = 1; split <= std::min(shares ? kCluster : 1, product.steps()); ++split) {
      ScheduleChoice choice = start;
      choice.form = Form::Wgmma;
      int64_t steps = llvm::divideCeil(product.steps(), split);
      if ((split - 1) * steps >= product.steps())
        continue; // a block would have none
      double cost = wgmmaTileCost(choice, constants, {height, columns, 0, product.turned}, split,
                                  tilesOf(height, columns), product.steps(), once, arch);
      if (cost != 0)
        insertByCost(ranked, RankedChoice{choice, cost});
    }
  };
  if (product.turned) {
    // Of many tiles of short sums most is what becomes of the sums: 12 of 512 x 64 x 512 took 8.3
    // us by mma.sync and 13.2 so, 32 of 127 x 200 x 768, seven steps, 14.0 and 17.4 (H200).
    constexpr int64_t kShort = 4, kShortOfBatch = 8; // steps
    if (product.steps() < (product.matrixRows ? kShortOfBatch : kShort) &&
        tilesOf(128, 128) > arch.multiprocessors)
      return ranked;
    for (unsigned height : {16, 32, 64, 96, 128, 192, 256})
      for (unsigned columns : {64, 128})
        consider(height, columns);
    return ranked;
  }
  for (unsigned height : {64, 128})
    for (unsigned columns = 16; columns <= 128; columns += bytes ? 16 : 8)
      if (product.rightByColumns || columns % MatrixTile::sliceColumns == 0)
        consider(height, columns);
  return ranked;
}

double device::costOfWgmmaTile(const ScheduleChoice &kernel, const MatrixProduct &product,
                               int64_t rows, const GpuArch &arch) {
  ScheduleChoice again = kernel;
  int64_t tiles = product.tilesDown(rows, kernel.rows) *
                  int64_t(llvm::divideCeil(product.columns, kernel.columns));
  return wgmmaTileCost(again, TileConstants::of(product),
                       {kernel.rows, kernel.columns, kernel.vectors, false}, kernel.split, tiles,
                       product.steps(), onceBytes(product, rows), arch);
}
