//===- WgmmaTileKernel.cpp - One tile of a product a block, for sm_90a ----===//
//
// The template for products that end soon: few rows, whose weights all multiprocessors should
// stream, or little to sum, where what is read and written beside the product takes the time. A
// block computes one tile; small tiles, several blocks a multiprocessor and a cluster of blocks
// that share what a tile sums keep all memory busy, where tile after tile in one block would wait
// for each step in turn.
//
// One warp fetches slices of both operands by bulk tensor copies, as WgmmaKernel.cpp says; each
// warp group multiplies 64 rows. The sums then go to shared memory, in rows: a thread takes
// neighbouring columns of a row from there, so that biases, residuals and results are accessed 16
// bytes at a time, whatever their types and wherever a permuted result puts its rows.
//
// Blocks that share a tile are a cluster: they read each other's shared memory. Each adds up a
// part of the tile from all blocks, its own first and then in the order of the blocks, so that
// results repeat, and finishes it.
//
//===----------------------------------------------------------------------===//
#include "EpilogueOperands.h"
#include "Product.h"
#include "WgmmaInstructions.h"
#include "WgmmaTile.h"
#include "WordArithmetic.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class WgmmaTileEmitter : WordArithmetic {
public:
  WgmmaTileEmitter(device::KernelFrame &f, MatrixProduct matrices, Product product)
      : WordArithmetic(f), m(std::move(matrices)), p(std::move(product)),
        t(WgmmaTile::of(f.schedule)), split(f.schedule.getSplit()),
        each(llvm::divideCeil(m.steps(), split)), instruction(m.instruction(t.columns)),
        early(std::min<int64_t>({f.schedule.getKept(), t.stages, each})) {
    if (BlockArgument residual = residualOf(f.launch, m.op))
      earlyOperands.push_back({residual, false});
    for (BlockArgument argument : perColumnOf(f.launch, m.op))
      earlyOperands.push_back({argument, true});
  }
  void run();

private:
  Value full(Value stage) { return bytesBehind(shared, add(mul(stage, 8), c(t.barrierOffset()))); }
  Value empty(Value stage) {
    return bytesBehind(shared, add(mul(stage, 8), c(t.barrierOffset() + 8 * t.stages)));
  }
  /// Whether a stage is filled a second time.
  bool wraps() const { return each > t.stages; }
  Value tensorMap(unsigned which) {
    return f.function.getArgument(f.function.getNumArguments() - 2 + which);
  }
  std::pair<Value, Value> next(Value stage, Value parity);

  void prepare();
  void fetch();
  void fetchLeft(ValueRange window, Value step, Value stage);
  void fetchRight(Value step, Value stage);
  Value multiplyStage(Value sums, Value stage, Value parity, bool isFirst);
  Value multiplyAll();
  void leave(Value sums);
  void meetCluster();
  void leaveCluster();
  SmallVector<Value> totalsOf(Value unit);
  std::pair<Value, Product::Finished> finished(Value unit, ArrayRef<Value> totals);
  unsigned widestRun();
  int64_t units() const { return int64_t(t.rows) * t.columns / lanes; }
  /// Units that the threads of all blocks of a tile finish at once.
  int64_t round() const { return int64_t(split) * t.multiplying(); }
  Value unitAt(int64_t first) { return add(add(tid, mul(rank, t.multiplying())), c(first)); }
  std::pair<Value, Value> placeOf(Value unit);
  /// What follows the product reads, and is on its way before the sums are done.
  struct EarlyOperand {
    BlockArgument argument;
    bool isPerColumn; ///< else a residual
  };
  int64_t earlyUnits(const EarlyOperand &operand);
  SmallVector<Type> earlyTypes();
  SmallVector<Value> fetchEarly();
  void bindEarly(size_t unit);
  void finish();

  MatrixProduct m;
  Product p;
  WgmmaTile t;
  unsigned split;
  int64_t each; ///< steps of a block, the last one's at most
  WgmmaInstruction instruction;
  int64_t early;               ///< steps whose weights are fetched before earlier work ends
  Value shared, sharedAddress; ///< aligned to 1024
  SmallVector<Value> parts;    ///< the shared memory of the tile's blocks, the own first
  Value tid, warp, lane, rank;
  Value firstRow, firstColumn, firstStep, steps; ///< of the block
  Value rows;                                    ///< of the result, index
  unsigned lanes = 1;                            ///< neighbouring columns that a thread finishes
  SmallVector<EarlyOperand> earlyOperands;
  SmallVector<Value> earlyValues; ///< as earlyTypes
};

} // namespace

