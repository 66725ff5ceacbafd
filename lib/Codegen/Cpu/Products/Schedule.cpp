//===- Schedule.cpp - Tile sizes of products ------------------------------===//
//
// Panel widths and register tiles come from Dialect/Cpu/WeightPanels.h, where layout sees
// them too. The cut into tasks is searched by the time models of CutTimes.h. Figures:
// docs/Rationale/cpu-microkernels.md.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/Schedule.h"
#include "CutTimes.h"
#include "DotSchedule.h"
#include "FarRows.h"
#include "MatrixTile.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include "tcc/Target/CpuCosts.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace tcc::codegen {
namespace {

/// Assumed for extents that are unknown at compile time.
constexpr int64_t typicalM = 256, typicalN = 256, typicalK = 512, typicalPixels = 3136;
/// Bytes of stack that a kernel may use for packed panels, and for partial sums.
constexpr int64_t scratchLimit = 64 << 10;
/// k is cut where panels are packed into scratch, or one of weights fills L2 before the next.
constexpr int64_t packedBlock = 256, weightBlock = 768;
int64_t firstKnown(std::initializer_list<int64_t> extents) {
  return *llvm::find_if(extents, [](int64_t extent) { return extent > 0; });
}

/// One candidate cut into tasks.
struct Cut {
  int64_t tiles, panels; ///< per task
  double time;
};

/// Tiles of one panel, of `cycles` each, that are worth a task beside others.
int64_t leastTiles(double cycles) {
  constexpr double worthATask = 16384;
  return std::ceil(worthATask / cycles);
}

/// Sizes of parts of `total`, largest first: up to 64 equal parts, then smaller ones in steps
/// of a quarter, down to those of which a few lie in a cache.
llvm::SmallVector<int64_t> partSizes(double total, int64_t most) {
  llvm::SmallVector<int64_t> sizes;
  auto add = [&](int64_t size) {
    if (size <= most && (sizes.empty() || size < sizes.back()))
      sizes.push_back(size);
  };
  for (int64_t parts = 1; parts <= std::min(total, 64.0); ++parts)
    add(std::ceil(total / parts));
  if (sizes.empty())
    add(std::max<int64_t>(1, most));
  while (!sizes.empty() && sizes.back() > 1)
    add(sizes.back() * 3 / 4);
  return sizes;
}

/// The best cuts, best first; of equals the one with the fewest and largest parts.
template <typename Problem>
llvm::SmallVector<Cut> bestCuts(const Problem &problem, int64_t mostTiles, int64_t mostPanels) {
  constexpr size_t kept = 6;
  llvm::SmallVector<Cut> cuts;
  llvm::SmallVector<int64_t> panelSizes = partSizes(problem.panels, mostPanels);
  for (int64_t tiles : partSizes(problem.tiles, mostTiles))
    for (int64_t panels : panelSizes) {
      Cut cut{tiles, panels, problem.time(tiles, panels)};
      if (!(cut.time < HUGE_VAL))
        continue;
      auto *at =
          llvm::upper_bound(cuts, cut, [](const Cut &a, const Cut &b) { return a.time < b.time; });
      if (at == cuts.end() && cuts.size() == kept)
        continue;
      cuts.insert(at, cut);
      if (cuts.size() > kept)
        cuts.pop_back();
    }
  if (cuts.empty())
    cuts.push_back({1, 1, HUGE_VAL});
  return cuts;
}

} // namespace

/// Vectors a row of a panel: of the width that layout gave it, or the best one for n columns.
static std::optional<unsigned> panelVectorCount(const CpuTarget &cpu, int64_t n, unsigned accBits,
                                                std::optional<int64_t> panelWidth) {
  constexpr int64_t most = 4;
  int64_t lanes = cpu.lanes(accBits),
          width = panelWidth.value_or(choosePanelWidth(cpu, n, accBits));
  if (width % lanes || width < lanes || width > most * lanes)
    return std::nullopt;
  return width / lanes;
}

/// Lanes, rows, vectors and unrolling for m rows and n columns.
static std::optional<ContractionSchedule> registerTile(const CpuTarget &cpu, int64_t m, int64_t n,
                                                       unsigned accBits,
                                                       std::optional<int64_t> panelWidth) {
  ContractionSchedule schedule;
  schedule.lanes = cpu.lanes(accBits);
  std::optional<unsigned> vectors = panelVectorCount(cpu, n, accBits, panelWidth);
  if (!vectors)
    return std::nullopt;
  schedule.vectors = *vectors;
  schedule.rows = registerTileRows(cpu, schedule.vectors);
  // With vectors of two sizes in a tile LLVM's allocator spills once k is unrolled.
  int64_t lastLanes = n > 0 ? n % schedule.lanes : 0;
  bool mixedSizes = n > schedule.lanes && lastLanes && 2 * lastLanes <= schedule.lanes;
  schedule.unroll = mixedSizes ? 1 : 2;
  if (m > 0)
    schedule.rows = std::min<int64_t>(schedule.rows, m);
  return schedule;
}

