//===- RowTiles.h - The rows of a product in tiles ---------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A tile has rows of one matrix of a batch. Where those end within it,
// the rows behind them are the next matrix's: they lie in the same memory, so that a tile's copies
// bring them and it is multiplied by them, but it stores its own alone.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../WordArithmetic.h"
#include "MatrixTile.h"

namespace tcc::codegen::device {

class RowTiles : WordArithmetic {
public:
  /// `rows`: of all matrices, i32.
  RowTiles(KernelFrame &f, const MatrixProduct &product, unsigned tileRows, mlir::Value rows)
      : WordArithmetic(f), matrixRows(product.matrixRows), across(product.leftAcross),
        ends(product.endsWithinTiles(tileRows)), tileRows(tileRows), rows(rows) {}

  unsigned height() const { return tileRows; }
  /// Whether rows lie across in memory, where those behind a matrix are zeros.
  bool areAcross() const { return across; }
  /// Where a slice of rows that lie across begins in its map: `row` is one of the tile from
  /// `firstRow` on.
  llvm::SmallVector<mlir::Value> acrossAt(mlir::Value firstRow, mlir::Value row, mlir::Value k) {
    if (!matrixRows)
      return {row, k};
    Value matrix = matrixOf(firstRow);
    return {sub(row, mul(matrix, matrixRows)), k, matrix};
  }
  /// Tiles one below the other.
  mlir::Value count() {
    return ends ? mul(matrixOf(rows), ofMatrix()) : div(add(rows, c(tileRows - 1)), c(tileRows));
  }
  /// Of tile number `down`, among the rows of all matrices.
  mlir::Value firstRow(mlir::Value down) {
    if (!ends)
      return mul(down, tileRows);
    return add(mul(div(down, c(ofMatrix())), matrixRows), mul(rem(down, c(ofMatrix())), tileRows));
  }
  /// Behind the rows that a tile from `firstRow` on may store.
  mlir::Value end(mlir::Value firstRow) {
    return ends ? mul(add(matrixOf(firstRow), c(1)), matrixRows) : rows;
  }
  /// Which matrix of a batch a tile from `firstRow` on is of.
  mlir::Value matrixOf(mlir::Value firstRow) { return div(firstRow, c(matrixRows)); }

private:
  int64_t ofMatrix() const { return int64_t(llvm::divideCeil(matrixRows, tileRows)); }

  int64_t matrixRows;
  bool across;
  bool ends; ///< within tiles
  unsigned tileRows;
  mlir::Value rows;
};

} // namespace tcc::codegen::device
