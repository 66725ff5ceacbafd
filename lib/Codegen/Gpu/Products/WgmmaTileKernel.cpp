//===- WgmmaTileKernel.cpp - One tile of a product a block, for sm_90a ----===//
//
// The template for products that end soon: few rows, whose weights all multiprocessors should
// stream, or little to sum, where what is read and written beside the product takes the time. A
// block computes one tile; small tiles, several blocks a multiprocessor and a cluster of blocks
// that share what a tile sums keep all memory busy, where tile after tile in one block would wait
// for each step in turn.
//
// One warp fetches slices of both operands by bulk tensor copies, as WgmmaKernel.cpp says; each
// warp group multiplies 64 rows (or 64 columns: TurnedWgmma.cpp). The sums then go to shared
// memory, in rows: a thread takes neighbouring columns of a row from there, so that biases,
// residuals and results are accessed 16 bytes at a time, whatever their types and wherever a
// permuted result puts its rows.
//
// Blocks that share a tile are a cluster: they read each other's shared memory. Each adds up a
// part of the tile from all blocks, its own first and then in the order of the blocks, so that
// results repeat, and finishes it.
//
//===----------------------------------------------------------------------===//
#include "WgmmaTileKernel.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

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
  rowTiles.emplace(f, m, t.rows, to32(rows));
  if (!m.window)
    leftSlices.emplace(f, *rowTiles, tensorMap(0), m.hasPartTile(t.rows) ? tensorMap(2) : Value());
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  rank = split == 1 ? c(0) : Value(arith::RemUIOp::create(b, block, c(split)));
  Value number = split == 1 ? block : Value(arith::DivUIOp::create(b, block, c(split)));
  Value down = rowTiles->count();
  // Tiles of the same columns go together: their weights come from memory once.
  firstRow = rowTiles->firstRow(rem(number, down));
  endRow = m.endsWithinTiles(t.rows) ? toIndex(rowTiles->end(firstRow)) : rows;
  firstColumn = mul(arith::DivUIOp::create(b, number, down), t.columns);
  firstStep = mul(rank, each);
  steps = c(each);
  if (m.steps() % each)
    steps = arith::MinUIOp::create(b, steps, arith::SubIOp::create(b, c(m.steps()), firstStep));
  f.when(equal(tid, c(0)), [&] {
    for (unsigned i = 0; i < m.tensorMaps(t.rows); ++i)
      prefetchMap(b, tensorMap(i));
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
  if (!m.window)
    expectBytes(b, barrier, add(leftSlices->bytes(firstRow), c(t.stageBytes() - t.leftBytes())));
  else
    expectBytes(b, barrier, t.stageBytes());
  if (m.window)
    return copyBox(b, right, tensorMap(1), m.window->filtersAt(f, firstColumn, step), barrier);
  if (m.rightByColumns)
    return copyBox(b, right, tensorMap(1),
                   m.rightAt(b, firstRow, firstColumn, mul(step, MatrixTile::depth)), barrier);
  int64_t units = m.elementUnits();
  Value k = mul(step, MatrixTile::depth / units);
  for (unsigned i = 0; i < t.columns; i += MatrixTile::sliceColumns / units)
    copyBox(b, bytesBehind(right, c(int64_t(i) * MatrixTile::depth * 2)), tensorMap(1),
            m.rightAt(b, firstRow, mul(add(firstColumn, c(i)), units), k), barrier);
}

/// `window`: where a convolution's first one stands.
void WgmmaTileEmitter::fetchLeft(ValueRange window, Value step, Value stage) {
  step = add(firstStep, step);
  Value barrier = full(stage), left = bytesBehind(shared, mul(stage, t.stageBytes()));
  if (m.window) {
    ConvolutionWindow::Copies copies = m.window->copiesAt(f, window, firstColumn, step);
    return copyWindow(b, left, tensorMap(0), copies.image, copies.taps, barrier);
  }
  leftSlices->copy(left, mul(step, MatrixTile::depth), firstRow, barrier);
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
      b, add(begin, mul(group, WgmmaTile::groupRows * MatrixTile::depth * 2)), 0, !m.leftAcross);
  auto right = WgmmaOperand::at(b, add(begin, c(t.leftBytes())), 64 * MatrixTile::depth * 2,
                                m.rightByColumns);
  beginChain(b);
  for (unsigned k = 0; k < MatrixTile::depth; k += 16)
    sums = instruction.multiply(b, sums, left.step(b, k), right.step(b, k), m.rightByColumns,
                                isFirst && k == 0, !m.leftAcross);
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

void WgmmaTileEmitter::run() {
  alongRows = liesAlongRows();
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
      leave(t.turned ? multiplyTurned() : multiplyAll());
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
