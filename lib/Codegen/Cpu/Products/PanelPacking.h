//===- PanelPacking.h - Copies of operands for the register tile *- C++ -*-===//
//
// The register tile wants B as panels [k][nr] and A as rows that do not fall into
// the same cache sets. What does not lie so is copied into scratch, one block of k
// at a time, and widened to the accumulator's type on the way.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "TileLoop.h"

namespace tcc::codegen {

/// Transposes lanes x lanes values: log2(lanes) rounds, each exchanging blocks of
/// half the size of the round before between rows that far apart.
llvm::SmallVector<mlir::Value> transposeSquare(KernelBuilder &k,
                                               llvm::SmallVector<mlir::Value> rows);

/// Rows of k that a packed panel has room for.
int64_t packedDepth(KernelBuilder &k, const ContractionSpec &spec);

/// The first group of `block` in panel number `panel` of a B of integers.
mlir::Value groupsAt(KernelBuilder &k, const ContractionSpec &spec, Index panel,
                     const KBlock &block);

mlir::Value packedPanelAt(KernelBuilder &k, const ContractionSpec &spec, mlir::Value panels,
                          Index slot);

/// Bytes of stack for `panels` packed panels.
int64_t packedPanelBytes(KernelBuilder &k, const ContractionSpec &spec, int64_t panels);

/// The scaled column sums at the end of a packed panel (Dialect/Cpu/WeightPanels.h), or null.
mlir::Value packedSumsAt(KernelBuilder &k, const ContractionSpec &spec, mlir::Value panel);

/// Copies B[block, firstColumn .. + columns] to `to` as [length][nr], or steps of it
/// [steps][nr][size]. `streams`: on the way it fetches columns that lie apart and come next, for
/// a B that is read once and comes from far away.
void packPanel(KernelBuilder &k, const ContractionSpec &spec, Index firstColumn, Index columns,
               const KBlock &block, mlir::Value to, bool streams = false);

/// Elements from one packed row of A to the next for rows of `length`: a multiple
/// of the cache line that keeps `rows` rows out of each other's sets.
int64_t packedRowStride(const CpuTarget &cpu, int64_t length, unsigned elementBytes);

/// Copies A[rows, block] to `to` as [count][stride]; missing rows repeat the last.
void packRows(KernelBuilder &k, const ContractionSpec &spec, const TileRows &rows,
              const KBlock &block, mlir::Value to, int64_t stride);
/// The same of rows that are neighbours in memory, as [length][schedule's rows]: a vector a step.
void packSteps(KernelBuilder &k, const ContractionSpec &spec, const TileRows &rows,
               const KBlock &block, mlir::Value to);

} // namespace tcc::codegen
