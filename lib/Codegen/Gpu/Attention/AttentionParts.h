//===- AttentionParts.h - Parts of a row's keys brought together -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. What some of a row's keys give is the largest score, the sum of
// exponentials shifted by it, and the products of those with the values. Warps that share a row
// leave theirs in shared memory; blocks that do, what comes of it in scratch memory, where the last
// one to be done brings them together. Both in a fixed order, so that results repeat. The block's
// threads then store rows as they lie in memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "AttentionFrame.h"
#include "AttentionTile.h"

namespace tcc::codegen::device {

class AttentionParts {
public:
  /// Which rows and keys are the block's.
  struct Place {
    mlir::Value rowTile;          ///< the first row
    mlir::Value tileNumber, part; ///< of all tiles, and of the blocks that share it
  };
  /// `shared`: byte 0 of dynamic shared memory, of which the tile's resultBytes are free.
  AttentionParts(AttentionFrame &a, const AttentionTile &t, const MatrixAttention &m,
                 mlir::Value shared, Place place)
      : f(a.f), b(f.b), a(a), t(t), m(m), shared(shared), place(place) {}

  /// What warp `sharer` of those that share `row` of the tile found; indices.
  void leaveRow(mlir::Value sharer, mlir::Value row, mlir::Value top, mlir::Value sum);
  /// Two neighbouring columns.
  void leaveResults(mlir::Value sharer, mlir::Value row, mlir::Value column,
                    llvm::ArrayRef<mlir::Value> two);
  /// After a barrier: all rows are stored, by this block or the last one.
  void finish();

private:
  struct Part {
    mlir::Value top, sum, results; ///< results: at neighbouring columns
  };
  mlir::Value sharedFloat(unsigned base, mlir::Value number);
  mlir::Value scratchFloat(mlir::Value part, mlir::Value row, mlir::Value column);
  unsigned topsAt() const { return t.sharing() * t.rows * AttentionTile::resultPitch(m) * 4; }
  unsigned sumsAt() const { return topsAt() + t.sharing() * t.rows * 4; }
  Part merged(const Part &x, const Part &y);
  Part fromWarps(mlir::Value row, mlir::Value column);
  Part fromBlocks(mlir::Value row, mlir::Value column);
  void forUnits(llvm::function_ref<void(mlir::Value row, mlir::Value column)> body);
  void store(mlir::Value row, mlir::Value column, const Part &whole);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  AttentionFrame &a;
  const AttentionTile &t;
  const MatrixAttention &m;
  mlir::Value shared;
  Place place;
  unsigned lanes = a.storeLanes(8);
  mlir::Type results = lanes > 1 ? mlir::Type(mlir::VectorType::get({lanes}, b.getF32Type()))
                                 : mlir::Type(b.getF32Type());
};

} // namespace tcc::codegen::device