/// Steps of k that are written out: all of a run, or as many as make it without a rest. Of more
/// products in one turn of a loop the allocator of registers loses sight, and spills: sooner where
/// sums leave few registers, and there runs are loops, since those of a filter's lines would be
/// written out one after the other.
static unsigned unrolledRun(const CpuTarget &cpu, const ContractionSchedule &schedule,
                            const LineCopies &copies) {
  constexpr unsigned manyRegisters = 32;
  bool roomy = cpu.vectorRegisters >= manyRegisters;
  int64_t mostProducts = roomy ? 128 : 40; // of vectors
  int64_t sums = schedule.rows * schedule.vectors, run = copies.run();
  int64_t steps = std::max<int64_t>(1, mostProducts / sums);
  if (!roomy && run > 1 && copies.lines * copies.taps * copies.channels * sums > mostProducts)
    steps = std::min(steps, run - 1);
  while (run % steps)
    --steps;
  return steps;
}

/// Register tiles of other heights, which the time model does not weigh: the highest that leaves
/// registers for a row of B and an element of A, and lower ones that leave less of the last idle.
static llvm::SmallVector<unsigned> otherRows(const CpuTarget &cpu, const ContractionSchedule &usual,
                                             int64_t m) {
  constexpr unsigned highest = 14;
  llvm::SmallVector<unsigned> rows;
  unsigned most = std::min((cpu.vectorRegisters - 1) / usual.vectors - 1, highest);
  if (most > usual.rows && (m < 0 || most <= m))
    rows.push_back(most);
  unsigned best = usual.rows;
  for (unsigned lower = usual.rows - 1; m > 0 && lower > usual.rows / 2; --lower)
    if (llvm::alignTo(m, lower) < 0.98 * llvm::alignTo(m, best))
      best = lower;
  if (best != usual.rows)
    rows.push_back(best);
  return rows;
}

/// A convolution in so many register tiles, as a product.
static ProductProblem problemOf(const CpuTarget &cpu, const ConvShape &shape,
                                const ContractionSchedule &schedule, double tiles) {
  double k = shape.taps * shape.channels, bytes = shape.accBits / 8, width = schedule.panelWidth();
  ProductProblem problem;
  problem.tiles = tiles;
  problem.panels = shape.groups * std::ceil(shape.filters / width);
  problem.tileCycles = k * schedule.rows * schedule.vectors;
  problem.aTileBytes = schedule.rows * shape.inputPixels * shape.channels * shape.groups * bytes;
  problem.bPanelBytes = width * k * bytes;
  problem.l2Bytes = cpu.l2Bytes;
  return problem;
}

/// Tasks are lines of outputs, or equal parts of them, by all panels or some.
static llvm::SmallVector<ContractionSchedule>
rankLines(const CpuTarget &cpu, const ConvShape &shape, ContractionSchedule schedule) {
  constexpr int64_t typicalLine = 64, grainProducts = 1 << 17;
  int64_t line = firstKnown({shape.linePixels, typicalLine}), bytes = shape.accBits / 8;
  if (!shape.tileRows)
    schedule.rows = lineTileRows(cpu, schedule.vectors, shape.taps * shape.channels);
  if (shape.linePixels > 0)
    schedule.rows = std::min<int64_t>(schedule.rows, shape.linePixels);
  int64_t pixels = firstKnown({shape.pixels, shape.imagePixels, typicalPixels});
  int64_t lines = llvm::divideCeil(pixels, line), lineTiles = llvm::divideCeil(line, schedule.rows);
  int64_t mostTiles = 0;
  while (mostTiles < lineTiles &&
         shape.copies.lines * shape.copies.length((mostTiles + 1) * schedule.rows) * bytes <=
             scratchLimit)
    ++mostTiles;
  if (mostTiles == 0)
    return {};
  int64_t k = shape.taps * shape.channels;
  ProductProblem problem = problemOf(cpu, shape, schedule, double(lines) * lineTiles);
  schedule.a = OperandAccess::Copied;
  schedule.unroll = unrolledRun(cpu, schedule, shape.copies);
  schedule.inlineEpilogue = k <= 48 && shape.linePixels > 0;
  schedule.grainProducts = grainProducts;
  llvm::SmallVector<ContractionSchedule> ranked;
  for (const Cut &cut : bestCuts(problem, mostTiles, INT64_MAX)) {
    schedule.tilesPerTask = llvm::divideCeil(lineTiles, llvm::divideCeil(lineTiles, cut.tiles));
    schedule.panelsPerTask = cut.panels;
    ranked.push_back(schedule);
  }
  return ranked;
}

