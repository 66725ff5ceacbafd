//===- TaskEmitter.h - One task of a product, as it is written --*- C++ -*-===//
//
// The loops (TileLoop.cpp), and what becomes of the sums of a tile (TileResults.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "TileLoop.h"
#include "TurnedStores.h"

namespace tcc::codegen {

/// The cut of M into tiles and of N into panels.
struct Tiling {
  Index tiles;        ///< along m
  Index largeTiles;   ///< the first tiles, which have `rows` rows
  unsigned rows;      ///< of a large tile
  unsigned smallRows; ///< of the others when M is known, else 0
  Index panels, fullPanels;
  Index groupPanels; ///< panels of one group
  Index kBlocks;
  Index taskTiles, taskRows, taskColumns; ///< tiles of a task, number of tasks along m and n
  Index rowsInOrder; ///< tasks below each other that are numbered before those beside them
};

Tiling cutTiles(KernelBuilder &k, const ContractionSpec &spec);

/// Whether panels are the loop around a task's tiles (goesPanelByPanel).
bool staysByPanel(KernelBuilder &k, const ContractionSpec &spec, const RowFeed &feed);

/// How many tasks that are neighbours a thread does as one, at most: along one of both.
struct JoinedTasks {
  int64_t rows = 1, columns = 1;
};

class TaskEmitter {
public:
  TaskEmitter(KernelBuilder &k, const ContractionSpec &spec, RowFeed &feed, EpilogueFn epilogue,
              const JoinedTasks &joined = {})
      : k(k), spec(spec), feed(feed), epilogue(epilogue), tiling(cutTiles(k, spec)),
        cutsK(!k.isKnown(tiling.kBlocks, 1)), joined(joined) {}
  void emit(Index task) { emit(task, k.add(task, k.constant(1))); }
  /// Tasks [begin, end), which are joined, as one.
  void emit(Index begin, Index end);

private:
  using PanelFn = llvm::function_ref<void(Index panel, bool full)>;
  using RowsFn = llvm::function_ref<void(const TileRows &rows)>;
  void forPanels(PanelFn body);
  void forTiles(llvm::function_ref<void(Index tile)> body);
  /// Emits `body` for each height that tile number `tile` may have.
  void chooseRows(Index tile, RowsFn body);
  void chooseRemainder(Index first, RowsFn body);
  /// The rows of a tile of whatever height.
  TileRows anyRows(Index tile);

  void emitBlock(const KBlock &block);
  void packPanels(const KBlock &block);
  void emitTiles(const KBlock &block);
  void emitTile(Index tile, Index panel, bool full, const KBlock &block);
  /// How many panels the task's only tile lies across at once.
  unsigned panelsOfTile() const;
  /// All panels of the only tile; of those that are left over one after the other.
  void emitWideTile(Index tile, unsigned panels, const KBlock &block);
  void emitWidePanels(Index tile, const TileRows &rows, unsigned panels, const KBlock &block);
  /// The end of the task's whole sets of `panels` panels.
  Index wideEnd(unsigned panels);
  /// All panels of a tile by the matrix unit.
  void emitMatrixTile(Index tile, const KBlock &block);
  /// All panels of a tile, of columns that lie along k.
  void emitDots(Index tile, const KBlock &block);
  /// Tiles and panels [first, end) whose results are turned and stored together.
  void emitHeld(Index first, Index end, const KBlock &block);
  int64_t heldTiles() const;
  /// The tile's products; in registers, or in memory if there are partial sums.
  llvm::SmallVector<mlir::Value> multiply(const TileRows &rows, Index tile, Index panel, bool full,
                                          const KBlock &block);
  void startSums();
  PanelSource panelSource(Index panel, bool full, const KBlock &block);
  /// Rows of a packed panel, with that of the column sums.
  Index panelRows() { return k.add(spec.k, k.constant(spec.steps.sumSteps())); }
  void prefetchNext(PanelSource &source, Index tile, const KBlock &block);
  static constexpr int64_t farShares = 16; ///< of L2: more than the last cache has for a core
  bool isFarB(int64_t shares) const;
  void prefetchRows(PanelSource &source, Index panel, const KBlock &block);
  void prefetchResults(const TileRows &rows, Index panel, bool full);
  llvm::SmallVector<unsigned> panelWidths(bool full);
  Index panelColumns(Index panel, bool full);

  int64_t mostPanels() const { return joined.columns * spec.schedule.panelsPerTask; }

  // Partial sums: [tile of the task][panel of the task][row][panel width]
  mlir::Value sums(Index tile, Index panel);
  /// Adds a block's sums to those at `at`, which `accs` then are.
  void addToSums(mlir::Value at, unsigned rows, llvm::ArrayRef<unsigned> widths,
                 llvm::SmallVector<mlir::Value> &accs);
  void storeTile(mlir::Value at, unsigned rows, llvm::ArrayRef<unsigned> widths,
                 mlir::ValueRange accs);
  llvm::SmallVector<mlir::Value> loadTile(mlir::Value at, unsigned rows,
                                          llvm::ArrayRef<unsigned> widths);

  void finishInline(const TileRows &rows, Index panel, bool full, mlir::ValueRange accs);
  /// Of a tile that is in memory.
  void finishSpilled(Index tile, Index panel, bool full, mlir::Value from);
  void finishRolled(const TileRows &rows, Index panel, bool full, mlir::Value from);
  bool storesTurned() const;
  TurnedTile turnedTile(Index firstRow, Index panel, bool full, mlir::Value from);
  void finishTurned(Index tile, Index panel, bool full, mlir::Value from);
  /// The number of the first column of `panel` in C.
  Index firstColumn(Index panel);
  Index resultRow(Index m) { return spec.firstRow ? k.add(spec.firstRow, m) : m; }
  void finishRow(Index m, Index panel, bool full,
                 llvm::function_ref<mlir::Value(unsigned, unsigned)>);

  KernelBuilder &k;
  const ContractionSpec &spec;
  RowFeed &feed;
  EpilogueFn epilogue;
  Tiling tiling;
  bool cutsK;
  JoinedTasks joined;
  Index firstTile, endTile, firstPanel, endPanel; ///< of the task; of panels, those to be done
  Index taskPanel;                                ///< the first panel of the task
  mlir::Value buffer; ///< sums of one tile, or of the task when k is cut
  mlir::Value packedPanels;
  int64_t held = 1; ///< tiles whose results wait in the buffer before they are stored
  bool copiesB = spec.schedule.packsB(); ///< in the code that is written now
  bool byPanel = staysByPanel(k, spec, feed);
  bool dots = spec.bLayout == PanelLayout::Transposed && !copiesB; ///< lanes are neighbours in k
};

} // namespace tcc::codegen
