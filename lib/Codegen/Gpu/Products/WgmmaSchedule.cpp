//===- WgmmaSchedule.cpp - How a product is cut for wgmma -----------------===//
//
// The models behind schedules of the two templates for the matrix units of sm_90a: tile after tile
// (WgmmaKernel.cpp), and one tile a block (WgmmaTileKernel.cpp, WgmmaTileSchedule.cpp). Estimates
// are in cycles of a multiprocessor; they rank tiles, and the two templates where both take a
// product. What they rank next is what tuning measures.
//
//===----------------------------------------------------------------------===//
#include "WgmmaSchedule.h"
#include "../SharedKernels.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

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

/// Whether what follows a product has a costly function.
static bool computesMuch(kernel::LaunchOp launch) {
  return llvm::any_of(launch.getBody().front(),
                      [](Operation &op) { return op.hasTrait<prim::Costly>(); });
}

namespace {

/// How blocks of the template that computes tile after tile may share the work.
struct WgmmaShape {
  unsigned rows, consumers, sharers;

  bool isAlone() const { return sharers == 1; }
  static WgmmaShape of(const ScheduleChoice &s) {
    unsigned consumers = s.threads / 128 - 1;
    return {s.rows, consumers, s.rowThreads ? 1 : consumers};
  }
};

/// What a product costs in such tiles.
class WgmmaCosts {
public:
  WgmmaCosts(kernel::LaunchOp launch, const MatrixProduct &product, int64_t rows,
             const GpuArch &arch)
      : product(product), arch(arch), rows(rows), costly(computesMuch(launch)),
        residual(readsMuch(launch, product)) {}

  bool takes(WgmmaShape shape, unsigned columns) const;
  /// Ranks tiles of a product of matrices: fitted to times of 81 products of bf16
  /// (gpu-code.md).
  double of(WgmmaShape shape, unsigned columns) const;
  /// What such tiles take, as one tile a block (wgmmaTileCost) does: fitted to times of 35 products
  /// of 64 to 2048 rows by both templates. `behind`: with what a costly epilogue adds.
  double cycles(WgmmaShape shape, unsigned columns, bool behind = true) const;
  /// Ranks tiles of windows, and for them this template against others, which have the same
  /// constants of a launch. `fixed`: columns that a step of shared tiles costs beside its own.
  double beside(WgmmaShape shape, unsigned columns, double fixed) const;

private:
  double step(WgmmaShape shape, unsigned columns, double busy) const;
  int64_t tilesOf(WgmmaShape shape, unsigned columns) const;

  const MatrixProduct &product;
  const GpuArch &arch;
  int64_t rows;
  bool costly, residual;
};

} // namespace

bool WgmmaCosts::takes(WgmmaShape shape, unsigned columns) const {
  // Registers of a thread beside its sums: for a light epilogue, or for any.
  constexpr unsigned kMostAlone = 128, kMostLight = 192, kMostOfThree = 192, kMost = 256;
  constexpr unsigned kUsualRows = 128;
  if (!MatrixTile::isWhole(columns, product) || !product.fitsRows(shape.rows) ||
      (product.window && !product.window->fits(columns)))
    return false;
  if (shape.rows > kUsualRows &&
      (rows < 0 || product.window || product.resultBytes > 2 || (shape.isAlone() && residual)))
    return false;
  if (!shape.isAlone())
    return columns <= (shape.consumers > MatrixTile::turns ? kMostOfThree : kMost);
  // Tall tiles in turns have slices of more rows than columns, and were best of 128 columns alone.
  if (shape.rows > kUsualRows)
    return columns == kMostAlone;
  return columns <= (costly || residual ? kMostAlone : kMostLight);
}

