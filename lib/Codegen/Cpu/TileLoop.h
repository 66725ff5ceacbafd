//===- TileLoop.h - Loops around the register tile --------------*- C++ -*-===//
//
// What GEMM and the convolutions share: the cut of rows and columns into tasks,
// register tiles and panels, the order of the loops, partial sums across blocks of
// k, and the epilogue. They differ in the rows of A, which a RowFeed provides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Contraction.h"

namespace tcc::codegen {

/// The rows of a register tile: `count` of them in registers, `valid` in C.
struct TileRows {
  unsigned count;
  Index first;
  Index valid; ///< null: all
};

/// A range of k; `begin` is a multiple of the schedule's kBlock.
struct KBlock {
  Index begin, length;
};

/// Provides A to the tile loop.
class RowFeed {
public:
  virtual ~RowFeed() = default;
  /// Called once a tile and block of k, before its panels: packing, pointer tables.
  virtual void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) = 0;
  /// Whether `prepare` writes to memory what `run` reads, so that `run` may be emitted where
  /// `prepare` does not dominate it; else `prepare` only computes addresses.
  virtual bool writesRows() const = 0;
  /// Adds A[rows, block] * B[block, panel] to `accs`; `panel` starts at the block and
  /// belongs to `group`.
  virtual llvm::SmallVector<mlir::Value> run(KernelBuilder &k, const RegisterTile &tile,
                                             const PanelSource &panel, Index group,
                                             const KBlock &block, mlir::ValueRange accs) = 0;
};

/// Vectors that cover `columns` of a panel: whole ones, then the smallest power of two
/// that holds the rest (packed panels are padded with zeros).
llvm::SmallVector<unsigned> panelVectors(int64_t columns, unsigned lanes);

/// `spec` without its A, which `feed` replaces.
Index emitTileTaskCount(KernelBuilder &k, const ContractionSpec &spec);
void emitTileTask(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, Index task,
                  EpilogueFn epilogue);

} // namespace tcc::codegen
