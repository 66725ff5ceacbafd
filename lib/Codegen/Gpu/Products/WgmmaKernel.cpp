//===- WgmmaKernel.cpp - Products on the matrix units of sm_90a -----------===//
//
// One block a multiprocessor computes tile after tile of the result. One warp of its
// first warp group fetches: it keeps a ring of stages filled with slices of both
// operands by bulk tensor copies (TMA), which write them swizzled as wgmma reads them and
// report to the stage's "full" barrier. The other two or three warp groups multiply, an equal
// part of the tile's rows each, one wgmma chain in flight while the next stage is awaited, and
// give a stage back through its "empty" barrier when the chain that read it is done. Registers
// move from the fetching group to the multiplying ones (setmaxnreg).
//
// Or each of two groups multiplies tiles of its own, in turns: one starts its products when the
// other has started all of its tile, and finishes its tile while the other's products run. Tiles
// are half as large then, and more is read from the L2 cache; but what follows short sums costs
// nothing.
//
// What follows the product is in WgmmaEpilogue.cpp.
//
// Operands are 128 bytes of k a row and stage, and 32 an instruction, whatever their type.
//
// Tiles are taken in an order that keeps eight rows of tiles together: their operands
// stay in the L2 cache.
//
//===----------------------------------------------------------------------===//
#include "../WordArithmetic.h"
#include "LeftSlices.h"
#include "WgmmaEpilogue.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// A stage of the ring and the parity of its barriers.
struct Place {
  Value stage, parity;
};

/// Sums of a warp group, of 64 rows each.
using Sums = SmallVector<Value, 2>;

class WgmmaEmitter : WordArithmetic {
public:
  WgmmaEmitter(device::KernelFrame &f, MatrixProduct product)
      : WordArithmetic(f), p(product), t(MatrixTile::of(f.schedule, product)),
        instruction(p.instruction(t.columns)),
        early(std::min<int64_t>({f.schedule.getKept(), t.stages, p.steps()})) {}
  void run();

private:
  Value sharedAt(Value offset) { return bytesBehind(shared, offset); }
  Value full(Value stage) { return sharedAt(add(mul(stage, c(8)), c(t.barrierOffset()))); }
  Value empty(Value stage) {
    return sharedAt(add(mul(stage, c(8)), c(t.barrierOffset() + 8 * t.stages)));
  }
  Place next(Place place);
  Place skipTile(Place place);
  std::pair<Value, Value> tileAt(Value number);
  Value tensorMap(unsigned which) {
    return f.function.getArgument(f.function.getNumArguments() - p.tensorMaps(t.rows) + which);
  }

  void prepare();
  void fetch();
  void fetchEarly();
  Place fetchTile(Value number, Place place);
  void fetchStage(ValueRange window, Value firstRow, Value firstColumn, Value step, Place place,
                  Value lacksRight);
  void fetchRight(Value firstRow, Value firstColumn, Value step, Value stage);
  void compute();
  Place computeTile(Value number, Place place);
  Sums multiplyStage(ValueRange sums, Place place, bool first);
  void giveBack(Value stage);
  void awaitTurn();
  void passTurn(Value group);
  void forTiles(Value first, Value step, Place start, function_ref<Place(Value, Place)> body);

  MatrixProduct p;
  MatrixTile t;
  WgmmaInstruction instruction;
  int64_t early;               ///< steps whose weights are fetched before earlier work ends
  Value shared, sharedAddress; ///< aligned to 1024
  Value tid, warp, block, grid;
  Value tilesDown, tilesAcross, tiles, steps;
  Value leads, consumer;
  std::optional<RowTiles> rowTiles;
  std::optional<LeftSlices> leftSlices;  ///< not of windows
  std::optional<WgmmaEpilogue> epilogue; ///< of the threads that multiply
};

} // namespace

Place WgmmaEmitter::next(Place place) {
  Value stage = add(place.stage, c(1)), wraps = equal(stage, c(t.stages));
  return {arith::SelectOp::create(b, wraps, c(0), stage),
          bxor(place.parity, arith::ExtUIOp::create(b, b.getI32Type(), wraps))};
}

