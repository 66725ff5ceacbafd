//===- TurnedStores.h - Tiles stored across their columns -------*- C++ -*-===//
//
// A register tile has columns along its lanes. Where a result's rows are neighbours in memory
// instead (TurnedResult), a tile is finished in the buffer that it is spilled to, and written
// from there in vectors of rows, which are turned in registers square by square.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Contraction.h"

namespace tcc::codegen {

/// A spilled tile: row i at `base + i * stride`, in elements of the result.
struct TurnedTile {
  const TurnedResult &result;
  mlir::Value base;
  int64_t stride;
  llvm::SmallVector<unsigned> widths; ///< lanes of each vector of a row
  int64_t columns;                    ///< that exist
  Index firstRow, firstColumn;        ///< in C
};

/// Replaces the sums of `rows` rows by what is to be stored.
void finishTurned(KernelBuilder &k, const TurnedTile &tile, Index rows);

/// Stores `rows` finished rows: together where they are neighbours, else one by one.
void storeTurned(KernelBuilder &k, const TurnedTile &tile, unsigned rows);
/// The same for any number of rows, of one tile or several: a line of the cache after the other.
void storeTurnedLines(KernelBuilder &k, const TurnedTile &tile, Index rows);
void storeTurnedRows(KernelBuilder &k, const TurnedTile &tile, Index rows);

} // namespace tcc::codegen
