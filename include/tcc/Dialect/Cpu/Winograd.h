//===- Winograd.h - 3x3 convolutions with fewer multiplications -*- C++ -*-===//
//
// Winograd's F(2x2, 3x3) computes a tile of 2x2 outputs from 4x4 inputs with 16
// multiplications a channel instead of 36: both the input tile and the weights are
// transformed to 16 points, the points are 16 independent matrix products over the
// channels, and their results are transformed back. Layout decides here and packs the
// transformed weights, codegen reads them (docs/Rationale/winograd.md has the figures).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Cpu/WeightPanels.h"

namespace tcc {

/// Outputs of a tile along one axis, and points of a tile.
inline constexpr int64_t kWinogradOutputs = 2, kWinogradPoints = 16;

/// A 3x3 convolution of stride and dilation 1. Unknown extents are -1.
struct WinogradExtents {
  int64_t batch = -1, height = -1, width = -1; ///< of the output
  int64_t channels = 1, filters = 1;           ///< of a group
  int64_t planeBytes = 0; ///< of a plane of the result, where it becomes planes; 0: it does not
  int64_t groups = 1;
};

/// Bytes of scratch that a task may use: half of L2, and a part of a thread's stack.
int64_t winogradScratch(const CpuTarget &cpu);
/// What each of its tiles takes of that: its inputs, and its sums for one panel.
int64_t winogradTileBytes(int64_t channels, int64_t panelWidth);

/// Widths of panels that the weights may have, the best one first: each is of one group.
llvm::SmallVector<int64_t, 4> winogradWidths(const CpuTarget &cpu, const WinogradExtents &extents);
/// Whether a register tile's share of the scratch suffices, and channels outweigh the transforms.
bool fitsWinograd(const CpuTarget &cpu, const WinogradExtents &extents);
/// Whether the tiles are computed sooner than the convolution itself.
bool prefersWinograd(const CpuTarget &cpu, const WinogradExtents &extents);

/// Transformed weights as panels: groups = panels of `width` columns of all filters, panels =
/// points, k = channels of a group.
PanelShape winogradPanels(int64_t width, int64_t filters, int64_t channels);

/// Transforms weights [filters][channels][3][3] into panels [firstPanel, endPanel) of that shape;
/// `packed` is where the first of them goes.
void packWinograd(const float *weights, int64_t filters, const PanelShape &shape,
                  int64_t firstPanel, int64_t endPanel, float *packed);
/// And back, but for what two roundings change.
void unpackWinograd(const float *packed, int64_t filters, const PanelShape &shape, float *weights);

} // namespace tcc
