//===- RegionPixels.h - What regions of images cover -------------*- C++ -*-===//
#pragma once
#include "Decompose/Idioms/Sampling.h"

namespace tcc {

/// What the bins of each region cover of one axis of its image.
struct Band {
  mlir::Value first; ///< [R, bins] i64: the first element
  mlir::Value count; ///< [R, bins] i64: how many from there on
  /// [R, bins, samples]: where their weights come from, in `first` to `first + count - 1` unless
  /// that is 0. Without them each element counts as it is.
  llvm::SmallVector<SampleTap> taps;
};

/// Samples of the bins of each region along one axis, between elements.
struct BinSamples {
  mlir::Value position; ///< [R, bins * grid]
  mlir::Value used;     ///< likewise: whether the sample counts; null: all do
  Dim bins;
  Dim grid; ///< samples a bin, for the region that has most
};

/// What samples see of an axis of `extent`, as linearTaps has it.
Band bandOfSamples(PrimBuilder &b, const BinSamples &s, Dim extent);

/// The pixels that each bin of each region covers in its image of x ([N, C, H, W]), times the
/// weights of their line and column, combined: [R, C, bins of y, bins of w]. A bin of no pixels
/// has what changes nothing.
mlir::Value combinePixels(PrimBuilder &b, mlir::Value x, mlir::Value images, const Band &y,
                          const Band &w, prim::ScatterKind kind);

/// The sum of the samples of each bin, or the largest of their weighted pixels, likewise.
mlir::Value combineSamples(PrimBuilder &b, mlir::Value x, mlir::Value images, const BinSamples &y,
                           const BinSamples &w, prim::ReduceKind kind);

} // namespace tcc