/// The best cuts of one way to read the input.
static llvm::SmallVector<ContractionSchedule> cutConv(const CpuTarget &cpu,
                                                      const ConvShape &shape) {
  constexpr double cyclesOfTap = 4; // to gather it
  auto tile = registerTile(cpu, shape.pixels, shape.filters, shape.accBits, shape.panelWidth);
  if (!tile)
    return {};
  ContractionSchedule schedule = *tile;
  schedule.rows = shape.tileRows.value_or(schedule.rows);
  if (shape.a == OperandAccess::Copied)
    return rankLines(cpu, shape, schedule);
  bool gathers = shape.a == OperandAccess::Gathered;
  int64_t pixels = firstKnown({shape.pixels, shape.imagePixels, typicalPixels});
  int64_t bytes = shape.accBits / 8, width = schedule.panelWidth();
  int64_t k = shape.taps * shape.channels;

  ProductProblem problem =
      problemOf(cpu, shape, schedule, std::ceil(double(pixels) / schedule.rows));
  if (gathers)
    problem.aTileCopyCycles = double(schedule.rows) * shape.taps * cyclesOfTap;

  // A panel that does not stay in L2 is used a block of taps at a time, by all of
  // the task's tiles; their sums wait in scratch. The same bounds gathered rows.
  int64_t mostTiles = INT64_MAX, mostPanels = INT64_MAX;
  int64_t blockBytes = INT64_MAX;
  if (problem.bPanelBytes > cpu.l2Bytes / 2 && problem.tiles > 1)
    blockBytes = cpu.l2Bytes / 4 / width;
  if (gathers && schedule.rows * k * shape.groups * bytes > scratchLimit)
    blockBytes = std::min(blockBytes, scratchLimit / schedule.rows / shape.groups);
  if (!gathers && schedule.rows * shape.taps * 16 > scratchLimit) // pointer table
    blockBytes = std::min(blockBytes, scratchLimit / 16 / schedule.rows * shape.channels * bytes);
  if (shape.taps > 1 && blockBytes != INT64_MAX) {
    int64_t taps = std::max<int64_t>(1, blockBytes / (shape.channels * bytes));
    int64_t blocks = llvm::divideCeil(shape.taps, taps);
    schedule.kBlock = llvm::divideCeil(shape.taps, blocks) * shape.channels;
    mostTiles = std::max<int64_t>(1, scratchLimit / (schedule.rows * width * bytes));
    mostPanels = 1;
    problem.bPanelBytes = 0; // resident
  }
  schedule.a = shape.a;
  if (gathers && shape.groups > 1)
    schedule.unroll = unrolledRun(cpu, schedule, shape.copies);
  schedule.inlineEpilogue = k <= 48 && shape.pixels > 0;
  llvm::SmallVector<ContractionSchedule> ranked;
  bool assumed = shape.pixels <= 0 && shape.imagePixels <= 0;
  for (const Cut &cut : bestCuts(problem, mostTiles, mostPanels)) {
    schedule.tilesPerTask = cut.tiles;
    schedule.panelsPerTask = cut.panels;
    if (assumed)
      schedule.leastTiles = leastTiles(problem.tileCycles * cut.panels);
    ranked.push_back(schedule);
  }
  return ranked;
}

llvm::SmallVector<ContractionSchedule> rankConv(const CpuTarget &cpu, const ConvShape &shape,
                                                bool variations) {
  llvm::SmallVector<ContractionSchedule> ranked = cutConv(cpu, shape);
  if (ranked.empty() || !variations)
    return ranked;
  bool lines = shape.a == OperandAccess::Copied;
  for (unsigned rows : otherRows(cpu, ranked.front(), lines ? shape.linePixels : shape.pixels)) {
    ConvShape other = shape;
    other.tileRows = rows;
    llvm::append_range(ranked, llvm::ArrayRef(cutConv(cpu, other)).take_front());
  }
  return ranked;
}