/// The place after a tile of the other group.
Place WgmmaEmitter::skipTile(Place place) {
  int64_t turns = p.steps() / t.stages, rest = p.steps() % t.stages;
  Value stage = add(place.stage, c(rest));
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, stage, c(t.stages));
  stage = arith::SelectOp::create(b, wraps, sub(stage, c(t.stages)), stage);
  Value parity = bxor(place.parity, arith::ExtUIOp::create(b, b.getI32Type(), wraps));
  return {stage, bxor(parity, c(turns % 2))};
}

/// The first row and column of a tile.
std::pair<Value, Value> WgmmaEmitter::tileAt(Value number) {
  constexpr int64_t kTogether = 8; // rows of tiles
  Value width = mul(c(kTogether), tilesAcross);
  Value group = div(number, width), rest = rem(number, width);
  Value first = mul(group, c(kTogether));
  Value height = arith::MinSIOp::create(b, sub(tilesDown, first), c(kTogether));
  Value down = add(first, rem(rest, height)), across = div(rest, height);
  return {rowTiles->firstRow(down), mul(across, c(t.columns))};
}

void WgmmaEmitter::prepare() {
  auto [memory, address] = SharedSlices::in(b, f.dynamicShared());
  shared = memory;
  sharedAddress = address;
  tid = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  grid = NVVM::GridDimXOp::create(b, b.getI32Type());
  warp = uniformWarp(b, tid);
  SmallVector<Value> rowExtents;
  for (unsigned i = 0; i < p.rowAxes; ++i)
    rowExtents.push_back(f.e.extent(p.rows(), i));
  Value rows32 = arith::IndexCastUIOp::create(b, b.getI32Type(), f.volume(rowExtents));
  rowTiles.emplace(f, p, t.rows, rows32);
  tilesDown = rowTiles->count();
  if (!p.window) {
    unsigned maps = p.tensorMaps(t.rows);
    Value part = p.hasPartTile(t.rows) ? tensorMap(maps - 1) : Value();
    leftSlices.emplace(f, *rowTiles, tensorMap(0), part);
  }
  tilesAcross = c(llvm::divideCeil(p.columns, t.columns));
  tiles = mul(tilesDown, tilesAcross);
  steps = c(p.steps());
  f.when(equal(tid, c(0)), [&] {
    for (unsigned i = 0; i < p.tensorMaps(t.rows); ++i)
      prefetchMap(b, tensorMap(i));
    for (unsigned i = 0; i < t.stages; ++i) {
      NVVM::MBarrierInitOp::create(b, full(c(i)), c(1), Value());
      NVVM::MBarrierInitOp::create(b, empty(c(i)), c(t.sharers), Value());
    }
    for (unsigned i = 0; p.residual && i < t.consumers; ++i)
      NVVM::MBarrierInitOp::create(b, sharedAt(c(t.residualOffset(i))), c(1), Value());
    NVVM::FenceMbarrierInitOp::create(b);
  });
  f.barrier();
}

/// Tiles from `first` on, with the place in the ring carried from one to the next.
void WgmmaEmitter::forTiles(Value first, Value step, Place start,
                            function_ref<Place(Value, Place)> body) {
  auto loop = scf::ForOp::create(b, first, tiles, step, ValueRange{start.stage, start.parity});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Place after = f.e.nested([&] {
    return body(loop.getInductionVar(), {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  });
  scf::YieldOp::create(b, ValueRange{after.stage, after.parity});
}

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

void WgmmaEmitter::fetch() {
  NVVM::SetMaxRegisterOp::create(b, 24, NVVM::SetMaxRegisterAction::decrease);
  f.when(equal(warp, c(0)), [&] {
    Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    f.when(elected, [&] {
      fetchEarly();
      f.awaitEarlierWork();
      forTiles(block, grid, {c(0), c(0)},
               [&](Value number, Place place) { return fetchTile(number, place); });
    });
    NVVM::SyncWarpOp::create(b, c(-1));
  });
}

/// The weights of the block's first steps wait for no earlier work.
void WgmmaEmitter::fetchEarly() {
  if (!early)
    return;
  f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, block, tiles), [&] {
    auto [firstRow, firstColumn] = tileAt(block);
    for (int64_t step = 0; step < early; ++step)
      fetchRight(firstRow, firstColumn, c(step), c(step));
  });
}

