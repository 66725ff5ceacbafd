//===- GridSample.h - Images read along a grid of positions ------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

struct GridOptions {
  enum Mode { Nearest, Linear, Cubic } mode = Linear;
  enum Padding { Zeros, Border, Reflection } padding = Zeros;
  bool alignCorners = false;
  bool mirrorsFirst = false; ///< then rounds, where halves that are mirrored are other halves
};

/// x [N, C, spatial...] read at the positions of `grid` [N, places..., axes] in [-1, 1]:
/// [N, C, places...]. Null, with a fault, when they differ in rank.
mlir::Value gridSample(PrimBuilder &b, mlir::Value x, mlir::Value grid, const GridOptions &o);

/// The gradients of x and of the grid where `g` is that of the result; of the grid null where its
/// mode has no slope.
struct GridGradients {
  mlir::Value x, grid;
};
GridGradients gridSampleGradients(PrimBuilder &b, mlir::Value g, mlir::Value x, mlir::Value grid,
                                  const GridOptions &o);

} // namespace tcc
