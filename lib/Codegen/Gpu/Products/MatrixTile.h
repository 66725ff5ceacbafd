//===- MatrixTile.h - What a product needs for the matrix units --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which products the template for wgmma takes, and how its
// operands lie: decided once here, read by the schedule, the tensor maps and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Convolutions/WgmmaConvolution.h"
#include "WgmmaInstructions.h"
#include <optional>

namespace tcc::codegen::device {

/// A product of two matrices that lie dense in memory, or of the windows of an image by filters.
/// What lies along k is counted in units of 16 bits, whatever the elements: copies move 128 bytes
/// of it, and instructions multiply 32.
struct MatrixProduct {
  mlir::Operation *op;
  mlir::Value left;                    ///< [rows..., k]; an image
  mlir::BlockArgument leftRows, right; ///< left's memory; [columns, k] or [k, columns]
  unsigned rowAxes;                    ///< of left, before k; of the result
  bool rightByColumns;                 ///< right is [columns, k]
  int64_t columns, inner;              ///< static; inner: units, of a convolution those of a tap
  unsigned resultBytes;                ///< of an element of the one dense result; 0: not looked at
  std::optional<ConvolutionWindow> window = std::nullopt;
  /// An argument of 16-bit elements that is read once, at the result's own index, where the
  /// result's elements have 16 bits too; else null.
  mlir::BlockArgument residual = {};
  /// Of a batch of matrices, which lie one after the other: rows of each, and the axes of the
  /// batch, with which those of left and of the result begin; right is a matrix for each. A tile
  /// has rows of one matrix (RowTiles.h).
  int64_t matrixRows = 0; ///< 0: no batch
  unsigned batchAxes = 0;
  /// Left is [batch..., k, rows] instead: its rows of memory are what is summed over, of 16 bits.
  bool leftAcross = false;
  /// Right's rows of memory are what is summed over, and wgmma does not transpose its elements: the
  /// transposes are multiplied in the other order (TurnedWgmma.cpp).
  bool turned = false;

  /// Whether a matrix of a batch has as many rows as such tiles, but for less than an
  /// instruction's.
  bool fitsRows(unsigned tileRows) const;
  /// Whether matrices of a batch end within tiles of so many rows.
  bool endsWithinTiles(unsigned tileRows) const { return matrixRows % tileRows != 0; }
  /// Tiles one below the other, of `rows` of all matrices.
  int64_t tilesDown(int64_t rows, unsigned tileRows) const;
  /// Where the matrix lies among those of the right operand that rows from `firstRow` on, and
  /// columns of it from `column` on, are multiplied by at `k`: a box's place in its map.
  llvm::SmallVector<mlir::Value> rightAt(mlir::ImplicitLocOpBuilder &b, mlir::Value firstRow,
                                         mlir::Value column, mlir::Value k) const;
  /// The value whose first axes are the rows.
  mlir::Value rows() const { return window || leftAcross ? mlir::Value(op->getResult(0)) : left; }
  int64_t elementUnits() const; ///< of an element of the right operand that lies in rows
  int64_t steps() const;        ///< of the result's sums, MatrixTile::depth units of k each
  WgmmaInstruction instruction(unsigned columns) const;
  /// Rows of a box of the last tile where that has fewer rows than others (LeftSlices.h). One more
  /// takes as long as so many rows past the last one (H200: 25 cycles, and six a row).
  static constexpr unsigned partBox = 16, rowsOfBox = 4;
  /// Whether the last tile of so many rows may have so few that small boxes bring them.
  bool hasPartTile(unsigned tileRows) const;
  /// Of the operands; of the result if it is copied, and of what is added to it; last, where a tile
  /// of so many rows may have fewer, of left in small boxes.
  unsigned tensorMaps(unsigned tileRows) const {
    return (resultBytes ? 3 + unsigned(!!residual) : 2) + unsigned(hasPartTile(tileRows));
  }
};

/// Whether the one result of a launch is computed from `product` and other things point by point,
/// in the product's own shape or one that only joins its rows differently.
bool isEpilogue(kernel::LaunchOp launch, mlir::Operation *product);

/// Null unless the template that copies its result takes the launch: operands as below, and one
/// result of 8, 16 or 32 bits, whose rows of memory are a multiple of 16 bytes.
std::optional<MatrixProduct> matrixProduct(kernel::LaunchOp launch);
/// The product of a launch, whatever becomes of it; null unless wgmma multiplies its operands,
/// columns and inner extent are known and rows of memory are a multiple of 16 bytes. The left
/// operand may be a reshape: its rows lie where they lay. Convolutions: ConvolutionWindow. Operands
/// of f32 are taken, for whoever may round them.
std::optional<MatrixProduct> matrixOperands(kernel::LaunchOp launch);
/// What a launch with a schedule of form wgmma multiplies.
MatrixProduct scheduledMatrices(kernel::LaunchOp launch, Schedule schedule);

/// Blocks of shared memory, and where they lie in it.
struct MatrixTile {
  static constexpr unsigned depth = 64; ///< units of k in one stage: 128 bytes, a swizzle's width
  static constexpr unsigned turns = 2;  ///< warp groups that multiply tiles in turns
  static constexpr unsigned partRows = 64;     ///< of an instruction
  static constexpr unsigned slabRows = 64;     ///< of the result, on its way to memory
  static constexpr unsigned sliceColumns = 64; ///< of a right operand that lies by rows of k

  unsigned rows, columns, stages, slabs; ///< slabs: of each consumer
  unsigned consumers;                    ///< warp groups that multiply
  unsigned sharers;                      ///< consumers that multiply one tile: all, or one
  unsigned slabRowBytes;                 ///< 64 or 128

  /// Whether rows of `columns` results are whole slabs, and come in whole slices where the right
  /// operand lies by rows.
  static bool isWhole(unsigned columns, const MatrixProduct &product) {
    return columns * product.resultBytes % kNarrowSlab == 0 &&
           (product.rightByColumns || columns % sliceColumns == 0);
  }
  /// The most stages that fit `sharedBytes`. A residual has a slab for all of the tile.
  static MatrixTile fit(unsigned rows, unsigned columns, unsigned consumers, unsigned sharers,
                        const MatrixProduct &product, int64_t sharedBytes);
  /// The one that a schedule of form wgmma names.
  static MatrixTile of(Schedule schedule, const MatrixProduct &product);

  bool isShared() const { return sharers > 1; }
  unsigned parts() const { return rows / sharers / partRows; } ///< of a consumer
  unsigned leftBytes() const { return rows * depth * 2; }
  unsigned stageBytes() const { return (rows + columns) * depth * 2; }
  unsigned slabBytes() const { return slabRows * slabRowBytes; }
  unsigned slabOffset() const { return stages * stageBytes(); }
  unsigned barrierOffset() const { return slabOffset() + consumers * slabs * slabBytes(); }
  /// The barrier of a consumer's residual, after two a stage.
  unsigned residualOffset(unsigned consumer) const {
    return barrierOffset() + 16 * stages + 8 * consumer;
  }
  /// With room to begin at a multiple of 1024.
  unsigned sharedBytes() const { return residualOffset(consumers) + 1024; }
  unsigned threads() const { return 128 * (consumers + 1); }
  /// Registers of a thread that multiplies, when those that fetch have given up theirs.
  unsigned registers() const { return consumers > turns ? 160 : 240; }

private:
  static constexpr unsigned kNarrowSlab = 64, kWideSlab = 128; // bytes of a row
};

} // namespace tcc::codegen::device