Place WgmmaEmitter::fetchTile(Value number, Place place) {
  auto [firstRow, firstColumn] = tileAt(number);
  SmallVector<Value> window;
  if (p.window)
    window = p.window->windowAt(f, firstRow);
  Value follows = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, number, block);
  auto loop = scf::ForOp::create(b, c(0), steps, c(1), ValueRange{place.stage, place.parity});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Place here = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  Value step = loop.getInductionVar(), lacksRight;
  if (early)
    lacksRight = arith::OrIOp::create(
        b, follows, arith::CmpIOp::create(b, arith::CmpIPredicate::uge, step, c(early)));
  fetchStage(window, firstRow, firstColumn, step, here, lacksRight);
  Place after = next(here);
  scf::YieldOp::create(b, ValueRange{after.stage, after.parity});
  return {loop.getResult(0), loop.getResult(1)};
}

/// `window`: where a convolution's first one stands. `lacksRight`: whether the slice of the right
/// operand has not been fetched; null: it never has.
void WgmmaEmitter::fetchStage(ValueRange window, Value firstRow, Value firstColumn, Value step,
                              Place place, Value lacksRight) {
  awaitBarrier(b, empty(place.stage), bxor(place.parity, c(1)));
  if (lacksRight)
    f.when(lacksRight, [&] { fetchRight(firstRow, firstColumn, step, place.stage); });
  else
    fetchRight(firstRow, firstColumn, step, place.stage);
  Value barrier = full(place.stage), left = sharedAt(mul(place.stage, c(t.stageBytes())));
  if (p.window) {
    ConvolutionWindow::Copies copies = p.window->copiesAt(f, window, firstColumn, step);
    return copyWindow(b, left, tensorMap(0), copies.image, copies.taps, barrier);
  }
  leftSlices->copy(left, mul(step, c(MatrixTile::depth)), firstRow, barrier);
}

