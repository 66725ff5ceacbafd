//===- CopiedTile.h - Slices that asynchronous copies bring ------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Slices of an operand that lies in memory as it is multiplied,
// `width` rows or columns by `depth` of k, in a ring of shared memory. A thread's copies of a slice
// begin at one address, the others lie at distances that are the same in all slices: a few
// registers, where values on their way would take one each.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "DirectOperand.h"
#include "OperandTile.h"

namespace tcc::codegen::device {

class CopiedTile : public SliceMemory {
public:
  /// Of the matrix at `batch`, from row or column `first` on; slices begin at multiples of the
  /// shape's elements in `shared`. Of fewer than the width, the last is brought again.
  CopiedTile(KernelFrame &f, DirectOperand operand, TileShape shape, TileThreads threads,
             mlir::Value shared, llvm::ArrayRef<mlir::Value> batch, mlir::Value first,
             mlir::Value extent);
  /// Whether so many threads have whole copies each.
  static bool fits(const DirectOperand &operand, TileShape shape, unsigned threads);

  /// Where the thread's copies of the slice from k = `round` on begin.
  mlir::Value from(mlir::Value round);
  /// What that is for the next slice.
  mlir::Value next(mlir::Value from);
  /// Starts the thread's copies: past the end of k, `end`, zeros. `whole`: slices end at `end` or
  /// before.
  void copy(mlir::Value from, mlir::Value slice, mlir::Value round, mlir::Value end, bool whole);

private:
  /// How copies are dealt out: a thread's first one, and steps to the others.
  struct Deal {
    unsigned lanes;              ///< elements of a copy
    unsigned acrossOwn, acrossK; ///< threads side by side
    unsigned stepOwn, stepK;     ///< elements from one copy of a thread to the next
    unsigned countOwn, countK;   ///< copies of a thread
  };
  static Deal dealOf(const DirectOperand &operand, TileShape shape, unsigned threads);

  DirectOperand operand;
  Deal deal;
  mlir::Value base;
  mlir::Value ownOfThread, kOfThread;       ///< its first copy's, in the slice
  llvm::SmallVector<mlir::Value> distances; ///< in bytes, of its rows or columns; none: constants
};

} // namespace tcc::codegen::device
