//===- GroupedPanels.h - Small integers as the numbers they are -*- C++ -*-===//
//
// Widens integers that have a scale a group (Dialect/Cpu/GroupedWeights.h): for the register tile,
// or into a panel that many tiles read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"

namespace tcc::codegen {

/// Bytes between what is widened and what is fetched meanwhile: each line of the cache has so much
/// to compute that a core does not look further ahead by itself.
inline constexpr int64_t kGroupsAhead = 16384;

/// Reads one group of a panel.
class GroupReader {
public:
  using Values = llvm::SmallVector<mlir::Value>; ///< one for each vector of columns

  /// Group `index` of those at `base`, in vectors of `widths` columns, each for `rows` rows: of
  /// several, whose products hide it, widening takes as few registers as it can.
  GroupReader(KernelBuilder &k, const CpuTarget &cpu, const GroupedShape &shape,
              llvm::ArrayRef<unsigned> widths, mlir::Value base, Index index, unsigned rows);
  /// Loads row `row` of the words.
  void beginWords(Index row);
  /// Fetches as much as a row of words at the same place behind `ahead` as this one behind `base`.
  void prefetch(mlir::Value ahead);
  /// The same for what lies behind the group's words.
  void prefetchScales(mlir::Value ahead);
  /// The i-th integers of the words, as f32; from the first on, one after the other.
  Values integers(unsigned i);
  /// What they are multiplied by, and what is added to that; no offsets where all are 0.
  Values scales();
  Values offsets(const Values &scales);

private:
  Values load(mlir::Type element, Index first);
  void fetch(mlir::Value ahead, Index at, int64_t rows);

  KernelBuilder &k;
  const GroupedShape &shape;
  llvm::ArrayRef<unsigned> widths;
  int64_t lineWords;    ///< of a line of the cache
  bool masksAtOnce;     ///< a mask and bits beside it are one instruction
  unsigned shifted = 0; ///< bits that the words are, for the integers in hand
  mlir::Value base;
  Index first, words; ///< in words from `base`: the group, and its row
  Values loaded;
};

} // namespace tcc::codegen
