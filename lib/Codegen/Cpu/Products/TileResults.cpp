//===- TileResults.cpp - What becomes of a tile's sums --------------------===//
//
// They are handed to the epilogue from registers, or from the buffer that the tile is spilled to.
// Results that are stored across their columns wait there until lines of the cache are whole.
//
//===----------------------------------------------------------------------===//
#include "TaskEmitter.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

using namespace mlir;
namespace tcc::codegen {

Index TaskEmitter::firstColumn(Index panel) {
  Index width = k.constant(spec.schedule.panelWidth());
  if (spec.groups == 1)
    return k.mul(panel, width);
  return k.mulAdd(k.floorDiv(panel, tiling.groupPanels), spec.n,
                  k.mul(k.rem(panel, tiling.groupPanels), width));
}

void TaskEmitter::finishRow(Index m, Index panel, bool full,
                            llvm::function_ref<Value(unsigned, unsigned)> vectorAt) {
  Index columns = panelColumns(panel, full), start = firstColumn(panel);
  Value row = k.value(resultRow(m));
  unsigned column = 0;
  for (auto [i, lanes] : llvm::enumerate(panelWidths(full))) {
    Index rest = k.sub(columns, k.constant(column));
    auto finish = [&, i = i, lanes = lanes] {
      Value n = k.value(k.add(start, k.constant(column)));
      epilogue(k.builder, k.loc, row, n, vectorAt(i, column), k.min(k.constant(lanes), rest));
    };
    if (column == 0 || k.known(rest))
      finish();
    else
      k.ifThen(k.compare(arith::CmpIPredicate::sgt, rest, k.constant(0)), finish);
    column += lanes;
  }
}

void TaskEmitter::finishInline(const TileRows &rows, Index panel, bool full, ValueRange accs) {
  unsigned perRow = panelWidths(full).size();
  for (unsigned row = 0; row < rows.count; ++row)
    finishRow(k.add(rows.first, k.constant(row)), panel, full,
              [&](unsigned i, unsigned) { return accs[row * perRow + i]; });
}

void TaskEmitter::finishRolled(const TileRows &rows, Index panel, bool full, Value from) {
  Index width = k.constant(spec.schedule.panelWidth());
  SmallVector<unsigned> widths = panelWidths(full);
  Index count = rows.valid ? rows.valid : k.constant(rows.count);
  k.loop(k.constant(0), count, k.constant(1), [&](Index row) {
    finishRow(k.add(rows.first, row), panel, full, [&](unsigned i, unsigned column) {
      Index offset = k.mulAdd(row, width, k.constant(column));
      return k.load(VectorType::get({int64_t(widths[i])}, spec.acc),
                    k.address(from, spec.acc, offset));
    });
  });
}

void TaskEmitter::finishSpilled(Index tile, Index panel, bool full, Value from) {
  storesTurned() ? finishTurned(tile, panel, full, from)
                 : finishRolled(anyRows(tile), panel, full, from);
}

bool TaskEmitter::storesTurned() const {
  return epilogue.turned && epilogue.turned->element == spec.acc && k.known(spec.n);
}

TurnedTile TaskEmitter::turnedTile(Index firstRow, Index panel, bool full, Value from) {
  return {*epilogue.turned,
          from,
          spec.schedule.panelWidth(),
          panelWidths(full),
          *k.known(panelColumns(panel, full)),
          resultRow(firstRow),
          firstColumn(panel)};
}

void TaskEmitter::finishTurned(Index tile, Index panel, bool full, Value from) {
  TileRows rows = anyRows(tile);
  TurnedTile turned = turnedTile(rows.first, panel, full, from);
  Index count = rows.valid ? rows.valid : k.constant(rows.count);
  tcc::codegen::finishTurned(k, turned, count);
  if (tiling.smallRows == tiling.rows)
    return storeTurned(k, turned, tiling.rows);
  k.ifThenElse(
      k.compare(arith::CmpIPredicate::slt, tile, tiling.largeTiles),
      [&] { storeTurned(k, turned, tiling.rows); },
      [&] {
        tiling.smallRows ? storeTurned(k, turned, tiling.smallRows)
                         : storeTurnedRows(k, turned, count);
      });
}

/// A line of the cache that a turned result has holds the rows of two to three tiles, in as many
/// places as there are columns. Where it is written a tile at a time, it has left L1 in between.
/// Several panels wait for that only where sums are so short that storing is the most, or where
/// columns lie whole pages apart, or of squares parts of one, so that the lines of a panel share
/// few sets of every cache.
int64_t TaskEmitter::heldTiles() const {
  constexpr int64_t lineRows = 16, mostDepth = 512, shallow = 32, page = 4096;
  if (cutsK || !storesTurned() || spec.schedule.matrixTiles || dots)
    return 1;
  bool wholeSquares = tiling.rows % 8 == 0 && tiling.smallRows % 8 == 0;
  int64_t depth = k.known(spec.k).value_or(mostDepth + 1), panels = spec.schedule.panelsPerTask;
  std::optional<int64_t> apart = k.known(epilogue.turned->columnStride);
  int64_t bytes = apart.value_or(1) * (spec.acc.getIntOrFloatBitWidth() / 8);
  bool shareSets =
      bytes % page == 0 || (wholeSquares && tcc::shareSets(bytes, spec.schedule.panelWidth()));
  int64_t mostBytes = (shareSets ? 48 : panels > 1 ? 24 : 16) << 10;
  if (!shareSets && (wholeSquares || depth > mostDepth || (panels > 1 && depth > shallow)))
    return 1;
  int64_t tileBytes = int64_t(tiling.rows) * spec.schedule.panelWidth() * panels *
                      spec.acc.getIntOrFloatBitWidth() / 8;
  int64_t count = lineRows / std::min<int64_t>(lineRows, tiling.rows & -tiling.rows);
  while (count > 1 && count * tileBytes > mostBytes)
    count /= 2;
  return std::min(count, spec.schedule.tilesPerTask);
}

void TaskEmitter::emitHeld(Index first, Index end, const KBlock &block) {
  Index firstRow = anyRows(first).first;
  Index width = k.constant(spec.schedule.panelWidth());
  Index panelRows = k.constant(held * int64_t(tiling.rows));
  auto at = [&](Index panel, Index row) {
    Index rows = k.mulAdd(k.sub(panel, firstPanel), panelRows, k.sub(row, firstRow));
    return k.address(buffer, spec.acc, k.mul(rows, width));
  };
  k.loop(first, end, k.constant(1), [&](Index tile) {
    if (feed.writesRows())
      chooseRows(tile, [&](const TileRows &rows) { feed.prepare(k, rows, block); });
    forPanels([&](Index panel, bool full) {
      Value to = at(panel, anyRows(tile).first);
      chooseRows(tile, [&](const TileRows &rows) {
        if (!feed.writesRows())
          feed.prepare(k, rows, block);
        storeTile(to, rows.count, panelWidths(full), multiply(rows, tile, panel, full, block));
      });
      TileRows rows = anyRows(tile);
      Index count = rows.valid ? rows.valid : k.constant(rows.count);
      tcc::codegen::finishTurned(k, turnedTile(rows.first, panel, full, to), count);
    });
  });
  Index count = k.sub(k.min(spec.m, anyRows(end).first), firstRow);
  forPanels([&](Index panel, bool full) {
    storeTurnedLines(k, turnedTile(firstRow, panel, full, at(panel, firstRow)), count);
  });
}

} // namespace tcc::codegen