/// Of one tile. `busy`: the part of the machine that has tiles.
double WgmmaCosts::step(WgmmaShape shape, unsigned columns, double busy) const {
  constexpr double kShared = 0.8, kLatency = 2300, kOfThree = 0.966;
  // A row of a slice that is no whole line of memory: in one multiprocessor, and where all read.
  constexpr double kRow = 2.8, kRowOfAll = 4.1;
  double r = shape.rows, c = columns;
  double multiply = wgmmaStep(columns, 0) * r / 128;
  if (shape.consumers > MatrixTile::turns)
    multiply *= kOfThree;
  // Each 64 rows are read with all columns, and copies write both.
  double shared = kShared * (2 * r + c + r * c / 64);
  bool whole = product.window || product.inner % MatrixTile::depth == 0;
  double fetch = whole ? 0 : (r + c) * std::max(kRow, kRowOfAll * busy);
  auto tile = MatrixTile::fit(shape.rows, columns, shape.consumers, shape.sharers, product,
                              arch.sharedBytes);
  return std::max({multiply, shared, fetch, kLatency / tile.stages});
}

/// Cycles until the first step, of all tiles of a block, and of the end.
double WgmmaCosts::cycles(WgmmaShape shape, unsigned columns, bool behind) const {
  constexpr double kStart = 15.8, kFinish = 1340, kSum = 0.006, kCostly = 0.218, kResidual = 0.068;
  // What finishing a tile slows the other group by; what three groups cost beside two.
  constexpr double kTurn = 100, kSlowed = 0.104, kThree = 2000;
  int64_t tiles = tilesOf(shape, columns);
  double waves = double(llvm::divideCeil(tiles, arch.multiprocessors));
  double busy = std::min(1.0, double(tiles) / arch.multiprocessors);
  // Results of four bytes are twice as much to store (4096 x 4096 x 4096 of 8-bit integers: 90.5 us
  // in shared tiles of 256 columns, 82.7 in turns; as tf32, of four times the steps, 336 and 402).
  double wide = product.resultBytes > 2 ? 2 : 1;
  double sums = double(shape.isAlone() ? shape.rows : shape.rows / shape.sharers) * columns;
  double each = kSum + (behind && costly ? kCostly : 0) + (behind && residual ? kResidual : 0);
  double finish = wide * (kFinish + sums * each);
  double multiply = double(product.steps()) * step(shape, columns, busy);
  double cycles = kStart * (shape.rows + columns);
  if (shape.isAlone())
    return cycles + waves * std::max(multiply + kTurn + kSlowed * finish, (multiply + finish) / 2) +
           finish;
  return cycles + waves * (multiply + finish) + (shape.consumers > MatrixTile::turns ? kThree : 0);
}

/// A busy machine is limited by power, so that its clock falls with what it multiplies: idle waves
/// cost less than they last.
double WgmmaCosts::of(WgmmaShape shape, unsigned columns) const {
  constexpr double kPower = 0.157;
  double all = cycles(shape, columns);
  double used = double(tilesOf(shape, columns) * product.steps()) * wgmmaStep(columns, 0) *
                shape.rows / 128 / (all * arch.multiprocessors);
  return all * std::pow(used, kPower);
}

int64_t WgmmaCosts::tilesOf(WgmmaShape shape, unsigned columns) const {
  int64_t down = rows < 0 ? arch.multiprocessors / 8 : product.tilesDown(rows, shape.rows);
  return down * llvm::divideCeil(product.columns, columns);
}

double WgmmaCosts::beside(WgmmaShape shape, unsigned columns, double fixed) const {
  constexpr double kPipeline = 2500; // cycles until the first step, and of the epilogue
  // Wide tiles have four stages on their way, others six: bytes a cycle from L2.
  constexpr double kEnd = 1000, kL2 = 52, kL2OfWide = 43;
  constexpr unsigned kMostColumns = 128;
  constexpr double kTall = 1.6; // of half as many rows again
  double waves = double(llvm::divideCeil(tilesOf(shape, columns), arch.multiprocessors));
  auto steps = double(product.steps());
  if (!shape.isAlone()) {
    double step = wgmmaStep(columns, fixed) * shape.rows / 128;
    return waves * (steps * step + kPipeline * (product.resultBytes > 2 ? 2 : 1));
  }
  double bytes = double(128 + columns) * MatrixTile::depth * 2;
  double step = std::max(wgmmaStep(columns, 0), bytes / (columns > kMostColumns ? kL2OfWide : kL2));
  double end = kEnd + (waves > 1 ? 0 : kPipeline); // one group finishes a tile
  return waves * steps * step * (shape.rows > 128 ? kTall : 1) + end;
}

