//===- TurnedStores.cpp - Tiles stored across their columns ---------------===//
#include "TurnedStores.h"
#include "PanelPacking.h"

using namespace mlir;
namespace tcc::codegen {

void finishTurned(KernelBuilder &k, const TurnedTile &tile, Index rows) {
  Type element = tile.result.element;
  k.loop(k.constant(0), rows, k.constant(1), [&](Index row) {
    Value m = k.value(k.add(tile.firstRow, row));
    int64_t column = 0;
    for (unsigned lanes : tile.widths) {
      Index offset = k.mulAdd(row, k.constant(tile.stride), k.constant(column));
      Value at = k.address(tile.base, element, offset);
      Value sums = k.load(VectorType::get({int64_t(lanes)}, element), at);
      Index valid = k.constant(std::min<int64_t>(lanes, tile.columns - column));
      Value n = k.value(k.add(tile.firstColumn, k.constant(column)));
      k.store(tile.result.value(k.builder, k.loc, m, n, sums, valid), at);
      column += lanes;
    }
  });
}

/// Turns `height` rows, a power of two, by as many columns from `column` on, and stores the first
/// `count` of those, the first row of column 0 at `to`.
static void storeSquare(KernelBuilder &k, const TurnedTile &tile, Value from, unsigned height,
                        Index column, int64_t count, Value to) {
  Type element = tile.result.element;
  auto vector = VectorType::get({int64_t(height)}, element);
  SmallVector<Value> square;
  for (unsigned row = 0; row < height; ++row) {
    Index offset = k.add(column, k.constant(row * tile.stride));
    square.push_back(k.load(vector, k.address(from, element, offset)));
  }
  square = transposeSquare(k, square);
  Value first = k.address(to, element, k.mul(column, tile.result.columnStride));
  for (int64_t i = 0; i < count; ++i)
    k.store(square[i], k.address(first, element, k.mul(k.constant(i), tile.result.columnStride)));
}

/// Rows of the largest squares: larger ones need more registers than there are; each lies within a
/// row of the buffer. Where a vector has a line of the cache, one store writes it.
static unsigned squareRows(const TurnedTile &tile) {
  constexpr unsigned line = 16, usual = 8;
  unsigned most = tile.widths.front() >= line && tile.columns >= line ? line : usual;
  while (tile.stride % most)
    most /= 2;
  return most;
}

/// Stores `count` squares of `height` rows that lie below each other, in all columns; those of some
/// columns after each other, so that what they write of a line is written together.
static void storeSquares(KernelBuilder &k, const TurnedTile &tile, Value from, unsigned height,
                         unsigned count, Value to) {
  Type element = tile.result.element;
  auto store = [&](Index column, int64_t columns) {
    for (unsigned i = 0; i < count; ++i)
      storeSquare(k, tile, k.address(from, element, k.constant(i * height * tile.stride)), height,
                  column, columns, k.address(to, element, k.constant(i * height)));
  };
  int64_t whole = tile.columns / height * height;
  k.loop(k.constant(0), k.constant(whole), k.constant(height),
         [&](Index column) { store(column, height); });
  if (whole < tile.columns)
    store(k.constant(whole), tile.columns - whole);
}

/// Rows of `tile` from `first` on.
static TurnedTile rowsFrom(KernelBuilder &k, const TurnedTile &tile, Index first) {
  TurnedTile rest = tile;
  rest.base = k.address(tile.base, tile.result.element, k.mul(first, k.constant(tile.stride)));
  rest.firstRow = k.add(tile.firstRow, first);
  return rest;
}

void storeTurned(KernelBuilder &k, const TurnedTile &tile, unsigned rows) {
  Type element = tile.result.element;
  auto together = [&] {
    Value start =
        tile.result.address(k.builder, k.loc, k.value(tile.firstRow), k.value(tile.firstColumn));
    for (unsigned row = 0, height = squareRows(tile); row < rows;) {
      if (row + height > rows) {
        height /= 2;
        continue;
      }
      unsigned count = (rows - row) / height;
      storeSquares(k, tile, k.address(tile.base, element, k.constant(row * tile.stride)), height,
                   count, k.address(start, element, k.constant(row)));
      row += count * height;
    }
  };
  auto apart = [&] {
    unsigned height = std::min(squareRows(tile), 8u);
    if (rows <= height || rows % height)
      return storeTurnedRows(k, tile, k.constant(rows));
    k.loop(k.constant(0), k.constant(rows), k.constant(height),
           [&](Index first) { storeTurned(k, rowsFrom(k, tile, first), height); });
  };
  Index end = k.add(k.rem(tile.firstRow, tile.result.run), k.constant(rows));
  k.ifThenElse(k.compare(arith::CmpIPredicate::ule, end, tile.result.run), together, apart);
}

void storeTurnedLines(KernelBuilder &k, const TurnedTile &tile, Index rows) {
  constexpr unsigned lineRows = 16; // of f32
  Index line = k.constant(lineRows), whole = k.mul(k.floorDiv(rows, line), line);
  k.loop(k.constant(0), whole, line,
         [&](Index first) { storeTurned(k, rowsFrom(k, tile, first), lineRows); });
  Index done = whole;
  for (unsigned height = lineRows / 2; height; height /= 2) {
    Index next = k.mul(k.floorDiv(rows, k.constant(height)), k.constant(height));
    k.loop(done, next, k.constant(height),
           [&](Index first) { storeTurned(k, rowsFrom(k, tile, first), height); });
    done = next;
  }
}

void storeTurnedRows(KernelBuilder &k, const TurnedTile &tile, Index rows) {
  Type element = tile.result.element;
  k.loop(k.constant(0), rows, k.constant(1), [&](Index row) {
    Value to = tile.result.address(k.builder, k.loc, k.value(k.add(tile.firstRow, row)),
                                   k.value(tile.firstColumn));
    k.loop(k.constant(0), k.constant(tile.columns), k.constant(1), [&](Index column) {
      Index at = k.mulAdd(row, k.constant(tile.stride), column);
      k.store(k.load(element, k.address(tile.base, element, at)),
              k.address(to, element, k.mul(column, tile.result.columnStride)));
    });
  });
}

} // namespace tcc::codegen
