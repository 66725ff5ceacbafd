//===- WgmmaAttention.cpp - Attention on the matrix units of sm_90a -------===//
//
// A block keeps the results of a tile of queries and goes over the keys, a block of them at a time,
// with a running softmax. One warp of its first warp group fetches: the queries once, then keys and
// values block by block into two stages each, by bulk tensor copies (TMA). The other warp groups
// have 64 queries each. They multiply queries and keys out of shared memory; the weights that the
// softmax makes of the scores stay in registers, where they lie as the second product takes them.
//
// A block computes tile after tile: while its warp groups end one, the first keys of the next come.
// The two products of different blocks overlap with the softmax: a turn starts the scores of its
// keys, then adds the weights of the turn before times their values, and computes its own weights
// while that runs. The warp groups take turns at starting products (named barriers), so that one
// computes weights while the other multiplies.
//
// Where all keys of a head are one turn, a tile may have all of its queries. The warp groups then
// take its parts of 64 queries one after the other, and go on to the next tile's.
//
// Blocks of keys that no query of the tile sees are not visited, and those that all of its queries
// see are not masked: the others come in turns of their own, first and last. The last block of
// keys comes first, because it is the one with a diagonal or a tail to hide.
//
//===----------------------------------------------------------------------===//
#include "WgmmaAttention.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

WgmmaAttentionEmitter::WgmmaAttentionEmitter(KernelFrame &f, const BoxedAttention &attention)
    : WordArithmetic(f), a(attention), form(attention.form),
      t(BoxedAttentionTile::of(f.schedule, attention)), values(productFrom(f, form.values)),
      byValues{tensorType(form.scores.getLhs()).getElementType(), unsigned(attention.width)} {
  hasUpper = llvm::any_of(a.mask.bounds, [](const KeyBound &bound) { return bound.isUpper; });
  hasLower = llvm::any_of(a.mask.bounds, [](const KeyBound &bound) { return !bound.isUpper; });
  hasTail = a.keyCount < 0 || a.keyCount % t.keys != 0;
  // Without bounds, all tiles begin with the tail.
  bool endsAlike = hasTail && a.keyCount >= 0 && a.mask.bounds.empty();
  firstKeys = endsAlike ? unsigned(llvm::alignTo(a.keyCount % t.keys, 8)) : t.keys;
}

SmallVector<Value> WgmmaAttentionEmitter::State::all() const {
  SmallVector<Value> values = {results};
  llvm::append_range(values, tops);
  llvm::append_range(values, totals);
  llvm::append_range(values, weights);
  return values;
}

WgmmaAttentionEmitter::State WgmmaAttentionEmitter::State::of(ValueRange values) {
  State state;
  state.results = values[0];
  llvm::append_range(state.tops, values.slice(1, kRows));
  llvm::append_range(state.totals, values.slice(1 + kRows, kRows));
  llvm::append_range(state.weights, values.drop_front(1 + 2 * kRows));
  return state;
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

Value WgmmaAttentionEmitter::sharedAt(Value offset) { return bytesBehind(shared, offset); }

Value WgmmaAttentionEmitter::barrier(Barrier which, Value stage) {
  int64_t number = static_cast<int64_t>(which) * BoxedAttentionTile::stages;
  return sharedAt(add(mul(stage, 8), c(t.barrierOffset() + 8 * number)));
}

Value WgmmaAttentionEmitter::tensorMap(unsigned which) {
  return f.function.getArgument(f.function.getNumArguments() - BoxedAttention::tensorMaps + which);
}

/// The tile of a round: from one end of the blocks and from the other in turns, because tiles
/// become shorter where they differ.
Value WgmmaAttentionEmitter::tileIn(Value round) {
  Value isOdd = equal(band(round, 1), c(1));
  Value place = arith::SelectOp::create(b, isOdd, sub(sub(grid, c(1)), block), block);
  return add(arith::MulIOp::create(b, round, grid), place);
}

/// How many tiles the block has.
Value WgmmaAttentionEmitter::rounds() {
  Value tiles = to32(f.e.mulIndex(heads, rowTiles));
  Value whole = arith::DivUIOp::create(b, tiles, grid);
  Value hasMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tileIn(whole), tiles);
  return add(whole, arith::ExtUIOp::create(b, b.getI32Type(), hasMore));
}

