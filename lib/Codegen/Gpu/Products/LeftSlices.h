//===- LeftSlices.h - Rows of a product on their way to wgmma ----*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A slice of left's rows comes to a tile in one box. Rows past the
// last one would be filled with zeros, which takes longer than to bring others: so a tile that has
// much fewer rows gets them in small boxes. What lies in the place of the others then is multiplied
// and never stored.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "RowTiles.h"

namespace tcc::codegen::device {

class LeftSlices : WordArithmetic {
public:
  /// `part`: the map of small boxes; null: all tiles are whole.
  LeftSlices(KernelFrame &f, const RowTiles &tiles, mlir::Value whole, mlir::Value part)
      : WordArithmetic(f), tiles(tiles), whole(whole), part(part) {}

  /// What comes to a tile that begins with `firstRow`, i32.
  mlir::Value bytes(mlir::Value firstRow);
  /// Its rows at `k`, to shared memory.
  void copy(mlir::Value to, mlir::Value k, mlir::Value firstRow, mlir::Value barrier);

private:
  mlir::Value rowsOfBoxes(mlir::Value firstRow);

  RowTiles tiles;
  mlir::Value whole, part;
};

} // namespace tcc::codegen::device