llvm::SmallVector<WinogradSchedule> rankWinograd(const CpuTarget &cpu, const WinogradShape &shape) {
  constexpr int64_t typicalTiles = 784;
  int64_t tiles = firstKnown({shape.tiles, shape.imageTiles, typicalTiles});
  WinogradSchedule schedule;
  schedule.lanes = cpu.lanes(32);
  std::optional<unsigned> vectors = panelVectorCount(cpu, shape.filters, 32, shape.panelWidth);
  if (!vectors)
    return {};
  schedule.vectors = *vectors;
  int64_t most = registerTileRows(cpu, schedule.vectors);
  schedule.rows = most;
  // Fewer rows if that leaves fewer of the last register tile idle.
  for (int64_t rows = most - 1; shape.tiles > 0 && rows > std::max<int64_t>(1, most * 2 / 3);
       --rows)
    if (llvm::alignTo(tiles, rows) < 0.96 * llvm::alignTo(tiles, schedule.rows))
      schedule.rows = rows;

  WinogradProblem problem;
  problem.tiles = llvm::divideCeil(tiles, schedule.rows);
  problem.groups = shape.groups;
  problem.panels = shape.groups * llvm::divideCeil(shape.filters, schedule.panelWidth());
  problem.rows = schedule.rows;
  problem.vectors = schedule.vectors;
  problem.channels = shape.channels;
  problem.lanes = schedule.lanes;
  problem.panelBytes = double(kWinogradPoints) * shape.channels * schedule.panelWidth() * 4;
  problem.l2Bytes = cpu.l2Bytes;
  int64_t tileBytes = winogradTileBytes(shape.channels, schedule.panelWidth());
  int64_t mostTiles = std::max<int64_t>(1, winogradScratch(cpu) / (tileBytes * schedule.rows));
  double tileCycles = problem.rows * problem.vectors * problem.channels * kWinogradPoints;
  llvm::SmallVector<WinogradSchedule> ranked;
  for (const Cut &cut : bestCuts(problem, mostTiles, INT64_MAX)) {
    schedule.tilesPerTask = cut.tiles;
    schedule.panelsPerTask = cut.panels;
    if (shape.tiles <= 0 && shape.imageTiles <= 0) // assumed
      schedule.leastTiles = leastTiles(tileCycles * cut.panels);
    ranked.push_back(schedule);
  }
  return ranked;
}

/// Extents of a product, with those assumed that are unknown.
struct ProductExtents {
  explicit ProductExtents(const ContractionShape &shape)
      : m(shape.m > 0 ? shape.m : typicalM), n(shape.n > 0 ? shape.n : typicalN),
        k(shape.k > 0 ? shape.k : typicalK) {}
  int64_t m, n, k;
};

/// Panels that a tile of `rows` rows may lie across: the registers hold its sums, the elements of
/// A and a vector of B; of integers with scales, `grouped`, the words and sums of a group too. Of
/// more sums than three quarters LLVM's allocator spills some.
static int64_t mostBeside(const CpuTarget &cpu, const ContractionSchedule &schedule, bool grouped) {
  constexpr int64_t mostStreams = 4;
  int64_t registers = cpu.vectorRegisters, free = registers - schedule.rows - 1;
  if (!grouped)
    free = std::min(free, registers * 3 / 4);
  int64_t each = int64_t(schedule.vectors) * (grouped ? 2 * schedule.rows + 1 : schedule.rows);
  return std::clamp<int64_t>(free / each, 1, mostStreams);
}

unsigned panelsBeside(const CpuTarget &cpu, const ContractionSchedule &schedule, bool grouped) {
  int64_t panels = std::min(mostBeside(cpu, schedule, grouped), schedule.panelsPerTask);
  while (schedule.panelsPerTask % panels)
    --panels;
  return panels;
}

