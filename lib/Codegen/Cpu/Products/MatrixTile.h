//===- MatrixTile.h - Register tiles of a matrix unit -----------*- C++ -*-===//
//
// A register tile of up to 32 rows whose products a matrix unit computes (AMX: Intel 64 and IA-32
// Architectures Optimization Reference Manual, "Intel Advanced Matrix Extensions"). Eight tile
// registers have up to 16 rows of 64 bytes: four hold 32 x 32 sums, two hold rows of A, and two
// columns of B, 16 steps of two bf16 or four bytes each. Unlike vectors they are no values: sums go
// from and to memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"

namespace tcc::codegen {

class MatrixTile {
public:
  static constexpr unsigned mostRows = kMatrixTileRows, blockRows = mostRows / 2, mostSteps = 16;

  /// Of `rows` rows (1 to mostRows) by `vectors` blocks of columns, multiplied as `kind` says. A
  /// turn of the loop over k takes as many steps as divide `depth`, the steps of k in all, and
  /// `block`, of which k is cut.
  MatrixTile(KernelBuilder &k, DotSteps kind, Index rows, unsigned vectors, int64_t depth,
             int64_t block);

  /// Says how large the tile registers are. They stay so until another tile does.
  void configure();

  /// The sums of A[rows, length] * B[length, columns of the panel], as [row][column] at `to`, whose
  /// rows are `stride` elements apart (0: no more than they have); `adds`: added to what is there.
  void run(const RowSource &a, const PanelSource &b, Index length, mlir::Value to, bool adds,
           int64_t stride = 0);

private:
  void configure(Index steps);
  void runBlocks(unsigned rowBlocks, const RowSource &a, const PanelSource &b, Index length,
                 mlir::Value to, bool adds);
  struct Blocks {
    unsigned rows, columns, firstColumn; ///< blocks; the first column's number in blocks
  };
  void multiply(const Blocks &blocks, const RowSource &a, Index begin, const PanelSource &b,
                Index at);
  RowSource padRows(const RowSource &a, Index at);
  void moveSums(const Blocks &blocks, mlir::Value sums, bool load);
  void zeroSums(const Blocks &blocks);

  KernelBuilder &k;
  DotSteps kind;
  Index rows;
  unsigned vectors;
  int64_t steps;                     ///< of a turn
  int64_t sumBytes = 0;              ///< from a row of sums to the next
  mlir::Value configuration, padded; ///< padded: the last steps of the rows of A
};

/// Frees the tile registers, which the system saves otherwise whenever it changes threads.
void releaseMatrixTiles(KernelBuilder &k);

} // namespace tcc::codegen