/// `number`: of the turns before.
void WgmmaAttentionEmitter::prepareTile(Value round, Value tile, Value number) {
  turnsBefore = number;
  queryStage = t.queryStages == 1 ? c(0) : band(round, 1);
  queryParity = t.queryStages == 1 ? band(round, 1) : band(shr(round, 1), 1);
  prepareTask(tile);
  prepareKeys();
}

/// The block's tiles, one of each round.
void WgmmaAttentionEmitter::forTiles(function_ref<void()> body) {
  auto loop = scf::ForOp::create(b, c(0), rounds(), c(1), ValueRange{c(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value round = loop.getInductionVar();
  f.e.nested([&] {
    prepareTile(round, tileIn(round), loop.getRegionIterArg(0));
    body();
  });
  scf::YieldOp::create(b, ValueRange{add(turnsBefore, blocks)});
}

/// The warp group's parts of the block's tiles, each of which is one turn.
void WgmmaAttentionEmitter::forParts(function_ref<void()> body) {
  auto loop = scf::ForOp::create(b, consumer, mul(rounds(), t.parts()), c(t.consumers));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value round = arith::DivUIOp::create(b, loop.getInductionVar(), c(t.parts()));
  part = arith::RemUIOp::create(b, loop.getInductionVar(), c(t.parts()));
  f.e.nested([&] {
    prepareTile(round, tileIn(round), round);
    body();
  });
}

/// As many heads as the L2 cache holds the keys of, in groups of the same size.
Value WgmmaAttentionEmitter::headsTogether() {
  constexpr int64_t kCached = 40 << 20; // bytes
  int64_t ofKey = (a.depth + a.width) * 2;
  if (a.batches >= 0 && a.keyCount >= 0) {
    int64_t all = a.batches * a.otherRows;
    int64_t most = std::max<int64_t>(1, kCached / (a.keyCount * ofKey)) * a.otherRows;
    int64_t together = llvm::divideCeil(all, llvm::divideCeil(all, most));
    return together < all ? f.e.index(together) : heads;
  }
  auto larger = [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, x, y); };
  Value one = f.e.index(1), bytes = f.e.mulIndex(larger(keyCount, one), f.e.index(ofKey));
  Value sharing = larger(f.e.divIndex(f.e.index(kCached), bytes), one);
  Value most = f.e.mulIndex(sharing, f.e.index(a.otherRows));
  auto upTo = [&](Value x, Value y) {
    return f.e.divIndex(f.e.addIndex(x, f.e.subIndex(y, one)), y);
  };
  return upTo(heads, upTo(heads, most));
}

/// What a tile is. Neighbouring ones have queries of one head, so that its keys are read from
/// memory once; but where tiles differ in the keys they see, those with the most come first, of as
/// many heads as the L2 cache holds the keys of.
void WgmmaAttentionEmitter::prepareTask(Value number) {
  Value given = toIndex(number), head, tile;
  if (hasUpper) {
    Value together = headsTogether(), group = f.e.index(0), rest = given;
    if (together != heads) {
      Value tiles = f.e.mulIndex(together, rowTiles);
      group = f.e.divIndex(given, tiles);
      rest = f.e.remIndex(given, tiles);
    }
    Value first = f.e.mulIndex(group, together);
    Value here = f.minIndex(f.e.subIndex(heads, first), together);
    tile = f.e.subIndex(f.e.subIndex(rowTiles, f.e.index(1)), f.e.divIndex(rest, here));
    head = f.e.addIndex(first, f.e.remIndex(rest, here));
  } else {
    head = f.e.divIndex(given, rowTiles);
    tile = f.e.remIndex(given, rowTiles);
  }
  batchNumber = f.e.divIndex(head, f.e.index(a.otherRows));
  batch = f.delinearize(batchNumber, values.batch);
  SmallVector<Value> others(values.rows);
  others.erase(others.begin() + a.tiledAxis);
  otherRows = f.delinearize(f.e.remIndex(head, f.e.index(a.otherRows)), others);
  rowTile = f.e.mulIndex(tile, f.e.index(t.rows));
}

/// Which blocks of keys the tile's queries see: the lanes of each warp look at all queries.
void WgmmaAttentionEmitter::prepareKeys() {
  Value all = a.keyCount >= 0 ? c(llvm::divideCeil(a.keyCount, t.keys))
                              : larger(to32(ceilDiv(keyCount, t.keys)), c(1));
  if (a.mask.bounds.empty()) {
    lastBlock = sub(all, c(1));
    blocks = all;
    wholeFrom = c(1);
    wholeTo = blocks;
    return;
  }
  Value laneRow = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  Value most[4]; // begin and end of what anybody sees, then of what everybody does
  for (unsigned first = 0; first < t.rows; first += GpuArch::warp) {
    KeyRange range = seenBy(f.e.addIndex(rowTile, f.e.addIndex(laneRow, f.e.index(first))));
    Value begin = range.begin, end = range.end;
    most[0] = most[0] ? smaller(most[0], begin) : begin;
    most[1] = most[1] ? larger(most[1], end) : end;
    most[2] = most[2] ? larger(most[2], begin) : begin;
    most[3] = most[3] ? smaller(most[3], end) : end;
  }
  constexpr NVVM::ReduxKind kKinds[] = {NVVM::ReduxKind::MIN, NVVM::ReduxKind::MAX,
                                        NVVM::ReduxKind::MAX, NVVM::ReduxKind::MIN};
  for (unsigned i = 0; i < 4; ++i)
    most[i] = NVVM::ReduxOp::create(b, b.getI32Type(), most[i], kKinds[i], c(-1));
  auto div = [&](Value x) -> Value { return arith::DivUIOp::create(b, x, c(t.keys)); };
  auto roundUp = [&](Value x) { return div(add(x, c(t.keys - 1))); };
  // One block at least: what nobody sees has weights of zero.
  Value firstBlock = smaller(div(most[0]), sub(all, c(1)));
  lastBlock = sub(larger(roundUp(most[1]), add(firstBlock, c(1))), c(1));
  blocks = add(sub(lastBlock, firstBlock), c(1));
  Value upTo = sub(add(lastBlock, c(1)), div(most[3]));
  wholeFrom = smaller(larger(upTo, c(1)), blocks);
  Value from = sub(add(lastBlock, c(1)), roundUp(most[2]));
  wholeTo = smaller(larger(from, wholeFrom), blocks);
}

void WgmmaAttentionEmitter::prepare() {
  auto [memory, address] = SharedSlices::in(b, f.dynamicShared());
  shared = memory;
  sharedAddress = address;
  tid = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  warp = uniformWarp(b, tid);
  block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  grid = NVVM::GridDimXOp::create(b, b.getI32Type());
  heads = f.e.mulIndex(f.volume(values.batch), f.e.index(a.otherRows));
  rowCount = values.rows[a.tiledAxis];
  rowTiles = a.rows >= 0 ? f.e.index(llvm::divideCeil(a.rows, t.rows)) : ceilDiv(rowCount, t.rows);
  keyCount = f.e.extent(form.values.getRhs(), unsigned(form.values.getRhsContract()[0]));
  f.when(equal(tid, c(0)), [&] {
    for (unsigned i = 0; i < BoxedAttention::tensorMaps; ++i)
      prefetchMap(b, tensorMap(i));
    auto init = [&](Value at, unsigned arrivals) {
      NVVM::MBarrierInitOp::create(b, at, c(arrivals), Value());
    };
    for (unsigned i = 0; i < BoxedAttentionTile::stages; ++i) {
      init(barrier(Barrier::FullQueries, c(i)), 1);
      init(barrier(Barrier::EmptyQueries, c(i)), t.parts());
      init(barrier(Barrier::FullKeys, c(i)), 1);
      init(barrier(Barrier::FullValues, c(i)), 1);
      init(barrier(Barrier::EmptyKeys, c(i)), t.parts());
      init(barrier(Barrier::EmptyValues, c(i)), t.parts());
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  f.barrier();
  f.awaitEarlierWork();
}

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

SmallVector<Value> WgmmaAttentionEmitter::placeOf(const BoxOperand &box, unsigned map, Value row,
                                                  Value column) {
  prim::DotOp dot = map == 2 ? form.values : form.scores;
  ArrayRef<int64_t> paired = map == 0 ? dot.getLhsBatch() : dot.getRhsBatch();
  ArrayRef<int64_t> summed = map == 0 ? dot.getLhsContract() : dot.getRhsContract();
  return box.place(b, [&](int axis) -> Value {
    if (axis == box.rowAxis)
      return row;
    if (axis == box.columnAxis)
      return column;
    if (const auto *at = llvm::find(paired, axis); at != paired.end())
      return to32(batch[at - paired.begin()]);
    // Rows of the queries that tiles do not lie along.
    unsigned number = 0;
    for (int before = 0; before < axis; ++before)
      number += before != box.rowAxis && !llvm::is_contained(paired, before) &&
                !llvm::is_contained(summed, before);
    return to32(otherRows[number]);
  });
}

void WgmmaAttentionEmitter::fetchQueries() {
  awaitBarrier(b, barrier(Barrier::EmptyQueries, queryStage), bxor(queryParity, 1));
  Value full = barrier(Barrier::FullQueries, queryStage);
  expectBytes(b, full, t.queryBytes);
  Value begin = mul(queryStage, t.queryBytes);
  for (unsigned i = 0; i < a.depth; i += BoxOperand::columns)
    copyBox(b, sharedAt(add(begin, c(int64_t(i) * t.rows * 2))), tensorMap(0),
            placeOf(a.queries, 0, to32(rowTile), c(i)), full);
}

/// A block of keys or of their values, which have `columns` numbers each.
void WgmmaAttentionEmitter::fetchKeys(const BoxOperand &box, unsigned map, bool inRows,
                                      int64_t columns, Value offset, Value firstKey, Value full) {
  int64_t boxRows = inRows ? t.keys : columns, across = inRows ? columns : t.keys;
  auto copy = [&] {
    expectBytes(b, full, boxRows * int64_t(llvm::alignTo(across, BoxOperand::columns)) * 2);
    for (int64_t i = 0; i < across; i += BoxOperand::columns)
      copyBox(b, sharedAt(add(offset, c(i * boxRows * 2))), tensorMap(map),
              placeOf(box, map, inRows ? firstKey : c(0), inRows ? c(i) : add(firstKey, c(i))),
              full);
  };
  if (a.keyCount >= 0)
    return copy();
  // Of no keys there is nothing to wait for.
  f.when(equal(to32(keyCount), c(0)), [&] { arriveAtBarrier(b, full); });
  f.when(f.less(f.e.index(0), keyCount), copy);
}

void WgmmaAttentionEmitter::fetchBlock(Value turn) {
  Value stage = stageOf(turn), before = bxor(parityOf(turn), 1), firstKey = keyAt(turn);
  awaitBarrier(b, barrier(Barrier::EmptyKeys, stage), before);
  fetchKeys(a.keys, 1, a.keysByInner, a.depth, add(mul(stage, t.keyBytes), c(t.keyOffset())),
            firstKey, barrier(Barrier::FullKeys, stage));
  awaitBarrier(b, barrier(Barrier::EmptyValues, stage), before);
  fetchKeys(a.values, 2, !a.valuesByInner, a.width,
            add(mul(stage, t.valueBytes), c(t.valueOffset())), firstKey,
            barrier(Barrier::FullValues, stage));
}

void WgmmaAttentionEmitter::fetch() {
  NVVM::SetMaxRegisterOp::create(b, BoxedAttentionTile::fetchRegisters,
                                 NVVM::SetMaxRegisterAction::decrease);
  f.when(equal(warp, c(0)), [&] {
    Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    forTiles([&] {
      f.when(elected, [&] {
        fetchQueries();
        auto loop = scf::ForOp::create(b, c(0), blocks, c(1));
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        f.e.nested([&] { fetchBlock(loop.getInductionVar()); });
      });
      NVVM::SyncWarpOp::create(b, c(-1));
    });
  });
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// Starts the scores of the first `keys` of a block.
Value WgmmaAttentionEmitter::multiplyKeys(Value stage, unsigned keys) {
  Value address = add(sharedAddress, add(mul(stage, t.keyBytes), c(t.keyOffset())));
  int64_t slice = (a.keysByInner ? int64_t(t.keys) : a.depth) * BoxOperand::columns * 2;
  auto right = WgmmaOperand::at(b, address, slice, a.keysByInner);
  WgmmaInstruction byKeys{byValues.element, keys};
  Value sums = LLVM::ZeroOp::create(b, wgmmaSums(b, keys, b.getF32Type()));
  beginChain(b);
  for (int64_t k = 0; k < a.depth; k += 16)
    sums = byKeys.multiply(b, sums, left.step(b, k), right.step(b, k), a.keysByInner, k == 0);
  endChain(b);
  return sums;
}

/// Starts to add the weights of a block of keys times their values.
Value WgmmaAttentionEmitter::multiplyValues(Value results, ValueRange weights, Value stage) {
  Value address = add(sharedAddress, add(mul(stage, t.valueBytes), c(t.valueOffset())));
  int64_t slice = (a.valuesByInner ? a.width : int64_t(t.keys)) * BoxOperand::columns * 2;
  auto right = WgmmaOperand::at(b, address, slice, a.valuesByInner);
  beginChain(b);
  for (unsigned k = 0; k < t.keys; k += 16)
    results =
        byValues.multiply(b, results, weights.slice(k / 4, 4), right.step(b, k), a.valuesByInner);
  endChain(b);
  return results;
}

void WgmmaAttentionEmitter::giveBack(Barrier which, Value stage) {
  f.when(leads, [&] { arriveAtBarrier(b, barrier(which, stage)); });
}

constexpr int64_t kFirstTurnBarrier = 4, kTurnThreads = 256;

/// Waits until the warp group before has started its products.
void WgmmaAttentionEmitter::awaitTurn() {
  if (t.consumers == 1)
    return;
  NVVM::BarrierOp::create(b, Type(), add(consumer, c(kFirstTurnBarrier)), c(kTurnThreads),
                          NVVM::BarrierReductionAttr(), Value());
}

void WgmmaAttentionEmitter::passTurn() {
  if (t.consumers == 1)
    return;
  Value next = add(consumer, c(1));
  Value wraps = equal(next, c(t.consumers));
  next = arith::SelectOp::create(b, wraps, c(0), next);
  NVVM::BarrierArriveOp::create(b, add(next, c(kFirstTurnBarrier)), c(kTurnThreads));
}

WgmmaAttentionEmitter::State WgmmaAttentionEmitter::visit(Value turn, State state, bool isMasked) {
  Value stage = stageOf(turn), before = sub(turn, c(1)), stageBefore = stageOf(before);
  SmallVector<Value> seen = seenKeys(keyAt(turn));
  awaitBarrier(b, barrier(Barrier::FullKeys, stage), parityOf(turn));
  awaitTurn();
  Value scores = multiplyKeys(stage, t.keys);
  awaitBarrier(b, barrier(Barrier::FullValues, stageBefore), parityOf(before));
  auto read = state.weights;
  Value results = multiplyValues(state.results, read, stageBefore);
  passTurn();
  scores = awaitChains(b, scores, 1);
  giveBack(Barrier::EmptyKeys, stage);
  softmax(scores, keyAt(turn), seen, state, /*isFirst=*/false, isMasked);
  results = awaitChains(b, results, 0, read);
  giveBack(Barrier::EmptyValues, stageBefore);
  state.results = scaled(results, state.corrections);
  return state;
}

WgmmaAttentionEmitter::State WgmmaAttentionEmitter::visitAll(Value from, Value to, State state,
                                                             bool isMasked) {
  auto loop = scf::ForOp::create(b, from, to, c(1), state.all());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State next = f.e.nested(
      [&] { return visit(loop.getInductionVar(), State::of(loop.getRegionIterArgs()), isMasked); });
  scf::YieldOp::create(b, next.all());
  return State::of(loop.getResults());
}

void WgmmaAttentionEmitter::compute() {
  NVVM::SetMaxRegisterOp::create(b, t.registers(t.resident(a)),
                                 NVVM::SetMaxRegisterAction::increase);
  consumer = sub(shr(warp, 2), c(1));
  lane = band(tid, 31);
  leads = equal(band(tid, 127), c(0));
  // The first group begins. After each tile it is its turn again.
  f.when(equal(consumer, c(t.consumers - 1)), [&] { passTurn(); });
  part = consumer;
  if (t.inTurns())
    forParts([&] { computeTile(); });
  else
    forTiles([&] { computeTile(); });
}

void WgmmaAttentionEmitter::computeTile() {
  prepareThread();
  constexpr int64_t kGroupBytes = int64_t(BoxedAttentionTile::groupRows) * BoxOperand::columns * 2;
  Value queries = add(mul(queryStage, t.queryBytes), mul(part, kGroupBytes));
  left = WgmmaOperand::at(b, add(sharedAddress, queries), int64_t(t.rows) * BoxOperand::columns * 2,
                          /*byInner=*/true);
  Value first = c(0), stage = stageOf(first);
  SmallVector<Value> seen = seenKeys(keyAt(first));
  awaitBarrier(b, barrier(Barrier::FullQueries, queryStage), queryParity);
  awaitBarrier(b, barrier(Barrier::FullKeys, stage), parityOf(first));
  State state;
  state.results = LLVM::ZeroOp::create(b, wgmmaSums(b, a.width, b.getF32Type()));
  // Where all keys are one turn, and the next tile's queries on their way, one group has its scores
  // before the other starts on its own: side by side both would wait for the matrix units, then
  // both for exponentials.
  bool isOnlyTurn = a.keyCount >= 0 && a.keyCount <= t.keys && t.queryStages > 1;
  if (isOnlyTurn)
    awaitTurn();
  Value scores = awaitChains(b, multiplyKeys(stage, firstKeys), 0);
  if (isOnlyTurn)
    passTurn();
  giveBack(Barrier::EmptyKeys, stage);
  softmax(scores, keyAt(first), seen, state, /*isFirst=*/true, hasUpper || hasLower || hasTail);
  if (hasUpper)
    state = visitAll(c(1), wholeFrom, state, /*isMasked=*/true);
  state = visitAll(wholeFrom, wholeTo, state, /*isMasked=*/false);
  if (hasLower)
    state = visitAll(wholeTo, blocks, state, /*isMasked=*/true);
  giveBack(Barrier::EmptyQueries, queryStage);
  Value last = sub(blocks, c(1));
  stage = stageOf(last);
  awaitBarrier(b, barrier(Barrier::FullValues, stage), parityOf(last));
  Value results = multiplyValues(state.results, state.weights, stage);
  state.results = awaitChains(b, results, 0, state.weights);
  giveBack(Barrier::EmptyValues, stage);
  if (!f.failed)
    store(state);
}

void WgmmaAttentionEmitter::run() {
  prepare();
  auto branch = scf::IfOp::create(b, equal(shr(warp, 2), c(0)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { fetch(); });
  b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { compute(); });
}

void device::emitWgmmaAttentionKernel(KernelFrame &f) {
  BoxedAttention attention = *boxedAttention(f.launch);
  auto tile = BoxedAttentionTile::of(f.schedule, attention);
  f.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      f.b.getI32IntegerAttr(static_cast<int32_t>(tile.resident(attention))));
  WgmmaAttentionEmitter(f, attention).run();
}
