//===- OpenProducts.cpp - Products whose extents only a run knows ---------===//
//
// What a product of open extents sums may be short or long, and its tiles few or many. Tiles are
// chosen for what such extents typically are, by the number of results that a run has; how many
// blocks share what a tile sums is left to the run, since a tile alone with a long sum leaves all
// other multiprocessors idle. Host and kernel work it out from the same numbers.
//
//===----------------------------------------------------------------------===//
#include "../SharedKernels.h"
#include "ExactProductSchedule.h"
#include "MatrixTile.h"
#include "Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Parts that are tried: powers of two alone would leave a third of the multiprocessors idle.
constexpr int64_t kParts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};

Value device::partsOfProduct(OpBuilder &b, Location loc, Value tiles, Value steps, Schedule s) {
  // In cycles of a multiprocessor: of a slice, of blocks that meet, and how many sums of a part the
  // one that adds them up reads in one. An H200, 5 slices of 128 x 64 in two parts: 9.2 us
  // and 14.3.
  constexpr int64_t kSlice = 800, kMeeting = 4000, kInOne = 4, kInOneOfMma = 10,
                    kMostSlices = 1 << 16;
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  int64_t part =
      int64_t(s.getRows()) * s.getColumns() / (s.getForm() == Form::Mma ? kInOneOfMma : kInOne);
  Value slices = arith::MinUIOp::create(b, loc, steps, constant(kMostSlices));
  Value parts = constant(1), least = arith::MulIOp::create(b, loc, slices, constant(kSlice));
  for (int64_t p : kParts) {
    Value each = arith::CeilDivUIOp::create(b, loc, slices, constant(p));
    Value cost = arith::MulIOp::create(b, loc, each, constant(kSlice));
    cost = arith::AddIOp::create(b, loc, cost, constant(kMeeting + p * part));
    Value better = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, cost, least);
    Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, tiles,
                                       constant(s.getMostBlocks() / p));
    better = arith::AndIOp::create(b, loc, better, fits);
    parts = arith::SelectOp::create(b, loc, better, constant(p), parts);
    least = arith::SelectOp::create(b, loc, better, cost, least);
  }
  return parts;
}

void device::shareByRun(ScheduleChoice &s, Operation *product, const GpuArch &arch) {
  // Three blocks for two multiprocessors; of scratch memory, which all that is left goes through.
  constexpr int64_t kMostBytes = 4 << 20;
  constexpr unsigned kTogether = 4; // sums of a thread that are left at once
  constexpr int64_t kShort = 8;     // slices, of which fewer are never worth meeting
  s.split = 1;
  s.scratchBytes = 0;
  Type sum = computeType(sumType(tensorType(product->getResult(0)).getElementType()));
  int64_t inner = ProductSizes::of(product).inner, slice = int64_t(s.depth) * s.vectors;
  if (s.form == Form::Mma)
    slice = s.depth;
  if (!sum.isIntOrFloat() || sum.getIntOrFloatBitWidth() < 32 ||
      (inner >= 0 && llvm::divideCeil(inner, slice) < kShort))
    return;
  int64_t tileBytes = int64_t(s.rows) * s.columns * (sum.getIntOrFloatBitWidth() / 8);
  if (s.form == Form::Product) {
    // Groups of a block share what they leave for other blocks evenly.
    unsigned ofThread = s.rows * s.columns * s.vectors / s.threads;
    if (s.lanes > 1 || ofThread % (kTogether * s.vectors) != 0)
      return;
    // Of so few blocks each may have as many registers as it wants. ptxas chose 63 of 128, and 128
    // x 512 x 128 took 18.9 us on an H200 instead of 9.4.
    s.resident = 1;
  }
  s.split = unsigned(kParts[std::size(kParts) - 1]);
  s.mostBlocks = unsigned(std::min(int64_t(arch.multiprocessors) * 3 / 2, kMostBytes / tileBytes));
  s.scratchBytes = unsigned(kCounterBytes + s.mostBlocks * tileBytes);
}

ProductSizes device::typicalSizes(ProductSizes sizes, int64_t results) {
  constexpr int64_t kMatrices = 8;
  bool rows = sizes.rows < 0, columns = sizes.columns < 0;
  if (sizes.inner < 0)
    sizes.inner = kTypicalReduction;
  if (sizes.batch < 0) {
    int64_t ofMatrix = std::max<int64_t>(1, sizes.rows * sizes.columns);
    sizes.batch = rows || columns ? kMatrices : std::max<int64_t>(1, results / ofMatrix);
  }
  double rest = double(results) / double(std::max<int64_t>(1, sizes.batch));
  for (int64_t extent : {sizes.rows, sizes.columns})
    rest /= double(std::max<int64_t>(1, extent));
  auto each = int64_t(std::max(1.0, rows && columns ? std::sqrt(rest) : rest));
  for (int64_t *extent : {&sizes.rows, &sizes.columns})
    if (*extent < 0)
      *extent = each;
  return sizes;
}

/// Results beyond which no tile is shared, and the kernel need not ask.
static int64_t mostShared(const ScheduleChoice &s, const ProductSizes &sizes) {
  int64_t columns = sizes.columns < 0 ? s.columns : sizes.columns;
  int64_t across = llvm::divideCeil(columns, s.columns);
  return int64_t(s.mostBlocks) / 2 * s.rows * std::max<int64_t>(1, columns / across);
}

SmallVector<FewRows> device::scheduleFewOpenProducts(kernel::LaunchOp launch, Schedule many,
                                                     const GpuArch &arch) {
  constexpr int64_t kTypical[] = {1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20}; // results
  Operation *op = productOf(launch);
  ProductSizes sizes = ProductSizes::of(op);
  if (!isEpilogue(launch, op) || tensorType(op->getResult(0)).hasStaticShape())
    return {};
  SmallVector<std::pair<ScheduleChoice, int64_t>> choices;
  if (isa<prim::ConvOp>(op)) {
    ScheduleChoice shared(many);
    shareByRun(shared, op, arch);
    if (shared.split > 1)
      choices.push_back({shared, mostShared(shared, sizes)});
    return schedulesByRows(choices, /*rowElements=*/1, many);
  }
  int64_t below = 0;
  for (int64_t results : kTypical) {
    ScheduleChoice choice;
    choice.indexBits = many.getIndexBits();
    scheduleExact(choice, launch, typicalSizes(sizes, results / 2), arch);
    ScheduleChoice shared(choice);
    shareByRun(shared, op, arch);
    choice.split = 1;
    choice.scratchBytes = 0;
    int64_t most = shared.split > 1 ? mostShared(shared, sizes) : 0;
    if (most > below)
      choices.push_back({shared, std::min(results, most)});
    if (most < results)
      choices.push_back({choice, results});
    below = results;
  }
  return schedulesByRows(choices, /*rowElements=*/1, many);
}