namespace {

/// One of the ways to cut a product, and what ranks it among those of the template.
struct RankedShape {
  double cost;
  WgmmaShape shape;
  unsigned columns;
};

} // namespace

/// The tiles of these shapes that the template takes, those whose waves over the machine take least
/// first: a wide one does more with what it fetches, a narrow one leaves fewer multiprocessors idle
/// in the last wave.
static SmallVector<RankedShape> rankShapes(const WgmmaCosts &costs, const MatrixProduct &product,
                                           ArrayRef<WgmmaShape> shapes) {
  constexpr double kWindow = 64; // columns
  SmallVector<RankedShape> ranked;
  for (WgmmaShape shape : shapes)
    for (unsigned columns : {256, 192, 160, 128, 96, 64})
      if (costs.takes(shape, columns))
        insertByCost(ranked, RankedShape{product.window ? costs.beside(shape, columns, kWindow)
                                                        : costs.of(shape, columns),
                                         shape, columns});
  return ranked;
}

static ScheduleChoice wgmmaChoice(ScheduleChoice s, kernel::LaunchOp launch,
                                  const MatrixProduct &product, WgmmaShape shape, unsigned columns,
                                  const GpuArch &arch) {
  auto tile = MatrixTile::fit(shape.rows, columns, shape.consumers, shape.sharers, product,
                              arch.sharedBytes);
  s.form = Form::Wgmma;
  s.rows = shape.rows;
  s.columns = columns;
  s.threads = tile.threads();
  s.rowThreads = shape.isAlone() ? 128 : 0;
  s.mostBlocks = arch.multiprocessors;
  s.sharedBytes = tile.sharedBytes();
  if (multipliesWeights(launch, product.op))
    s.kept = std::min<int64_t>(tile.stages, product.steps());
  return s;
}

/// The best of these tiles. Gives what ranks it among those of the template, and against other
/// templates; zeros where the template takes none.
static std::pair<double, double> scheduleWgmma(ScheduleChoice &s, kernel::LaunchOp launch,
                                               const MatrixProduct &product,
                                               ArrayRef<WgmmaShape> shapes, int64_t rows,
                                               const GpuArch &arch) {
  constexpr double kStart = 3500; // cycles
  WgmmaCosts costs(launch, product, rows, arch);
  SmallVector<RankedShape> ranked = rankShapes(costs, product, shapes);
  if (ranked.empty())
    return {0, 0};
  const RankedShape &best = ranked.front();
  s = wgmmaChoice(s, launch, product, best.shape, best.columns, arch);
  if (product.window)
    return {best.cost, best.cost + kStart};
  return {best.cost, costs.cycles(best.shape, best.columns, /*behind=*/false)};
}

/// Rows of a product's matrix; -1: not known.
static int64_t rowsOf(const MatrixProduct &product) {
  return volumeOf(tensorType(product.rows()).getShape().take_front(product.rowAxes));
}

/// Tiles of a product of so many rows in such a cut.
static int64_t tilesOf(const ScheduleChoice &choice, int64_t rows, const MatrixProduct &product) {
  return product.tilesDown(rows, choice.rows) *
         int64_t(llvm::divideCeil(product.columns, choice.columns));
}

/// Whether blocks with one tile each are few. Measured where a multiprocessor has up to three
/// tiles; beyond, tile after tile is as good.
static bool isFew(const ScheduleChoice &tile, int64_t rows, const MatrixProduct &product,
                  const GpuArch &arch) {
  constexpr int64_t kTilesEach = 3;
  return tilesOf(tile, rows, product) * tile.split <= kTilesEach * arch.multiprocessors;
}

