//===- Windows.h - Windows along an axis, as a view of two axes --*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// How many windows of `size` elements every `step` lie in `extent` elements, at least 0. Without
/// a check that `extent` has one window, or that `step` is above 0 (it counts as 1).
Dim windowsIn(PrimBuilder &b, Dim extent, Dim size, Dim step);

/// `count` windows of `size` elements of x along `axis`, `step` apart, as axes [.., count, size,
/// ..] in its place, taken by index.
mlir::Value windowsByIndex(PrimBuilder &b, mlir::Value x, int64_t axis, Dim count, Dim size,
                           Dim step);

/// Windows of `size` elements every `step` along `axis`, as a new last axis, as torch.Tensor.unfold
/// and UnfoldTensor (com.microsoft) have them. Without a check that there is one.
mlir::Value unfolded(PrimBuilder &b, mlir::Value x, int64_t axis, int64_t size, int64_t step);

} // namespace tcc
