//===- MmaTile.h - How blocks tile products for mma.sync ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which products the template takes, its tiles, and how a
// stage of shared memory lies: decided once here, read by the schedule and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "MatrixInstructions.h"

namespace tcc::codegen::device {

/// Extents of the matrices that a product or convolution is; -1: not known.
struct ProductSizes {
  int64_t batch = 1, rows = 1, columns = 1, inner = 1;
  bool shares = true; ///< blocks may share what a tile sums, for so many tiles there are at most

  static ProductSizes of(mlir::Operation *product);
  bool isOpen() const { return batch < 0 || rows < 0 || columns < 0 || inner < 0; }
};

/// What a schedule has to know of a product for the matrix units.
struct MmaProduct : ProductSizes {
  MatrixInstruction instruction;
  bool open = false, openInner = false; ///< some extent is; k is, and taken to be typical

  /// With so many of the rows and columns that are open.
  MmaProduct with(int64_t open) const;
  /// Elements of k in a stage.
  unsigned depth() const;
  int64_t steps() const { return (inner + depth() - 1) / depth(); }
};

/// Null unless the template takes the launch: a product or convolution whose operands have
/// an instruction, summed in its type, over a number of elements that is open or not 0.
/// `tf32`: operands of f32 may be rounded.
std::optional<MmaProduct> mmaProduct(kernel::LaunchOp launch, bool tf32);
std::optional<MmaProduct> mmaProduct(mlir::Operation *op, bool tf32);

/// Whether a product has few rows that go through mma.sync without shared memory (SkinnyMmaKernel):
/// both operands lie along what is summed, in whole pieces of 16 bytes.
bool isSkinnyMma(mlir::Operation *op, const MmaProduct &product);
/// Whether two products are such, of one left operand and right ones of one type, so that the same
/// kernel multiplies both.
bool sharesFewRows(mlir::Operation *first, mlir::Operation *second);

/// A block's part of the result, and a warp's part of that.
struct MmaTile {
  static constexpr unsigned lineBytes = 128; ///< of k in a stage, of each row and column

  unsigned rows, columns, warpRows, warpColumns;

  unsigned threads() const { return rows / warpRows * (columns / warpColumns) * 32; }
  unsigned leftBytes() const { return rows * lineBytes; }
  unsigned stageBytes() const { return (rows + columns) * lineBytes; }
  unsigned sums() const { return warpRows * warpColumns / 32; } ///< of a thread

  static llvm::ArrayRef<MmaTile> all();
  /// The one that a schedule names.
  static MmaTile of(Schedule schedule);
};

} // namespace tcc::codegen::device
