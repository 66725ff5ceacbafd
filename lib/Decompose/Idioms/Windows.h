//===- Windows.h - Windows along an axis, as a view of two axes --*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// How many windows of `size` elements every `step` lie in `extent` elements, at least 0. Without
/// a check that `extent` has one window, or that `step` is above 0 (it counts as 1).
Dim windowsIn(PrimBuilder &b, Dim extent, Dim size, Dim step);

/// 0, 1, ... as positions, which say more to code generation than elements do.
mlir::Value positions(PrimBuilder &b, Dim count);

/// `count` windows of `size` elements of x along `axis`, `step` apart, as axes [.., count, size,
/// ..] in its place, taken by index.
mlir::Value windowsByIndex(PrimBuilder &b, mlir::Value x, int64_t axis, Dim count, Dim size,
                           Dim step);

/// x with windows along an axis as two axes in its place, taken by index.
struct TakenWindows {
  mlir::Value x;
  int64_t axis, taps; ///< the axes of x that number windows, and elements of a window

  /// A number for each element of each window, [count, size], beside x.
  mlir::Value beside(PrimBuilder &b, mlir::Value numbers) const;
  /// What of each window is reduced stays, without the axis of its elements.
  mlir::Value reduced(PrimBuilder &b, prim::ReduceKind kind) const;
};

/// The windows of x along `axis` whose elements lie at `places` [count, size]. What is reduced of
/// them has rows of the last axis as lanes, so that taps come before it.
TakenWindows takeWindows(PrimBuilder &b, mlir::Value x, int64_t axis, mlir::Value places);

/// `size` places each, from the one of `first` [count] on: [count, size].
mlir::Value placesFrom(PrimBuilder &b, mlir::Value first, Dim size);

/// The sum of each window of x along `axis`, its elements at `places` [count, size] multiplied by
/// `weights` of the same shape.
mlir::Value weightedWindows(PrimBuilder &b, mlir::Value x, int64_t axis, mlir::Value places,
                            mlir::Value weights);

/// Windows of `size` elements every `step` along `axis`, as a new last axis, as torch.Tensor.unfold
/// and UnfoldTensor (com.microsoft) have them. Without a check that there is one.
mlir::Value unfolded(PrimBuilder &b, mlir::Value x, int64_t axis, int64_t size, int64_t step);

/// The numbers of so many axes that are filtered one after the other, those that grow last: the
/// others are filtered while there are fewer elements.
llvm::SmallVector<int64_t> growingLast(int64_t axes, llvm::function_ref<bool(int64_t)> grows);

} // namespace tcc