/// `schedule`, complete but for its cut into tasks, with the best cuts.
static llvm::SmallVector<ContractionSchedule>
cutProduct(const CpuTarget &cpu, const ContractionShape &shape, ContractionSchedule schedule) {
  ProductExtents extents(shape);
  int64_t k = extents.k, bytes = shape.accBits / 8, width = schedule.panelWidth();
  int64_t mostTiles = INT64_MAX, mostPanels = INT64_MAX;
  if (schedule.packsB())
    mostPanels = std::max<int64_t>(1, scratchLimit / (std::min(k, packedBlock) * width * bytes));
  if (shape.group) // read from end to end
    mostPanels = shape.m == schedule.rows ? mostBeside(cpu, schedule, /*grouped=*/true) : 1;
  if (schedule.kBlock)
    mostTiles = std::max<int64_t>(1, scratchLimit / (schedule.rows * width * bytes));
  ProductProblem problem;
  problem.tiles = std::ceil(double(extents.m) / schedule.rows);
  problem.panels = std::ceil(double(extents.n) / width);
  problem.tileCycles = double(k) * schedule.rows * schedule.vectors;
  if (schedule.matrixTiles) // a block of rows a cycle
    problem.tileCycles =
        double(k) * llvm::divideCeil(schedule.rows, MatrixTile::blockRows) * schedule.vectors;
  problem.aTileBytes = double(schedule.rows) * k * bytes;
  problem.bPanelBytes = double(width) * k * bytes;
  problem.l2Bytes = cpu.l2Bytes;
  problem.entries = shape.entries;
  const CpuCosts &costs = costsOf(cpu.name);
  double copyCycles = costs[CpuCost::Packed] / costs[CpuCost::Product]; // of a vector
  if (schedule.packsA())
    problem.aTileCopyCycles = double(schedule.rows) * k / schedule.lanes * copyCycles;
  if (schedule.packsB())
    problem.bPanelCopyCycles = double(k) * schedule.vectors * copyCycles;
  if (schedule.kBlock && shape.b == PanelLayout::Packed)
    problem.l2Bytes *= double(k) / schedule.kBlock; // only a block of a panel at a time
  problem.keepsRows = shape.m > 0 && !shape.group && mayKeepRows(cpu, shape.b, schedule);
  if (problem.keepsRows && schedule.kBlock) // all sums of a task are kept
    problem.mostSums = mostTiles;
  llvm::SmallVector<ContractionSchedule> ranked;
  for (const Cut &cut : bestCuts(problem, mostTiles, mostPanels)) {
    schedule.tilesPerTask = cut.tiles;
    schedule.panelsPerTask = cut.panels;
    // Whole sets of panels that are read beside each other.
    if (int64_t beside = mostBeside(cpu, schedule, shape.group.has_value());
        shape.b == PanelLayout::Packed && problem.tiles == 1 && cut.panels > beside)
      schedule.panelsPerTask = cut.panels / beside * beside;
    if (schedule.kBlock) // the sums of all tiles and panels of a task are kept
      schedule.panelsPerTask = std::max<int64_t>(
          1, std::min(schedule.panelsPerTask,
                      scratchLimit / (cut.tiles * schedule.rows * width * bytes)));
    if (shape.group && shape.m > 0 && cut.tiles == 1)
      schedule.b = OperandAccess::InPlace;
    // Tasks beside each other share an open m well enough, and more tasks below each other would
    // read or pack B again.
    if (shape.m <= 0 && !schedule.packsB() && schedule.panelsPerTask >= problem.panels)
      schedule.leastTiles = leastTiles(problem.tileCycles * schedule.panelsPerTask);
    ranked.push_back(schedule);
  }
  return ranked;
}

/// What the time model does not weigh and measuring may: k in other blocks or in one, more of
/// k unrolled, rows of B in place, tiles of other heights.
static llvm::SmallVector<ContractionSchedule> variationsOf(const CpuTarget &cpu,
                                                           const ContractionShape &shape,
                                                           const ContractionSchedule &usual) {
  llvm::SmallVector<ContractionSchedule> all;
  auto add = [&](auto change) { change(all.emplace_back(usual)); };
  bool copies = usual.packsA() || usual.packsB();
  for (int64_t block : {256, 512})
    if (!copies && shape.k >= 2 * block && usual.kBlock != block)
      add([&](ContractionSchedule &s) { s.kBlock = block; });
  if (!copies && usual.kBlock)
    add([](ContractionSchedule &s) { s.kBlock = 0; });
  if (usual.unroll == 2)
    add([](ContractionSchedule &s) { s.unroll = 4; });
  if (shape.b == PanelLayout::RowMajor && usual.packsB() && !usual.packsA())
    add([](ContractionSchedule &s) {
      s.b = OperandAccess::InPlace;
      s.kBlock = 0;
    });
  for (unsigned rows : otherRows(cpu, usual, shape.m))
    add([&](ContractionSchedule &s) { s.rows = rows; });
  return all;
}

