//===- RunTimeFilters.h - Filters that a run puts in order -------*- C++ -*-===//
//
// Internal to lib/LayoutAssign: the filters of a convolution that are no weights, in the order that
// KMajorWeights.cpp gives those that are.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Whether the filters of `op` are a run's, of known extents, and multiplied so often that putting
/// them in another order is worth a kernel.
bool areOfRun(prim::ConvOp op);
/// `filters` as `type` has them: filled up with channels of zeros, the axes in its order.
mlir::Value inOrder(mlir::OpBuilder &b, mlir::Value filters, mlir::RankedTensorType type);
/// `filters` as `type` has them, whose last taps are `pixels` each, with `shift` of zeros before
/// the first.
mlir::Value joinedTaps(mlir::OpBuilder &b, mlir::Value filters, mlir::RankedTensorType type,
                       int64_t pixels, int64_t shift);

} // namespace tcc