/// The right operand's slice of a stage, whose barrier then expects all of the stage.
void WgmmaEmitter::fetchRight(Value firstRow, Value firstColumn, Value step, Value stage) {
  Value barrier = full(stage);
  if (p.window)
    expectBytes(b, barrier, t.stageBytes());
  else
    expectBytes(b, barrier, add(leftSlices->bytes(firstRow), c(t.stageBytes() - t.leftBytes())));
  Value right = add(mul(stage, c(t.stageBytes())), c(t.leftBytes()));
  if (p.window)
    return copyBox(b, sharedAt(right), tensorMap(1), p.window->filtersAt(f, firstColumn, step),
                   barrier);
  Value k = mul(step, c(MatrixTile::depth));
  if (p.rightByColumns)
    return copyBox(b, sharedAt(right), tensorMap(1), p.rightAt(b, firstRow, firstColumn, k),
                   barrier);
  for (unsigned i = 0; i < t.columns; i += MatrixTile::sliceColumns)
    copyBox(b, sharedAt(add(right, c(int64_t(i) * MatrixTile::depth * 2))), tensorMap(1),
            p.rightAt(b, firstRow, add(firstColumn, c(i)), k), barrier);
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

void WgmmaEmitter::compute() {
  NVVM::SetMaxRegisterOp::create(b, t.registers(), NVVM::SetMaxRegisterAction::increase);
  consumer = sub(shr(warp, 2), c(1));
  leads = equal(band(tid, 127), c(0));
  epilogue.emplace(f, p, t, WgmmaEpilogue::Group{shared, tid, warp, consumer, leads});
  f.awaitEarlierWork(); // which computes residuals, and may read what results overwrite
  auto body = [&](Value number, Place place) { return computeTile(number, place); };
  Place start = {c(0), c(0)};
  if (t.isShared()) {
    forTiles(block, grid, start, body);
  } else {
    static_assert(MatrixTile::turns == 2);
    Value isSecond = equal(consumer, c(1));
    Place second = skipTile(start);
    start = {arith::SelectOp::create(b, isSecond, second.stage, start.stage),
             arith::SelectOp::create(b, isSecond, second.parity, start.parity)};
    f.when(isSecond, [&] { passTurn(c(0)); });
    forTiles(add(block, mul(consumer, grid)), mul(grid, c(2)), start, body);
  }
  epilogue->end();
}

/// The sums with one stage's products added; the chain is committed, not awaited.
Sums WgmmaEmitter::multiplyStage(ValueRange sums, Place place, bool first) {
  constexpr int64_t kSlice = 64 * MatrixTile::depth * 2;
  constexpr int64_t kPart = MatrixTile::partRows * MatrixTile::depth * 2;
  awaitBarrier(b, full(place.stage), place.parity);
  Value begin = add(sharedAddress, mul(place.stage, c(t.stageBytes())));
  Value rows = t.isShared() ? add(begin, mul(consumer, c(t.parts() * kPart))) : begin;
  SmallVector<WgmmaOperand, 2> left;
  for (unsigned part = 0; part < t.parts(); ++part)
    left.push_back(WgmmaOperand::at(b, add(rows, c(part * kPart)), kSlice, !p.leftAcross));
  auto right = WgmmaOperand::at(b, add(begin, c(t.leftBytes())), kSlice, p.rightByColumns);
  Sums all(sums);
  beginChain(b);
  for (int64_t k = 0; k < MatrixTile::depth; k += WgmmaInstruction::bytes / 2)
    for (auto [part, of] : llvm::zip(all, left))
      part = instruction.multiply(b, part, of.step(b, k), right.step(b, k), p.rightByColumns,
                                  first && k == 0, !p.leftAcross);
  endChain(b);
  return all;
}

void WgmmaEmitter::giveBack(Value stage) {
  f.when(leads, [&] { arriveAtBarrier(b, empty(stage)); });
}

constexpr int64_t kFirstTurnBarrier = MatrixTile::turns + 1; // after those of storeRows

/// Waits until the other group has started all products of its tile: no barrier of a stage is then
/// a whole turn ahead of the phase that is waited for.
void WgmmaEmitter::awaitTurn() {
  NVVM::BarrierOp::create(b, Type(), add(consumer, c(kFirstTurnBarrier)),
                          c(MatrixTile::turns * 128), NVVM::BarrierReductionAttr(), Value());
}

void WgmmaEmitter::passTurn(Value group) {
  NVVM::BarrierArriveOp::create(b, add(group, c(kFirstTurnBarrier)), c(MatrixTile::turns * 128));
}

Place WgmmaEmitter::computeTile(Value number, Place place) {
  auto [firstRow, firstColumn] = tileAt(number);
  Value matrix = p.endsWithinTiles(t.rows) ? rowTiles->matrixOf(firstRow) : Value();
  if (t.isShared())
    firstRow = add(firstRow, mul(consumer, c(t.parts() * MatrixTile::partRows)));
  Value zero = LLVM::ZeroOp::create(b, wgmmaSums(b, t.columns, instruction.sum()));
  WgmmaEpilogue::Columns columns = epilogue->fetchColumns(firstColumn);
  if (!t.isShared()) {
    epilogue->fetchResidual(firstRow, firstColumn);
    awaitTurn();
  }
  SmallVector<Value> carried(multiplyStage(Sums(t.parts(), zero), place, true));
  if (t.isShared())
    epilogue->fetchResidual(firstRow, firstColumn);
  Place second = next(place);
  carried.append({second.stage, second.parity, place.stage});
  auto loop = scf::ForOp::create(b, c(1), steps, c(1), carried);
  auto sumsOf = [&](ValueRange values) { return values.take_front(t.parts()); };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange before = loop.getRegionIterArgs();
    ValueRange places = before.drop_front(t.parts());
    Place here = {places[0], places[1]};
    SmallVector<Value> added(multiplyStage(sumsOf(before), here, false));
    // The chain before this one is done: its stage may be filled again.
    NVVM::WgmmaWaitGroupSyncOp::create(b, 1);
    giveBack(places[2]);
    Place after = next(here);
    added.append({after.stage, after.parity, here.stage});
    scf::YieldOp::create(b, added);
  }
  if (!t.isShared())
    passTurn(sub(c(1), consumer));
  Sums all;
  for (Value sums : sumsOf(loop.getResults()))
    all.push_back(awaitChains(b, sums, 0));
  ValueRange places = loop.getResults().drop_front(t.parts());
  giveBack(places[2]);
  // Each group has come to one tile in so many of the block.
  Value turn = div(number, grid);
  epilogue->storeTile(all, columns, {firstRow, firstColumn, matrix},
                      t.isShared() ? turn : shr(turn, 1));
  Place after = {places[0], places[1]};
  return t.isShared() ? after : skipTile(after);
}

void WgmmaEmitter::run() {
  prepare();
  auto branch = scf::IfOp::create(b, equal(shr(warp, 2), c(0)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { fetch(); });
  b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { compute(); });
}

void device::emitWgmmaKernel(KernelFrame &f) { WgmmaEmitter(f, *matrixProduct(f.launch)).run(); }
