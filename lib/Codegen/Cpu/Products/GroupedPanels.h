//===- GroupedPanels.h - Small integers as the numbers they are -*- C++ -*-===//
//
// Widens integers that have a scale a group (Dialect/Cpu/GroupedWeights.h): for the register tile,
// or into a panel that many tiles read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"

namespace tcc::codegen {

/// Reads one group of a panel.
class GroupReader {
public:
  using Values = llvm::SmallVector<mlir::Value>; ///< one for each vector of columns

  /// Group `index` of those at `base`, in vectors of `widths` columns.
  GroupReader(KernelBuilder &k, const CpuTarget &cpu, const GroupedShape &shape,
              llvm::ArrayRef<unsigned> widths, mlir::Value base, Index index);
  /// Loads row `row` of the words.
  void beginWords(Index row);
  /// Fetches as much as `rows` rows of words, or of what follows them, at the same place behind
  /// `ahead` as these behind `base`.
  void prefetch(mlir::Value ahead, Index row, int64_t rows = 1);
  void prefetchScales(mlir::Value ahead);
  /// The i-th integers of the words, as f32.
  Values integers(unsigned i);
  /// What they are multiplied by, and what is added to that; no offsets where all are 0.
  Values scales();
  Values offsets(const Values &scales);

private:
  Values load(mlir::Type element, Index first);
  /// The number in the lowest bits of each word as f32; null where no instruction looks it up.
  mlir::Value lookedUp(mlir::Value words);

  KernelBuilder &k;
  const CpuTarget &cpu;
  const GroupedShape &shape;
  llvm::ArrayRef<unsigned> widths;
  mlir::Value base;
  Index first; ///< of the group, in words from `base`
  Values loaded;
};

} // namespace tcc::codegen
