//===- DotTile.h - Products of rows and columns that lie along k -*- C++ -*-===//
//
// Where columns of B lie along k, as rows of A do, panels would have to be copied: each of their
// vectors is put together from as many columns as it has lanes. A few rows are not worth that. Here
// lanes are neighbours in k: a vector of each row and of each column is loaded once for all
// products of a small block of both, and the lanes of each sum are added up at the end. bf16 lies
// in pairs already as instructions take them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"

namespace tcc::codegen {

/// Columns of B, of which number i starts at `base + i * stride`.
struct ColumnSource {
  mlir::Type element;
  mlir::Value base;
  Index stride; ///< elements
  Index count;  ///< columns that exist
  Index next;   ///< elements from a column to the one that is fetched with it; null: none is
};

class DotTile {
public:
  /// Columns of a block; a panel is several.
  static constexpr unsigned blockColumns = 4;

  /// Of `lanes` sums in a vector, of type `acc`, stored in rows of `width`.
  DotTile(KernelBuilder &k, const CpuTarget &cpu, mlir::Type acc, DotSteps steps, unsigned lanes,
          int64_t width)
      : k(k), cpu(cpu), acc(acc), steps(steps), lanes(lanes), width(width) {}

  /// Sums of `rows` rows by all columns over `length` elements of k, as [row][column] at `to`;
  /// `adds`: added to what is there. The last block of columns is stored whole.
  void run(unsigned rows, const RowSource &a, const ColumnSource &b, Index length, mlir::Value to,
           bool adds);

private:
  struct Block {
    llvm::SmallVector<mlir::Value> rows, columns; ///< where they start
    llvm::SmallVector<mlir::Value> next;          ///< columns that are fetched on the way
    mlir::Type rowElement, columnElement;
  };
  llvm::SmallVector<mlir::Value> multiply(const Block &block, Index at, Index valid,
                                          mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> sums(const Block &block, Index length);
  mlir::Value load(mlir::Value start, mlir::Type element, Index at, Index valid);
  mlir::Value addLanes(llvm::ArrayRef<mlir::Value> sums);

  KernelBuilder &k;
  const CpuTarget &cpu;
  mlir::Type acc;
  DotSteps steps;
  unsigned lanes;
  int64_t width;
};

} // namespace tcc::codegen
