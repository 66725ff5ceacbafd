//===- TileLoop.cpp - Loops around the register tile ----------------------===//
//
// C is cut into register tiles of `rows` x one panel (Schedule.h). A task is a
// block of tiles along m by a range of panels along n:
//
//   for block of k:                          one block if K is not large
//     [pack B's panels]                      unless B came packed
//     for tile in the task's row tiles:
//       feed.prepare(tile)                   pack A's rows, or find them
//       for panel in the task's panels:      stays in L2 across tiles; several at once
//                                            where the task has one low tile
//         accs = feed.run(tile, panel)       RegisterTile.h
//         epilogue(accs), or keep the partial sums
//   [epilogue of the whole task]             if k was cut
//
// Where the task's rows of A stay in L2 and its panels do not, panels are the outer loop.
//
// Rows: M is cut into tiles that differ by at most one row, so a known M needs two
// kernels at most and no tile is much smaller than the others. An unknown M has
// full tiles and one remainder, computed by the smallest of a few tiles that holds
// it, whose missing rows repeat the last one and are dropped by the epilogue. Tiles of all
// heights share everything but their products: with an epilogue each, those of a remainder
// would be most of the kernel's code.
// Columns: the last panel has its own code with only the vectors that exist.
//
// The epilogue is normally written once a vector, in a loop over the rows of the
// tile, which has been spilled to a small buffer: a store and a load a vector are
// nothing beside K multiply-adds, and the code is 14 times smaller.
//
//===----------------------------------------------------------------------===//
#include "PanelPacking.h"
#include "TaskEmitter.h"