std::pair<Value, Value> WgmmaTileEmitter::next(Value stage, Value parity) {
  Value after = add(stage, c(1)), wrapped = equal(after, c(t.stages));
  Value turn = arith::ExtUIOp::create(b, b.getI32Type(), wrapped);
  return {arith::SelectOp::create(b, wrapped, c(0), after), arith::XOrIOp::create(b, parity, turn)};
}

void WgmmaTileEmitter::prepare() {
  auto [memory, address] = SharedSlices::in(b, f.dynamicShared());
  shared = memory;
  sharedAddress = address;
  tid = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = band(tid, 31);
  warp = uniformWarp(b, tid);
  rows = f.volume(p.rows);
  if (m.matrixRows)
    rows = f.e.mulIndex(f.volume(p.batch), rows);
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  rank = split == 1 ? c(0) : Value(arith::RemUIOp::create(b, block, c(split)));
  Value number = split == 1 ? block : Value(arith::DivUIOp::create(b, block, c(split)));
  Value down = to32(f.e.divIndex(f.e.addIndex(rows, f.e.index(t.rows - 1)), f.e.index(t.rows)));
  // Tiles of the same columns go together: their weights come from memory once.
  firstRow = mul(arith::RemUIOp::create(b, number, down), t.rows);
  firstColumn = mul(arith::DivUIOp::create(b, number, down), t.columns);
  firstStep = mul(rank, each);
  steps = c(each);
  if (m.steps() % each)
    steps = arith::MinUIOp::create(b, steps, arith::SubIOp::create(b, c(m.steps()), firstStep));
  f.when(equal(tid, c(0)), [&] {
    prefetchMap(b, tensorMap(0));
    prefetchMap(b, tensorMap(1));
    for (unsigned i = 0; i < t.stages; ++i) {
      NVVM::MBarrierInitOp::create(b, full(c(i)), c(1), Value());
      if (wraps())
        NVVM::MBarrierInitOp::create(b, empty(c(i)), c(t.groups()), Value());
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  f.barrier();
}

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

void WgmmaTileEmitter::fetch() {
  Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  f.when(elected, [&] {
    SmallVector<Value> window;
    if (m.window)
      window = m.window->windowAt(f, firstRow);
    auto below = [&](Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
    };
    // Weights wait for no earlier work. A block may have fewer steps than the others of its tile.
    for (int64_t step = 0; step < early; ++step)
      f.when(below(c(step), steps), [&] { fetchRight(c(step), c(step)); });
    f.awaitEarlierWork();
    auto loop = scf::ForOp::create(b, c(0), steps, c(1), ValueRange{c(0), c(1)});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    Value stage = loop.getRegionIterArg(0), parity = loop.getRegionIterArg(1);
    if (wraps())
      awaitBarrier(b, empty(stage), parity);
    // The right operand's slice first: weights come from memory, the others' rows from the cache.
    if (early == 0)
      fetchRight(step, stage);
    else if (early < each)
      f.when(below(c(early - 1), step), [&] { fetchRight(step, stage); });
    fetchLeft(window, step, stage);
    auto [after, turn] = next(stage, parity);
    scf::YieldOp::create(b, ValueRange{after, turn});
  });
  NVVM::SyncWarpOp::create(b, c(-1));
}

/// The right operand's slice of the block's step `step`; the stage's barrier then expects all of
/// the stage.
void WgmmaTileEmitter::fetchRight(Value step, Value stage) {
  step = add(firstStep, step);
  Value barrier = full(stage),
        right = bytesBehind(shared, add(mul(stage, t.stageBytes()), c(t.leftBytes())));
  expectBytes(b, barrier, t.stageBytes());
  if (m.window)
    return copyBox(b, right, tensorMap(1), m.window->filtersAt(f, firstColumn, step), barrier);
  Value k = mul(step, MatrixTile::depth);
  if (m.rightByColumns)
    return copyBox(b, right, tensorMap(1), m.rightAt(b, firstRow, firstColumn, k), barrier);
  for (unsigned i = 0; i < t.columns; i += MatrixTile::sliceColumns)
    copyBox(b, bytesBehind(right, c(int64_t(i) * MatrixTile::depth * 2)), tensorMap(1),
            m.rightAt(b, firstRow, add(firstColumn, c(i)), k), barrier);
}

/// `window`: where a convolution's first one stands.
void WgmmaTileEmitter::fetchLeft(ValueRange window, Value step, Value stage) {
  step = add(firstStep, step);
  Value barrier = full(stage), left = bytesBehind(shared, mul(stage, t.stageBytes()));
  if (m.window) {
    ConvolutionWindow::Copies copies = m.window->copiesAt(f, window, firstColumn, step);
    return copyWindow(b, left, tensorMap(0), copies.image, copies.taps, barrier);
  }
  copyBox(b, left, tensorMap(0), {mul(step, MatrixTile::depth), firstRow}, barrier);
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// The sums with one stage's products added; the chain has begun, and is not awaited.
Value WgmmaTileEmitter::multiplyStage(Value sums, Value stage, Value parity, bool isFirst) {
  awaitBarrier(b, full(stage), parity);
  Value begin = add(sharedAddress, mul(stage, t.stageBytes()));
  Value group = shr(warp, 2);
  auto left = WgmmaOperand::at(
      b, add(begin, mul(group, WgmmaTile::groupRows * MatrixTile::depth * 2)), 0, true);
  auto right = WgmmaOperand::at(b, add(begin, c(t.leftBytes())), 64 * MatrixTile::depth * 2,
                                m.rightByColumns);
  beginChain(b);
  for (unsigned k = 0; k < MatrixTile::depth; k += 16)
    sums = instruction.multiply(b, sums, left.step(b, k), right.step(b, k), m.rightByColumns,
                                isFirst && k == 0);
  endChain(b);
  return sums;
}

Value WgmmaTileEmitter::multiplyAll() {
  Value none = LLVM::ZeroOp::create(b, wgmmaSums(b, t.columns, instruction.sum()));
  Value sums = multiplyStage(none, c(0), c(0), true);
  auto [second, parity] = next(c(0), c(0));
  auto loop = scf::ForOp::create(b, c(1), steps, c(1), ValueRange{sums, second, parity, c(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getRegionIterArg(1), turn = loop.getRegionIterArg(2);
    Value added = multiplyStage(loop.getRegionIterArg(0), stage, turn, false);
    // The chain before this one is done: its stage may be filled again.
    NVVM::WgmmaWaitGroupSyncOp::create(b, 1);
    if (wraps())
      f.when(equal(band(tid, 127), c(0)),
             [&] { arriveAtBarrier(b, empty(loop.getRegionIterArg(3))); });
    auto [after, nextTurn] = next(stage, turn);
    scf::YieldOp::create(b, ValueRange{added, after, nextTurn, stage});
  }
  return awaitChains(b, loop.getResult(0), 0);
}

/// The sums in rows, where slices of k lay that nobody reads any more.
void WgmmaTileEmitter::leave(Value sums) {
  NVVM::BarrierOp::create(b, Type(), c(1), c(t.multiplying()), NVVM::BarrierReductionAttr(),
                          Value());
  Value row = add(mul(shr(tid, 5), 16), shr(lane, 2));
  Value place = bytesBehind(shared, add(mul(row, t.sumPitch()), mul(band(lane, 3), 8)));
  auto pair = VectorType::get({2}, instruction.sum());
  for (unsigned i = 0; i < t.columns / 2; i += 2) {
    Value two = vector::FromElementsOp::create(
        b, pair,
        ValueRange{LLVM::ExtractValueOp::create(b, sums, int64_t(i)),
                   LLVM::ExtractValueOp::create(b, sums, int64_t(i) + 1)});
    int64_t offset = int64_t(i / 4) * 32 + (i % 4 / 2) * 8 * int64_t(t.sumPitch());
    LLVM::StoreOp::create(b, two, bytesBehind(place, c(offset)), 8);
  }
}

//===----------------------------------------------------------------------===//
// The epilogue
//===----------------------------------------------------------------------===//

/// All threads of the tile's blocks have come here, and see each other's shared memory.
void WgmmaTileEmitter::meetCluster() {
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// The thread reads no other block's shared memory any more, and has nothing to tell the others:
/// the arrival that does would wait until all of the GPU sees what the thread wrote.
void WgmmaTileEmitter::leaveCluster() {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, StringRef("block")); // the reads are done
  NVVM::ClusterArriveRelaxedOp::create(b, b.getUnitAttr());
}

/// `lanes` neighbouring sums of the tile from all of its blocks.
SmallVector<Value> WgmmaTileEmitter::totalsOf(Value unit) {
  unsigned wide = std::min(lanes, 4u);
  auto type = VectorType::get({wide}, instruction.sum());
  Value across = c(t.columns / lanes);
  Value row = arith::DivUIOp::create(b, unit, across),
        place = arith::RemUIOp::create(b, unit, across);
  Value offset = add(mul(row, t.sumPitch()), mul(place, int64_t(lanes) * 4));
  SmallVector<Value> totals;
  for (unsigned i = 0; i < lanes; i += wide) {
    Value total;
    for (Value part : parts) {
      Value some =
          LLVM::LoadOp::create(b, type, bytesBehind(part, add(offset, c(i * 4))), wide * 4);
      total = !total                      ? some
              : instruction.sum().isF32() ? Value(arith::AddFOp::create(b, total, some))
                                          : Value(arith::AddIOp::create(b, total, some));
    }
    for (unsigned j = 0; j < wide; ++j)
      totals.push_back(vector::ExtractOp::create(b, total, int64_t(j)));
  }
  return totals;
}

/// The first row and column of a unit, which may lie past the result's edges.
std::pair<Value, Value> WgmmaTileEmitter::placeOf(Value unit) {
  Value across = c(t.columns / lanes);
  Value row = toIndex(add(firstRow, arith::DivUIOp::create(b, unit, across)));
  Value ofTile = mul(arith::RemUIOp::create(b, unit, across), int64_t(lanes));
  return {row, toIndex(add(firstColumn, ofTile))};
}

/// Of how many of a thread's units an operand is read early: once where all have the same columns,
/// and of all or none, where registers have no room.
int64_t WgmmaTileEmitter::earlyUnits(const EarlyOperand &operand) {
  constexpr int64_t kMost = 4;
  if (operand.isPerColumn && round() % (t.columns / lanes) == 0)
    return 1;
  auto count = int64_t(llvm::divideCeil(units(), round()));
  return count <= kMost ? count : 0;
}

/// What is added to the thread's units, and biases, are on their way while they are multiplied: as
/// stored, of one operand after the other.
SmallVector<Type> WgmmaTileEmitter::earlyTypes() {
  SmallVector<Type> types;
  for (const EarlyOperand &operand : earlyOperands) {
    Type element = storageType(tensorType(operand.argument).getElementType());
    types.append(earlyUnits(operand),
                 lanes > 1 ? Type(VectorType::get({lanes}, element)) : element);
  }
  return types;
}

SmallVector<Value> WgmmaTileEmitter::fetchEarly() {
  SmallVector<Value> all;
  Value lastRow = f.e.subIndex(rows, f.e.index(1)), lastRun = f.e.index(m.columns - lanes);
  for (const EarlyOperand &operand : earlyOperands)
    for (int64_t i = 0; i < earlyUnits(operand); ++i) {
      Type type = earlyTypes()[all.size()], element = getElementTypeOrSelf(type);
      auto [row, column] = placeOf(unitAt(i * round()));
      Value place = f.minIndex(column, lastRun);
      if (!operand.isPerColumn)
        place = f.e.addIndex(f.e.mulIndex(f.minIndex(row, lastRow), f.e.index(m.columns)), place);
      Value from = f.at(f.e.memoryOf(operand.argument)->pointer, element, place);
      unsigned bytes = lanes * element.getIntOrFloatBitWidth() / 8;
      all.push_back(LLVM::LoadOp::create(b, type, from,
                                         unsigned(std::min<int64_t>(bytes, GpuArch::accessBytes))));
    }
  return all;
}

/// What was read early for the thread's unit number `unit` is what is read next.
void WgmmaTileEmitter::bindEarly(size_t unit) {
  ArrayRef<Value> read = earlyValues;
  for (const EarlyOperand &operand : earlyOperands) {
    auto count = size_t(earlyUnits(operand));
    if (count == 0)
      continue;
    Value v = fromStorage(b, read[std::min(unit, count - 1)],
                          tensorType(operand.argument).getElementType());
    f.e.bindProvider(operand.argument, [v](ArrayRef<Coord>) { return v; });
    read = read.drop_front(count);
  }
}

/// What follows the product, and whether it is to be stored.
std::pair<Value, Product::Finished> WgmmaTileEmitter::finished(Value unit, ArrayRef<Value> totals) {
  auto [row, column] = placeOf(unit);
  Value inside = f.less(row, rows);
  if (m.columns % t.columns)
    inside = arith::AndIOp::create(b, inside, f.less(column, f.e.index(m.columns)));
  if (units() % round())
    inside = arith::AndIOp::create(b, inside, f.less(toIndex(unit), f.e.index(units())));
  // Nothing is read past the edges either.
  row = f.minIndex(row, f.e.subIndex(rows, f.e.index(1)));
  Value group = f.e.index(0), ofGroup = f.volume(p.columns);
  if (m.window && m.window->filtersOfGroup != m.window->filters) {
    group = f.e.divIndex(column, ofGroup);
    column = f.e.remIndex(column, ofGroup);
  } else if (m.matrixRows) {
    Value ofMatrix = f.e.index(m.matrixRows);
    group = f.e.divIndex(row, ofMatrix);
    row = f.e.remIndex(row, ofMatrix);
  }
  f.e.setLanes(lanes);
  Value total = totals[0];
  if (lanes > 1)
    total = vector::FromElementsOp::create(b, VectorType::get({lanes}, instruction.sum()), totals);
  auto all = p.finish(f, group, row, runCoords(f, column, p.columns, lanes), total);
  f.e.setLanes(1);
  return {inside, all};
}

/// The block's part of the tile: with those of the other blocks, it is all of it. What several
/// units read is on its way at once, because a store may not come before a later load.
void WgmmaTileEmitter::finish() {
  constexpr size_t kTogether = 4;
  SmallVector<std::pair<Value, SmallVector<Value>>> mine;
  for (int64_t first = 0; first < units(); first += round()) {
    Value unit = unitAt(first), from = unit;
    if (units() - first < round())
      from = arith::MinUIOp::create(b, unit, c(units() - 1));
    mine.push_back({unit, {}});
    if (split > 1)
      mine.back().second = totalsOf(from);
  }
  if (split > 1)
    leaveCluster();
  for (size_t first = 0; first < mine.size(); first += kTogether) {
    SmallVector<std::pair<Value, Product::Finished>> done;
    for (auto &[unit, totals] : MutableArrayRef(mine).slice(first).take_front(kTogether)) {
      if (split == 1)
        totals = totalsOf(arith::MinUIOp::create(b, unit, c(units() - 1)));
      bindEarly(first + done.size());
      done.push_back(finished(unit, totals));
    }
    f.e.setLanes(lanes);
    for (auto &[inside, all] : done)
      f.when(inside, [&, &all = all] { Product::store(f, all); });
    f.e.setLanes(1);
  }
}

/// Neighbouring columns that a thread finishes: they lie together, unless a permuted result has
/// something else there, and all threads have some.
unsigned WgmmaTileEmitter::widestRun() {
  constexpr int64_t kMost = 8;
  bool keepsColumns = llvm::all_of(f.yield().getValues(), [](Value v) {
    auto transpose = v.getDefiningOp<prim::TransposeOp>();
    return !transpose ||
           transpose.getPermutation().back() + 1 == int64_t(transpose.getPermutation().size());
  });
  int64_t columns = m.window ? m.window->filtersOfGroup : m.columns;
  int64_t run = keepsColumns ? std::min(kMost, columns & -columns) : 1;
  int64_t ofThread = int64_t(t.rows) * t.columns / (int64_t(split) * t.multiplying());
  while (run > 2 && run > ofThread)
    run /= 2;
  return static_cast<unsigned>(run);
}

void WgmmaTileEmitter::run() {
  lanes = widestRun();
  prepare();
  Value fetches = equal(warp, c(t.multiplying() / GpuArch::warp));
  auto branch =
      scf::IfOp::create(b, earlyTypes(), fetches, /*addThenBlock=*/true, /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    f.e.nested([&] { fetch(); });
    SmallVector<Value> none;
    for (Type type : earlyTypes())
      none.push_back(LLVM::ZeroOp::create(b, type));
    scf::YieldOp::create(b, none);
    b.setInsertionPointToStart(branch.elseBlock());
    f.e.nested([&] {
      f.awaitEarlierWork(); // which computes residuals, and may read what results overwrite
      SmallVector<Value> read = fetchEarly();
      leave(multiplyAll());
      scf::YieldOp::create(b, read);
    });
  }
  llvm::append_range(earlyValues, branch.getResults());
  split > 1 ? meetCluster() : f.barrier();
  parts.push_back(shared);
  for (unsigned i = 1; i < split; ++i) {
    Value other = arith::RemUIOp::create(b, add(rank, c(i)), c(split));
    Type pointer = LLVM::LLVMPointerType::get(
        b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
    parts.push_back(NVVM::MapaOp::create(b, pointer, shared, other));
  }
  auto last = scf::IfOp::create(b, fetches, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(last.thenBlock());
    if (split > 1)
      leaveCluster();
    b.setInsertionPointToStart(last.elseBlock());
    f.e.nested([&] { finish(); });
  }
  // Nobody reads what the block has any more.
  if (split > 1)
    NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

void device::emitWgmmaTileKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    WgmmaTileEmitter(f, *matrixOperands(f.launch), *product).run();
}