/// Warp groups that share each tile, and that have tiles of their own in turns.
constexpr WgmmaShape kShared[] = {{128, 2, 2}, {192, 3, 3}}, kAlone[] = {{128, 2, 1}, {192, 2, 1}};

/// A block has the first weights of its tile before it waits for the launch before.
static void keepWeights(ScheduleChoice &tile, kernel::LaunchOp launch,
                        const MatrixProduct &product) {
  if (multipliesWeights(launch, product.op))
    tile.kept = std::min<int64_t>(tile.vectors, llvm::divideCeil(product.steps(), tile.split));
}

/// The best tile of one block, and what it costs; 0 where there is none.
static double scheduleWgmmaTile(ScheduleChoice &s, kernel::LaunchOp launch,
                                const MatrixProduct &product, int64_t rows, const GpuArch &arch) {
  SmallVector<RankedChoice> ranked = rankWgmmaTiles(s, product, rows, arch);
  if (ranked.empty())
    return 0;
  s = ranked.front().choice;
  keepWeights(s, launch, product);
  return ranked.front().cost;
}

/// The templates for wgmma that take so many rows of a product, best first, and what that costs.
static double rankWgmmas(SmallVector<ScheduleChoice> &all, const ScheduleChoice &start,
                         kernel::LaunchOp launch, const MatrixProduct &operands, int64_t rows,
                         const GpuArch &arch) {
  std::optional<MatrixProduct> copied = matrixProduct(launch);
  ScheduleChoice persistent = start, alone = start, tile = start;
  double persistentCost = 0, aloneCost = 0, against = 0;
  if (copied) {
    double aloneAgainst = 0;
    std::tie(persistentCost, against) =
        scheduleWgmma(persistent, launch, *copied, kShared, rows, arch);
    std::tie(aloneCost, aloneAgainst) = scheduleWgmma(alone, launch, *copied, kAlone, rows, arch);
    if (aloneAgainst)
      against = std::min(against, aloneAgainst);
  }
  double tileCost = scheduleWgmmaTile(tile, launch, operands, rows, arch);
  if (persistentCost)
    all.push_back(persistent);
  if (aloneCost)
    all.insert(aloneCost < persistentCost ? all.begin() : all.end(), alone);
  bool few = tileCost && isFew(tile, rows, operands, arch);
  bool first = tileCost && (!persistentCost || (few && tileCost < against));
  if (tileCost)
    all.insert(first ? all.begin() : all.end(), tile);
  return first ? tileCost : against;
}

double device::scheduleWgmmas(SmallVector<ScheduleChoice> &all, const ScheduleChoice &start,
                              kernel::LaunchOp launch, const GpuArch &arch, bool tf32) {
  std::optional<MatrixProduct> operands = matrixOperands(launch);
  if (arch.matrixUnit != MatrixUnit::Wgmma || !operands ||
      (tensorType(operands->left).getElementType().isF32() && !tf32))
    return 0;
  return rankWgmmas(all, start, launch, *operands, rowsOf(*operands), arch);
}

SmallVector<RankedChoice> device::otherWgmmas(const ScheduleChoice &start, kernel::LaunchOp launch,
                                              const GpuArch &arch) {
  std::optional<MatrixProduct> operands = matrixOperands(launch), copied = matrixProduct(launch);
  SmallVector<RankedChoice> all;
  if (!operands)
    return all;
  int64_t rows = rowsOf(*operands);
  if (copied) {
    SmallVector<WgmmaShape> shapes(std::begin(kShared), std::end(kShared));
    llvm::append_range(shapes, kAlone);
    for (const RankedShape &way :
         rankShapes(WgmmaCosts(launch, *copied, rows, arch), *copied, shapes))
      all.push_back({wgmmaChoice(start, launch, *copied, way.shape, way.columns, arch), way.cost});
  }
  keepNear(all);
  SmallVector<RankedChoice> tiles = rankWgmmaTiles(start, *operands, rows, arch);
  for (RankedChoice &tile : tiles)
    keepWeights(tile.choice, launch, *operands);
  keepNear(tiles);
  llvm::append_range(all, tiles);
  return all;
}

