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

void storeTurned(KernelBuilder &k, const TurnedTile &tile, unsigned rows) {
  // Larger squares need more registers than there are; each lies within a row of the buffer.
  unsigned most = 8;
  while (tile.stride % most)
    most /= 2;
  Type element = tile.result.element;
  auto together = [&] {
    Value start =
        tile.result.address(k.builder, k.loc, k.value(tile.firstRow), k.value(tile.firstColumn));
    for (unsigned row = 0, height = most; row < rows;) {
      if (row + height > rows) {
        height /= 2;
        continue;
      }
      Value from = k.address(tile.base, element, k.constant(row * tile.stride));
      Value to = k.address(start, element, k.constant(row));
      int64_t whole = tile.columns / height * height;
      k.loop(k.constant(0), k.constant(whole), k.constant(height),
             [&](Index column) { storeSquare(k, tile, from, height, column, height, to); });
      if (whole < tile.columns)
        storeSquare(k, tile, from, height, k.constant(whole), tile.columns - whole, to);
      row += height;
    }
  };
  Index end = k.add(k.rem(tile.firstRow, tile.result.run), k.constant(rows));
  k.ifThenElse(k.compare(arith::CmpIPredicate::ule, end, tile.result.run), together,
               [&] { storeTurnedRows(k, tile, k.constant(rows)); });
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
