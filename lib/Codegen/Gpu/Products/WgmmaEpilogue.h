//===- WgmmaEpilogue.h - What follows a product, in slabs --------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu: the end of a tile of the template that computes tile after tile
// (WgmmaKernel.cpp), by the warp group that has its sums.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../WordArithmetic.h"
#include "MatrixTile.h"

namespace tcc::codegen::device {

class WgmmaEpilogue : WordArithmetic {
public:
  /// A warp group that multiplies. `number`: among those; `leads`: its first thread.
  struct Group {
    mlir::Value shared, thread, warp, number, leads;
  };

  WgmmaEpilogue(KernelFrame &f, const MatrixProduct &product, const MatrixTile &tile, Group group);

  /// Starts the copy of what is added to a tile whose rows of the group begin at `firstRow`, to
  /// where the tile goes afterwards. Once a tile, before storeTile.
  void fetchResidual(mlir::Value firstRow, mlir::Value firstColumn);
  /// What is the same in all rows (perColumnOf) of the columns from `firstColumn` on: of each such
  /// operand, one element of 32 neighbours after the other that is the lane's.
  using Columns = llvm::SmallVector<llvm::SmallVector<mlir::Value>, 2>;
  /// Once a tile, before its sums are awaited.
  Columns fetchColumns(mlir::Value firstColumn);
  /// Where a group's part of a tile begins, among the rows of all matrices. `matrix`: of which it
  /// stores rows alone, if matrices end within tiles; else null.
  struct Place {
    mlir::Value firstRow, firstColumn, matrix;
  };
  /// `sums`: of 64 rows each; `turn`: the number of tiles that the group has stored.
  void storeTile(llvm::ArrayRef<mlir::Value> sums, const Columns &columns, Place place,
                 mlir::Value turn);
  /// All that was stored is in memory.
  void end();

private:
  mlir::Value sharedAt(mlir::Value offset);

  unsigned slabsAcross() const { return t.columns * p.resultBytes / t.slabRowBytes; }
  mlir::Value slabAt(unsigned part, unsigned across);
  mlir::Value inSlab(mlir::Value slab, mlir::Value row, mlir::Value chunk);
  void bindResidual(mlir::Value place);
  void bindColumns(const Columns &columns, unsigned block);
  void storeRows(mlir::Value sums, const Columns &columns, unsigned part, Place place);
  Coords pairAt(mlir::Value row, mlir::Value column);
  mlir::Value finished(mlir::Value sums, unsigned i, llvm::ArrayRef<Coord> at);
  void meet();
  void takeSlab();
  void storeBlocks(mlir::Value slab, unsigned block, llvm::ArrayRef<mlir::Value> pairs);
  void sendSlab(mlir::Value slab, mlir::Value unit, const Place &place);
  void storeHalves(mlir::Value slab, unsigned j, llvm::ArrayRef<mlir::Value> pairs);
  void storePairs(mlir::Value slab, unsigned block, llvm::ArrayRef<mlir::Value> pairs);
  mlir::Value tensorMap(unsigned which) {
    return f.function.getArgument(f.function.getNumArguments() - p.tensorMaps(t.rows) + which);
  }

  const MatrixProduct &p;
  MatrixTile t;
  Group group;
  mlir::Type sum, result; ///< elements
  llvm::SmallVector<mlir::BlockArgument, 2> perColumn;
  mlir::Value lane;
};

} // namespace tcc::codegen::device
