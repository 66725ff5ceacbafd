//===- TileLoop.h - Loops around the register tile --------------*- C++ -*-===//
//
// What GEMM and the convolutions share: the cut of rows and columns into tasks,
// register tiles and panels, the order of the loops, partial sums across blocks of
// k, and the epilogue. They differ in the rows of A, which a RowFeed provides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "DotTile.h"
#include "MatrixTile.h"
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
  /// Called once a task, of which the rows are [first, end).
  virtual void begin(KernelBuilder &k, Index first, Index end) {}
  /// Called once a tile and block of k, before its panels: packing, pointer tables.
  virtual void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) = 0;
  /// Whether `prepare` writes to memory what `run` reads, so that `run` may be emitted where
  /// `prepare` does not dominate it; else `prepare` only computes addresses.
  virtual bool writesRows() const = 0;
  /// Whether a run may have but a few rows, so that a tile of them is all of its work.
  virtual bool mayBeFew() const { return false; }
  /// Whether tasks are so short, and B so small, that its panels stay in the caches.
  virtual bool keepsPanels() const { return false; }
  /// Which panel the next `run` is for, where it is for one.
  virtual void enterPanel(KernelBuilder &k, Index panel) {}
  /// Adds A[rows, block] * B[block, panel] to `accs`; `panel` starts at the block and
  /// belongs to `group`.
  virtual llvm::SmallVector<mlir::Value> run(KernelBuilder &k, const RegisterTile &tile,
                                             const PanelSource &panel, Index group,
                                             const KBlock &block, mlir::ValueRange accs) = 0;
  /// The same for a tile of the matrix unit, whose sums are in memory at `to`.
  virtual void runMatrixTile(MatrixTile &tile, const PanelSource &panel, const KBlock &block,
                             mlir::Value to, bool adds) {
    llvm_unreachable("rows that the matrix unit is not scheduled for");
  }
  /// The same for `count` rows by columns that lie along k, as they do.
  virtual void runDots(KernelBuilder &k, DotTile &tile, unsigned count, const ColumnSource &columns,
                       const KBlock &block, mlir::Value to, bool adds) {
    llvm_unreachable("rows that are not scheduled for columns along k");
  }
};

/// `spec` without its A, which `feed` replaces.
Index emitTileTaskCount(KernelBuilder &k, const ContractionSpec &spec);
void emitTileTask(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, Index task,
                  EpilogueFn epilogue);
/// Tasks [begin, end), those that lie beside each other in a row as one where that reads B in
/// longer runs: a thread that is alone has them all.
void emitTileTasks(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, Index begin,
                   Index end, EpilogueFn epilogue);

} // namespace tcc::codegen