/// Tiles for few of the open rows of a product whose columns are multiplied by them: the best for
/// some numbers, up to which they are taken.
static SmallVector<FewRows> scheduleFewTurned(kernel::LaunchOp launch, const MatrixProduct &product,
                                              Schedule many, const GpuArch &arch) {
  constexpr int64_t kTypical[] = {32, 128, 512, 1024};
  SmallVector<std::pair<ScheduleChoice, int64_t>> choices;
  for (int64_t rows : kTypical) {
    ScheduleChoice &few = choices.emplace_back(ScheduleChoice(), rows).first;
    SmallVector<RankedChoice> ranked = rankWgmmaTiles(few, product, rows, arch);
    if (ranked.empty())
      return {};
    few = ranked.front().choice;
    few.indexBits = many.getIndexBits();
  }
  return schedulesByRows(choices, product.columns, many);
}

/// Tiles for some numbers of open rows of 16 bits or less, up to which they are taken.
static SmallVector<FewRows> scheduleFewWgmma(kernel::LaunchOp launch, const MatrixProduct &product,
                                             Schedule many, const GpuArch &arch) {
  constexpr std::pair<int64_t, int64_t> kTypical[] = {{64, 1024}, {128, 2048}, {256, 4096}};
  constexpr double kWorse = 1.06; // about what estimates are off by
  constexpr unsigned kKernels = 5;
  MatrixProduct copied = *matrixProduct(launch);
  auto costsAt = [&](int64_t rows) { return WgmmaCosts(launch, copied, rows, arch); };
  SmallVector<RowsWay> ways;
  int64_t rows = 0;
  for (auto [step, last] : kTypical)
    while (rows < last) {
      rows += step;
      SmallVector<ScheduleChoice> all;
      double cost = rankWgmmas(all, ScheduleChoice(), launch, product, rows, arch);
      ways.push_back({all.front(), rows, cost});
    }
  auto costAt = [&](const ScheduleChoice &kernel, int64_t rows) {
    RowsWay way{kernel, rows};
    if (kernel.mostBlocks) {
      way.cost = costsAt(rows).cycles(WgmmaShape::of(kernel), kernel.columns, /*behind=*/false);
      return way;
    }
    if (isFew(kernel, rows, product, arch))
      way.cost = costOfWgmmaTile(kernel, product, rows, arch);
    return way;
  };
  shareKernels(ways, many, kWorse, kKernels, costAt);
  SmallVector<std::pair<ScheduleChoice, int64_t>> choices;
  for (RowsWay &way : ways) {
    way.choice.indexBits = many.getIndexBits();
    choices.push_back({way.choice, way.rows});
  }
  return schedulesByRows(choices, product.columns, many);
}

SmallVector<FewRows> device::scheduleFewRows(kernel::LaunchOp launch, Schedule many,
                                             const GpuArch &arch) {
  if (many.getForm() == Form::Product)
    return scheduleFewExactRows(launch, many, arch);
  if (!productOf(launch) && many.getForm() == Form::Loop)
    return scheduleFewPoints(launch, many, arch);
  if (llvm::is_contained({Form::WgmmaAttention, Form::Attention}, many.getForm()))
    return scheduleFewQueries(launch, many, arch);
  if (many.getForm() == Form::Mma)
    return scheduleFewMma(launch, many, arch);
  std::optional<MatrixProduct> product = matrixOperands(launch);
  if (!product || product->window || product->matrixRows || rowsOf(*product) >= 0 ||
      many.getForm() != Form::Wgmma)
    return {};
  if (product->turned)
    return scheduleFewTurned(launch, *product, many, arch);
  if (!many.getMostBlocks())
    return {};
  return scheduleFewWgmma(launch, *product, many, arch);
}
