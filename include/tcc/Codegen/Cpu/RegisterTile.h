//===- RegisterTile.h - The innermost loop of contractions ------*- C++ -*-===//
//
// A register tile is a block of C, `rows` x `widths`, that stays in vector
// registers while k runs: for every k, one vector of B per width and one broadcast
// element of A per row. GEMM and every convolution are loops around it; they
// differ in where the rows of A start (RowSource) and how often a run is repeated
// (once, or once per filter tap). With steps of several elements (Dialect/Cpu/WeightPanels.h)
// a step of k is several elements of A against as many in each lane of B. A low tile may lie across
// several panels, whose vectors follow each other in its rows: memory gives more of several
// streams.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Cpu/GroupedWeights.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

namespace tcc::codegen {

struct RegisterTile {
  unsigned rows = 1;
  llvm::SmallVector<unsigned> widths; ///< lanes of each vector of a row, left to right
  mlir::Type acc;                     ///< element type of the accumulators
  DotSteps steps = {};                ///< how a step of k is multiplied
  bool rolled = false;                ///< one step of k a turn, whatever the schedule says

  unsigned columns() const;
  unsigned count() const { return rows * widths.size(); }
};

/// Where A's rows are: row i, element k at `base + i * rowStride + k * kStride`,
/// or, with a pointer table, `table[i] + offset + k * kStride`.
struct RowSource {
  mlir::Type element;
  bool isUnsigned = false;
  mlir::Value base;  ///< pointer to row 0, k 0
  Index rowStride;   ///< elements
  Index kStride;     ///< elements
  mlir::Value table; ///< pointer to `rows` row pointers; replaces base and rowStride
  Index offset;      ///< elements added to the pointers of the table; null: none
  Index
      validRows; ///< without a table: rows at or past it repeat the last valid one; null: all valid
  Index validK;  ///< with steps of several elements: those of a row; null: whole steps
};

/// Where B's vectors are: k's vectors start at `base + k * kStride`, or, with groups, are widened
/// from those that start at `base`.
struct PanelSource {
  mlir::Type element;
  bool isUnsigned = false;
  mlir::Value base;
  Index kStride;
  Index validColumns;    ///< null: reading whole vectors is safe; else masked loads
  mlir::Value ahead;     ///< what is read after the panel, fetched on the way; null: nothing
  int64_t aheadStep = 0; ///< bytes of it for one k
  bool isNear = false;   ///< that is needed soon, and fetched into the nearest cache
  mlir::Value alone;     ///< i1: no other tile reads the panel, and `soon` is fetched instead
  mlir::Value soon;      ///< what the tile comes to some steps later
  int64_t stepBytes = 0; ///< of it for one k
  Index aheadStride;     ///< bytes from one k's part to the next; null: they follow each other
  unsigned panels = 1;   ///< equal ones beside each other, with `sums` of their own
  Index panelStride;     ///< elements from one to the next
  mlir::Value sums;      ///< what every row's sums start from; null: 0
  std::optional<GroupedShape> groups = {}; ///< with `ahead`: what is fetched beside each group
  Index
      aheadGroups; ///< of so many groups that lies in the same panel, then in that behind `panels`

  /// The panel from `begin` on.
  PanelSource from(KernelBuilder &k, Index begin) const;
};

/// Vectors that cover `columns` of a panel: whole ones, then the smallest power of two
/// that holds the rest (packed panels are padded with zeros).
llvm::SmallVector<unsigned> panelVectors(int64_t columns, unsigned lanes);

llvm::SmallVector<mlir::Value> zeroTile(KernelBuilder &k, const RegisterTile &tile);

/// What the sums over all of a panel start from.
llvm::SmallVector<mlir::Value> initialTile(KernelBuilder &k, const RegisterTile &tile,
                                           const PanelSource &b);

/// accs[row][vector] += A[row][0..length) * B[0..length)[vector]; row-major order.
llvm::SmallVector<mlir::Value> emitRun(KernelBuilder &k, const CpuTarget &cpu,
                                       const RegisterTile &tile, const RowSource &a,
                                       const PanelSource &b, Index length, unsigned unroll,
                                       mlir::ValueRange accs);

/// a * b + acc in the way of the target; floating or integer.
mlir::Value emitMultiplyAdd(KernelBuilder &k, const CpuTarget &cpu, mlir::Value a, mlir::Value b,
                            mlir::Value acc);

} // namespace tcc::codegen
