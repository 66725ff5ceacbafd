//===- BoxOperand.h - Operands that bulk copies bring ------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A bulk tensor copy (TMA) brings a box of a dense tensor of up
// to five axes. Views of memory that only cut, leave out and reorder axes are such boxes of what
// lies there: heads of a joined projection, keys of a cache. This finds the axes, and where a box
// begins along each, from the index of the operand.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Analysis/DotOperand.h"
#include <optional>

namespace tcc::codegen::device {

/// An axis of the memory that an operand lies in, as a tensor map has it. Steps along axis `of`
/// of the operand (-1: none) move a box to start + index / divisor % count. An open axis is a whole
/// one of memory, `open`.
struct BoxAxis {
  int64_t extent, start;
  int of;
  int64_t divisor, count;
  std::optional<unsigned> open = std::nullopt;
};

/// A matrix for each index of the operand's other axes, rows of 16-bit elements.
struct BoxOperand {
  static constexpr unsigned columns = 64; ///< of a box: 128 bytes, a swizzle's width

  mlir::BlockArgument memory;
  llvm::SmallVector<BoxAxis, 5> axes; ///< outermost first; the last one is that of the columns
  int rowAxis, columnAxis;            ///< of the operand
  int64_t rows;                       ///< known where columns are open

  /// Whether what a box has past the last index of `axis` is zero, not what else lies there.
  bool endsWith(int axis) const;
  /// Rows of the operand are those of memory: columns are summed.
  bool byInner(int rowAxisOfOperand) const { return rowAxis == rowAxisOfOperand; }
  /// The map for boxes of `boxRows` rows; `extents` are those of the memory.
  TensorMap map(mlir::OpBuilder &b, unsigned boxRows,
                llvm::ArrayRef<mlir::OpFoldResult> extents) const;
  /// A box's place, innermost axis first: `index` gives the i32 index along an axis of the operand.
  llvm::SmallVector<mlir::Value> place(mlir::ImplicitLocOpBuilder &b,
                                       llvm::function_ref<mlir::Value(int)> index) const;
};

/// How operand `which` (0: lhs) of `dot` lies, with `rowAxis` and the axis that is summed as its
/// matrix; either of them has its elements side by side. Null unless its elements have 16 bits and
/// its rows of memory are a multiple of 16 bytes. Open axes are not cut.
std::optional<BoxOperand> boxOperand(prim::DotOp dot, unsigned which, int64_t rowAxis);

} // namespace tcc::codegen::device
