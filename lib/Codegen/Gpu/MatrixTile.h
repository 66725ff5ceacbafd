//===- MatrixTile.h - What a product needs for the matrix units --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which products the template for wgmma takes, and how its
// operands lie: decided once here, read by the schedule, the tensor maps and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "WgmmaConvolution.h"
#include <optional>

namespace tcc::codegen::device {

/// A product of two matrices that lie dense in memory, or of the windows of an image by filters,
/// and a result that lies dense as well.
struct MatrixProduct {
  mlir::Operation *op;
  mlir::Value left;                    ///< [rows..., k]; an image
  mlir::BlockArgument leftRows, right; ///< left's memory; [columns, k] or [k, columns]
  unsigned rowAxes;                    ///< of left, before k; of the result
  bool rightByColumns;                 ///< right is [columns, k]
  int64_t columns, inner;              ///< static
  bool inSlabs;                        ///< the result is copied out of shared memory
  std::optional<ConvolutionWindow> window = std::nullopt;

  /// The value whose first axes are the rows.
  mlir::Value rows() const { return window ? mlir::Value(op->getResult(0)) : left; }
  int64_t steps() const; ///< of the result's sums, MatrixTile::depth of k each
  /// Of the operands, and of the result if it is copied.
  unsigned tensorMaps() const { return inSlabs ? 3 : 2; }
};

/// Whether the one result of a launch is computed from `product` and other things point by point,
/// in the product's own shape or one that only joins its rows differently.
bool isEpilogue(kernel::LaunchOp launch, mlir::Operation *product);

/// Null unless the template takes the launch: operands of one 16-bit float type, a result of
/// that type or f32, columns and inner extent known and their rows of memory a multiple of 16
/// bytes. The left operand may be a reshape: its rows lie where they lay. Convolutions:
/// ConvolutionWindow.
std::optional<MatrixProduct> matrixProduct(kernel::LaunchOp launch);

/// Blocks of shared memory, and where they lie in it.
struct MatrixTile {
  static constexpr unsigned depth = 64;       ///< of k in one stage: 128 bytes, a swizzle's width
  static constexpr unsigned consumers = 2;    ///< warp groups that multiply
  static constexpr unsigned slabColumns = 64; ///< of the result, on its way to memory
  static constexpr unsigned slabBytes = 64 * slabColumns * 2;

  unsigned rows, columns, stages, slabs; ///< slabs: of each consumer

  /// The most stages that fit `sharedBytes`.
  static MatrixTile fit(unsigned rows, unsigned columns, int64_t sharedBytes);

  unsigned leftBytes() const { return rows * depth * 2; }
  unsigned stageBytes() const { return (rows + columns) * depth * 2; }
  unsigned slabOffset() const { return stages * stageBytes(); }
  unsigned barrierOffset() const { return slabOffset() + consumers * slabs * slabBytes; }
  /// With room to begin at a multiple of 1024.
  unsigned sharedBytes() const { return barrierOffset() + 16 * stages + 1024; }
  static constexpr unsigned threads() { return 128 * (consumers + 1); }
};

} // namespace tcc::codegen::device