using namespace mlir;
namespace tcc::codegen {
/// Tasks are numbered down a column of them first: those of a thread copy few panels. A tall
/// product whose result goes to memory is numbered in bands of rows, so that threads write whole
/// rows, and not parts of the same ones; copying panels once more is nothing beside as many rows.
static Index rowsInOrder(KernelBuilder &k, const ContractionSpec &spec, const Tiling &tiling) {
  constexpr int64_t bandRows = 1024;
  std::optional<int64_t> m = k.known(spec.m), n = k.known(spec.n), all = k.known(tiling.taskRows);
  int64_t bytes = spec.acc.getIntOrFloatBitWidth() / 8;
  if (!m || !n || !all || !spec.schedule.packsB() || spec.schedule.kBlock || spec.groups > 1 ||
      *m * *n * bytes <= int64_t(spec.cpu.l2Bytes))
    return tiling.taskRows;
  int64_t bands = std::clamp<int64_t>(*m / bandRows, 1, *all);
  while (*all % bands)
    --bands;
  return k.constant(*all / bands);
}

Tiling cutTiles(KernelBuilder &k, const ContractionSpec &spec) {
  const ContractionSchedule &schedule = spec.schedule;
  Tiling tiling;
  Index rows = k.constant(schedule.rows), width = k.constant(schedule.panelWidth());
  tiling.tiles = schedule.singleTile ? k.constant(1) : k.ceilDiv(spec.m, rows);
  if (std::optional<int64_t> m = k.known(spec.m); m && *m > 0) {
    int64_t tiles = *k.known(tiling.tiles);
    tiling.rows = (*m + tiles - 1) / tiles;
    tiling.smallRows = *m / tiles;
    tiling.largeTiles = k.constant(*m % tiles ? *m % tiles : tiles);
  } else {
    tiling.rows = schedule.rows;
    tiling.smallRows = 0;
    tiling.largeTiles = k.floorDiv(spec.m, rows);
  }
  tiling.groupPanels = k.ceilDiv(spec.n, width);
  tiling.panels = k.mul(tiling.groupPanels, k.constant(spec.groups));
  tiling.fullPanels = k.floorDiv(spec.n, width);
  tiling.kBlocks = schedule.kBlock ? k.ceilDiv(spec.k, k.constant(schedule.kBlock)) : k.constant(1);
  tiling.taskColumns = k.ceilDiv(tiling.panels, k.constant(schedule.panelsPerTask));
  tiling.taskTiles =
      taskTiles(k, schedule.tilesPerTask, schedule.leastTiles, tiling.tiles, tiling.taskColumns);
  tiling.taskRows = k.ceilDiv(tiling.tiles, tiling.taskTiles);
  tiling.rowsInOrder = rowsInOrder(k, spec, tiling);
  return tiling;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void TaskEmitter::emit(Index begin, Index end) {
  const ContractionSchedule &schedule = spec.schedule;
  Index taskRow = begin, taskColumn = k.constant(0);
  if (!k.isKnown(tiling.taskColumns, 1)) {
    Index below = tiling.rowsInOrder, column = k.floorDiv(begin, below);
    taskColumn = k.rem(column, tiling.taskColumns);
    taskRow = k.mulAdd(k.floorDiv(column, tiling.taskColumns), below, k.rem(begin, below));
  }
  Index panelsPerTask = k.constant(schedule.panelsPerTask), one = k.constant(1);
  Index rows = joined.rows > 1 ? k.sub(end, begin) : one,
        columns = joined.columns > 1 ? k.sub(end, begin) : one;
  firstTile = k.mul(taskRow, tiling.taskTiles);
  endTile = k.min(k.add(firstTile, k.mul(rows, tiling.taskTiles)), tiling.tiles);
  firstPanel = taskPanel = k.mul(taskColumn, panelsPerTask);
  endPanel = k.min(k.add(firstPanel, k.mul(columns, panelsPerTask)), tiling.panels);

  int64_t tileSize = int64_t(tiling.rows) * schedule.panelWidth();
  unsigned wide = panelsOfTile();
  if (cutsK)
    buffer = k.scratch(spec.acc, joined.rows * schedule.tilesPerTask * mostPanels() * tileSize);
  else if (wide > 1)
    buffer = k.scratch(spec.acc, wide * tileSize);
  else if ((held = heldTiles()) > 1)
    buffer = k.scratch(spec.acc, held * schedule.panelsPerTask * tileSize);
  else if (!schedule.inlineEpilogue || tiling.smallRows == 0 || storesTurned() || dots)
    buffer = k.scratch(spec.acc, tileSize);
  if (schedule.packsB())
    packedPanels =
        k.scratch(k.builder.getI8Type(), packedPanelBytes(k, spec, schedule.panelsPerTask));

  feed.begin(k, anyRows(firstTile).first, k.min(spec.m, anyRows(endTile).first));
  if (!cutsK)
    return emitBlock({k.constant(0), spec.k});
  startSums();
  Index step = k.constant(schedule.kBlock);
  bool equal = k.known(spec.k) && *k.known(spec.k) % schedule.kBlock == 0;
  k.loop(k.constant(0), spec.k, step, [&](Index begin) {
    emitBlock({begin, equal ? step : k.min(step, k.sub(spec.k, begin))});
  });
  forTiles([&](Index tile) {
    forPanels([&](Index panel, bool full) { finishSpilled(tile, panel, full, sums(tile, panel)); });
  });
}

void TaskEmitter::startSums() {
  if (spec.schedule.matrixTiles) {
    auto vector = VectorType::get({int64_t(spec.schedule.lanes)}, spec.acc);
    Index panels = k.mul(k.constant(mostPanels()), k.sub(endTile, firstTile));
    Index count = k.mul(panels, k.constant(int64_t(tiling.rows) * spec.schedule.panelWidth()));
    return k.loop(k.constant(0), count, k.constant(spec.schedule.lanes),
                  [&](Index at) { k.store(k.zero(vector), k.address(buffer, spec.acc, at)); });
  }
  forTiles([&](Index tile) {
    forPanels([&](Index panel, bool full) {
      RegisterTile registers{tiling.rows, panelWidths(full), spec.acc, spec.steps};
      // Panels that are packed here have sums of their own for each block.
      PanelSource source;
      if (!spec.schedule.packsB() && !dots)
        source = panelSource(panel, full, {k.constant(0), spec.k});
      storeTile(sums(tile, panel), tiling.rows, registers.widths,
                initialTile(k, registers, source));
    });
  });
}

void TaskEmitter::emitBlock(const KBlock &block) {
  auto pack = [&] {
    packPanels(block);
    emitTiles(block);
  };
  if (!copiesB)
    return emitTiles(block);
  if (!spec.integers)
    return pack();
  // One tile reads a panel once: writing it widened would cost more than widening it in place.
  Value single = k.compare(arith::CmpIPredicate::sle, k.sub(endTile, firstTile), k.constant(1));
  auto inPlace = [&] {
    copiesB = false;
    emitTiles(block);
    copiesB = true;
  };
  k.ifThenElse(single, inPlace, pack);
}

void TaskEmitter::packPanels(const KBlock &block) {
  constexpr int64_t rowsBeside = 8;
  Index width = k.constant(spec.schedule.panelWidth());
  auto pack = [&](const KBlock &part, Index firstRow) {
    forPanels([&](Index panel, bool full) {
      Value to = packedPanelAt(k, spec, packedPanels, k.sub(panel, firstPanel));
      packPanel(k, spec, k.mul(panel, width), panelColumns(panel, full), part,
                k.address(to, spec.acc, k.mul(firstRow, width)));
    });
  };
  // A few rows through all panels: memory gives rows as they lie faster than parts of many.
  bool rows = spec.bLayout == PanelLayout::RowMajor && spec.steps.size == 1 && !spec.integers;
  if (!rows || spec.schedule.panelsPerTask == 1)
    return pack(block, k.constant(0));
  Index step = k.constant(rowsBeside);
  bool whole = k.known(block.length).value_or(1) % rowsBeside == 0;
  k.loop(k.constant(0), block.length, step, [&](Index row) {
    Index length = whole ? step : k.min(step, k.sub(block.length, row));
    pack({k.add(block.begin, row), length}, row);
  });
}

void TaskEmitter::emitTiles(const KBlock &block) {
  if (held > 1) { // sets of tiles begin where lines of the cache do, whatever the task's first one
    Index size = k.constant(held);
    return k.loop(k.floorDiv(firstTile, size), k.ceilDiv(endTile, size), k.constant(1),
                  [&](Index set) {
                    Index first = k.mul(set, size), end = k.add(first, size);
                    emitHeld(k.max(first, firstTile), k.min(end, endTile), block);
                  });
  }
  if (unsigned panels = panelsOfTile(); panels > 1)
    return emitWideTile(firstTile, panels, block);
  if (byPanel)
    return forPanels([&](Index panel, bool full) {
      forTiles([&](Index tile) { emitTile(tile, panel, full, block); });
    });
  forTiles([&](Index tile) {
    if (spec.schedule.matrixTiles)
      return emitMatrixTile(tile, block);
    if (dots)
      return emitDots(tile, block);
    if (feed.writesRows())
      chooseRows(tile, [&](const TileRows &rows) { feed.prepare(k, rows, block); });
    forPanels([&](Index panel, bool full) { emitTile(tile, panel, full, block); });
  });
}

void TaskEmitter::forPanels(PanelFn body) {
  std::optional<int64_t> n = k.known(spec.n);
  bool noTail = n && *n % spec.schedule.panelWidth() == 0;
  Index one = k.constant(1);
  if (spec.groups > 1) {
    if (noTail || k.isKnown(tiling.groupPanels, 1))
      return k.loop(firstPanel, endPanel, one, [&](Index panel) { body(panel, noTail); });
    return k.loop(firstPanel, endPanel, one, [&](Index panel) {
      Value last =
          k.compare(arith::CmpIPredicate::eq, k.rem(panel, tiling.groupPanels), tiling.fullPanels);
      k.ifThenElse(last, [&] { body(panel, /*full=*/false); }, [&] { body(panel, /*full=*/true); });
    });
  }
  k.loop(firstPanel, k.min(endPanel, tiling.fullPanels), one,
         [&](Index panel) { body(panel, /*full=*/true); });
  if (noTail)
    return;
  if (k.isKnown(tiling.taskColumns, 1) && n)
    return body(tiling.fullPanels, /*full=*/false);
  k.ifThen(k.compare(arith::CmpIPredicate::sgt, endPanel, tiling.fullPanels),
           [&] { body(tiling.fullPanels, /*full=*/false); });
}

void TaskEmitter::forTiles(llvm::function_ref<void(Index tile)> body) {
  k.loop(firstTile, endTile, k.constant(1), body);
}

TileRows TaskEmitter::anyRows(Index tile) {
  if (tiling.smallRows == 0) {
    Index rows = k.constant(tiling.rows), first = k.mul(tile, rows);
    return {tiling.rows, first, k.min(rows, k.sub(spec.m, first))};
  }
  if (tiling.smallRows == tiling.rows)
    return {tiling.rows, k.mul(tile, k.constant(tiling.rows)), Index()};
  // Large tiles have one row more.
  Index small = k.constant(tiling.smallRows), before = k.min(tile, tiling.largeTiles);
  Index larger = k.sub(k.min(k.add(tile, k.constant(1)), tiling.largeTiles), before);
  return {tiling.rows, k.mulAdd(tile, small, before), k.add(small, larger)};
}

void TaskEmitter::chooseRows(Index tile, RowsFn body) {
  TileRows large{tiling.rows, k.mul(tile, k.constant(tiling.rows)), Index()};
  if (tiling.smallRows == tiling.rows)
    return body(large);
  k.ifThenElse(
      k.compare(arith::CmpIPredicate::slt, tile, tiling.largeTiles), [&] { body(large); },
      [&] {
        Index first = anyRows(tile).first;
        tiling.smallRows ? body({tiling.smallRows, first, Index()}) : chooseRemainder(first, body);
      });
}

void TaskEmitter::chooseRemainder(Index first, RowsFn body) {
  // One more, computed for nothing, is little beside many rows and much beside few.
  constexpr unsigned manyRows = 5, mostRows = 8;
  Index rest = k.sub(spec.m, first);
  std::function<void(unsigned)> choose = [&](unsigned rows) {
    if (rows == 1)
      return body({1, first, Index()});
    bool halves = !feed.mayBeFew() || rows > mostRows;
    unsigned fewer = halves ? (rows + 1) / 2 : rows > manyRows ? rows - 2 : rows - 1;
    k.ifThenElse(
        k.compare(arith::CmpIPredicate::sgt, rest, k.constant(fewer)),
        [&] { body({rows, first, rest}); }, [&] { choose(fewer); });
  };
  choose(std::max(1u, tiling.rows - 1));
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

SmallVector<unsigned> TaskEmitter::panelWidths(bool full) {
  const ContractionSchedule &schedule = spec.schedule;
  std::optional<int64_t> n = k.known(spec.n);
  bool whole = full || !n;
  return panelVectors(whole ? schedule.panelWidth() : *n % schedule.panelWidth(), schedule.lanes);
}

Index TaskEmitter::panelColumns(Index panel, bool full) {
  Index width = k.constant(spec.schedule.panelWidth());
  if (full)
    return width;
  if (std::optional<int64_t> n = k.known(spec.n))
    return k.constant(*n % spec.schedule.panelWidth());
  return k.sub(spec.n, k.mul(panel, width));
}

PanelSource TaskEmitter::panelSource(Index panel, bool full, const KBlock &block) {
  Index width = k.constant(spec.schedule.panelWidth());
  PanelSource source;
  source.element = spec.bElement;
  source.isUnsigned = spec.bUnsigned;
  Index step = k.mul(width, k.constant(spec.steps.size));
  if (copiesB) {
    source.element = spec.steps.size > 1 ? spec.bElement : spec.acc;
    source.base = packedPanelAt(k, spec, packedPanels, k.sub(panel, firstPanel));
    source.sums = packedSumsAt(k, spec, source.base);
    source.kStride = step;
  } else if (spec.integers) {
    source.groups = spec.integers;
    source.base = groupsAt(k, spec, panel, block);
    source.kStride = k.constant(0);
  } else if (spec.bLayout == PanelLayout::Packed) {
    Value start = k.address(spec.b, spec.bElement, k.mul(k.mul(panel, panelRows()), step));
    source.base = k.address(start, spec.bElement, k.mul(block.begin, step));
    if (spec.steps.addsSums())
      source.sums = k.address(start, spec.bElement, k.mul(spec.k, step));
    source.kStride = step;
  } else {
    assert(spec.bLayout == PanelLayout::RowMajor && "a transposed B must be packed");
    Index offset = k.mulAdd(block.begin, spec.bStride, k.mul(panel, width));
    source.base = k.address(spec.b, spec.bElement, offset);
    source.kStride = spec.bStride;
    if (!full)
      source.validColumns = panelColumns(panel, full);
  }
  return source;
}

SmallVector<Value> TaskEmitter::multiply(const TileRows &rows, Index tile, Index panel, bool full,
                                         const KBlock &block) {
  constexpr unsigned manyVectors = 8; // beside which a loop's count and branch are nothing
  RegisterTile registers{rows.count, panelWidths(full), spec.acc, spec.steps};
  registers.rolled = rows.valid && registers.count() >= manyVectors;
  PanelSource source = panelSource(panel, full, block);
  prefetchNext(source, tile, block);
  prefetchRows(source, panel, block);
  if (!cutsK)
    prefetchResults(rows, panel, full);
  Index group = spec.groups > 1 ? k.floorDiv(panel, tiling.groupPanels) : k.constant(0);
  feed.enterPanel(k, panel);
  if (!cutsK)
    return feed.run(k, registers, source, group, block, initialTile(k, registers, source));
  // The block is summed from zero (PartialSums.h says why).
  Value at = sums(tile, panel);
  bool whole = !copiesB; // `at` holds what its sums start from
  SmallVector<Value> accs =
      feed.run(k, registers, source, group, block,
               whole ? zeroTile(k, registers) : initialTile(k, registers, source));
  addToSums(at, rows.count, registers.widths, accs);
  return accs;
}

void TaskEmitter::addToSums(Value at, unsigned rows, ArrayRef<unsigned> widths,
                            SmallVector<Value> &accs) {
  for (auto [acc, sum] : llvm::zip_equal(accs, loadTile(at, rows, widths)))
    acc = isa<FloatType>(spec.acc) ? Value(arith::AddFOp::create(k.builder, k.loc, sum, acc))
                                   : Value(arith::AddIOp::create(k.builder, k.loc, sum, acc));
  storeTile(at, rows, widths, accs);
}

void TaskEmitter::emitTile(Index tile, Index panel, bool full, const KBlock &block) {
  bool rolled = !spec.schedule.inlineEpilogue || tiling.smallRows == 0 || storesTurned();
  chooseRows(tile, [&](const TileRows &rows) {
    if (!feed.writesRows())
      feed.prepare(k, rows, block);
    SmallVector<Value> accs = multiply(rows, tile, panel, full, block);
    if (cutsK)
      return;
    if (!rolled)
      return finishInline(rows, panel, full, accs);
    storeTile(buffer, rows.count, panelWidths(full), accs);
  });
  if (!cutsK && rolled)
    finishSpilled(tile, panel, full, buffer);
}

void TaskEmitter::emitMatrixTile(Index tile, const KBlock &block) {
  const ContractionSchedule &schedule = spec.schedule;
  TileRows rows = anyRows(tile);
  feed.prepare(k, rows, block);
  MatrixTile registers(k, spec.steps, rows.valid ? rows.valid : k.constant(rows.count),
                       schedule.vectors, k.known(spec.k).value_or(1), schedule.kBlock);
  registers.configure();
  forPanels([&](Index panel, bool full) {
    Value to = cutsK ? sums(tile, panel) : buffer;
    feed.runMatrixTile(registers, panelSource(panel, full, block), block, to, /*adds=*/cutsK);
    if (!cutsK)
      finishSpilled(tile, panel, full, to);
  });
}

Value TaskEmitter::sums(Index tile, Index panel) {
  Index panels = k.constant(mostPanels());
  Index slot = k.mulAdd(k.sub(tile, firstTile), panels, k.sub(panel, taskPanel));
  Index size = k.constant(int64_t(tiling.rows) * spec.schedule.panelWidth());
  return k.address(buffer, spec.acc, k.mul(slot, size));
}

void TaskEmitter::storeTile(Value at, unsigned rows, ArrayRef<unsigned> widths, ValueRange accs) {
  for (unsigned row = 0, i = 0; row < rows; ++row) {
    int64_t column = int64_t(row) * spec.schedule.panelWidth();
    for (unsigned lanes : widths) {
      k.store(accs[i++], k.address(at, spec.acc, k.constant(column)));
      column += lanes;
    }
  }
}

SmallVector<Value> TaskEmitter::loadTile(Value at, unsigned rows, ArrayRef<unsigned> widths) {
  SmallVector<Value> accs;
  for (unsigned row = 0; row < rows; ++row) {
    int64_t column = int64_t(row) * spec.schedule.panelWidth();
    for (unsigned lanes : widths) {
      accs.push_back(k.load(VectorType::get({int64_t(lanes)}, spec.acc),
                            k.address(at, spec.acc, k.constant(column))));
      column += lanes;
    }
  }
  return accs;
}

} // namespace tcc::codegen
