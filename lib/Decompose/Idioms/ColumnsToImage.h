//===- ColumnsToImage.h - Windows added up where they came from --*- C++ -*-===//
//
// The inverse of unfolding an image into columns, but for overlaps, which add up.
// Positions are computed from the extents, so that nothing here needs to be known
// at compile time, and written by one scatter.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

struct ColumnBlocks {
  Dims image, block;                                   ///< extents of the spatial axes
  llvm::SmallVector<int64_t> strides, dilations, pads; ///< pads: all low, then all high
};

/// Columns [N, C * block, positions] as [N, C, image...]; null, with a fault, when lists differ in
/// length.
mlir::Value columnsToImage(PrimBuilder &b, mlir::Value columns, const ColumnBlocks &o);

} // namespace tcc