llvm::SmallVector<ContractionSchedule>
rankContraction(const CpuTarget &cpu, const ContractionShape &shape, bool variations) {
  constexpr int64_t grainProducts = 1 << 17; // a waiting thread takes microseconds to answer
  constexpr size_t cutsOfVariation = 2;
  constexpr int64_t kMatrixGrain = 1 << 20;
  auto tile = registerTile(cpu, shape.m, shape.n, shape.accBits, shape.panelWidth);
  if (!tile)
    return {};
  ContractionSchedule usual = *tile;
  ProductExtents extents(shape);
  usual.grainProducts = grainProducts;
  if (shape.n > usual.panelWidth()) // the last panel alone has vectors of two sizes
    usual.unroll = 2;
  if (shape.matrixTiles) {
    usual.matrixTiles = true;
    usual.rows = shape.m > 0 ? std::min(kMatrixTileRows, shape.m) : kMatrixTileRows;
    usual.unroll = 1;
    usual.grainProducts = kMatrixGrain;
  }
  // Several tiles find what lies along A's rows in the caches.
  bool alongRows = shape.alongRows && extents.m > usual.rows;
  if (shape.copiesA && !alongRows)
    usual.a = OperandAccess::Copied;
  // Rows of A that read B in place; copied pairs are half as many instructions for each.
  int64_t inPlace = shape.inPairs ? registerTileRows(cpu, usual.vectors) - 1 : 2 * usual.rows;
  bool dots = multipliesDots(cpu, shape, usual.lanes);
  bool many = shape.b == PanelLayout::RowMajor && extents.m > inPlace;
  bool near = many && !shape.matrixTiles && !shape.inPairs && readsNearRows(cpu, shape, usual);
  if ((shape.b == PanelLayout::Transposed && !dots) || (many && !near) ||
      (shape.b == PanelLayout::RowMajor && shape.matrixTiles) ||
      (shape.group && extents.m > usual.rows))
    usual.b = OperandAccess::Copied;
  bool streams = shape.b == PanelLayout::Packed && shape.m == usual.rows; // whole rows, by one tile
  bool fits = streams && usual.rows * shape.k * (shape.accBits / 8) <= scratchLimit;
  if ((usual.packsB() || usual.packsA() || alongRows) && !fits &&
      (shape.k < 0 || shape.k > packedBlock))
    usual.kBlock = packedBlock;
  if (near && !usual.packsA())
    usual.kBlock = nearRowsBlock(cpu, shape, usual);
  if (shape.b == PanelLayout::Packed && !usual.packsA() && !alongRows && extents.m > usual.rows &&
      shape.k > 2 * weightBlock)
    usual.kBlock = llvm::divideCeil(extents.k, llvm::divideCeil(extents.k, weightBlock));
  if (dots && shape.k > dotBlock)
    usual.kBlock = llvm::alignTo(llvm::divideCeil(shape.k, llvm::divideCeil(shape.k, dotBlock)),
                                 2 * usual.lanes);
  if (shape.group)
    usual.kBlock = packedBlock / *shape.group * *shape.group;
  if (shape.matrixTiles && usual.kBlock)
    usual.kBlock = llvm::alignTo(usual.kBlock, MatrixTile::mostSteps);
  usual.inlineEpilogue =
      !shape.matrixTiles && shape.k > 0 && shape.k <= 48 && shape.n > 0 && shape.m > 0;
  if (dots) {
    usual.rows = std::min<int64_t>(registerTileRows(cpu, 1), extents.m);
    usual.inlineEpilogue = false;
  }
  FarRows far = near ? FarRows() : FarRows::of(cpu, shape, extents.k, usual);
  if (far.block)
    usual.kBlock = far.block;
  if (far.block == FarRows::beside * far.tiles && !usual.packsB())
    usual.unroll = FarRows::beside;

  llvm::SmallVector<ContractionSchedule> ranked = cutProduct(cpu, shape, usual);
  int64_t panels = llvm::divideCeil(far.columns, usual.panelWidth());
  if (far.block)
    for (ContractionSchedule &schedule : ranked) {
      schedule.panelsPerTask = far.tiles > 1 ? panels : std::max(schedule.panelsPerTask, panels);
      schedule.tilesPerTask = far.tiles;
    }
  if (!variations || shape.group || shape.matrixTiles)
    return ranked;
  for (const ContractionSchedule &other : variationsOf(cpu, shape, usual)) {
    llvm::SmallVector<ContractionSchedule> cuts = cutProduct(cpu, shape, other);
    cuts.resize(std::min(cuts.size(), cutsOfVariation));
    llvm::append_range(ranked, cuts);
  }
  return ranked;
}

} // namespace tcc::codegen
