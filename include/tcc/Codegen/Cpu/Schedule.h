//===- Schedule.h - Tile sizes of contractions ------------------*- C++ -*-===//
//
// The one place that decides tile sizes, from the CPU record and the shape; panel
// widths and register tiles are in Target/WeightPanels.h, which layout sees as well.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Target/Cpu.h"
#include <cstdint>
#include <optional>

namespace tcc::codegen {

/// How B lies in memory.
enum class PanelLayout {
  Packed,     ///< [ceil(N / nr)][K][nr], zero-padded: weights, packed at compile time
  RowMajor,   ///< [K][N]
  Transposed, ///< [N][K]: repacked by each task
};

/// What a schedule may depend on; an unknown extent is -1.
struct ContractionShape {
  int64_t m = -1, n = -1, k = -1;
  unsigned accBits = 32; ///< accumulator element
  PanelLayout b = PanelLayout::Packed;
  bool packsA = false; ///< A is generated or converted into scratch, not read in place
};

/// The same for a convolution; extents of one group.
struct ConvShape {
  int64_t pixels = -1;      ///< of all output images
  int64_t imagePixels = -1; ///< of one, which is assumed where their number is unknown
  int64_t groups = 1, channels = 1, filters = 1;
  int64_t taps = 1;        ///< positions of the filter
  int64_t inputPixels = 1; ///< new ones with each output pixel: the product of the strides
  unsigned accBits = 32;
  bool gathers = false; ///< rows are copied into scratch and not read through pointers
};

struct ContractionSchedule {
  unsigned lanes = 4;          ///< accumulator elements in a vector register
  unsigned vectors = 2;        ///< vectors a row of the register tile: a panel's width
  unsigned rows = 6;           ///< rows of the register tile
  unsigned unroll = 4;         ///< of k
  int64_t tilesPerTask = 1;    ///< register tiles along m in a task
  int64_t panelsPerTask = 1;   ///< panels along n in a task
  int64_t kBlock = 0;          ///< k is cut into blocks of it; 0: not cut
  bool packsA = false;         ///< the rows of a tile are copied before use
  bool packsB = false;         ///< panels are copied before use (B is not packed)
  bool inlineEpilogue = false; ///< write the epilogue out for every vector of the tile

  unsigned panelWidth() const { return lanes * vectors; }
};

/// A 3x3 convolution in tiles of 2x2 outputs; an unknown number of tiles is -1.
struct WinogradShape {
  int64_t tiles = -1, channels = 1, filters = 1;
  int64_t imageTiles = -1; ///< of one image, which is assumed where their number is unknown
};

struct WinogradSchedule {
  unsigned lanes = 4, vectors = 2; ///< of a panel
  unsigned rows = 6;               ///< tiles in a register tile
  int64_t tilesPerTask = 1;        ///< register tiles in a task
  int64_t panelsPerTask = 1;

  unsigned panelWidth() const { return lanes * vectors; }
};

WinogradSchedule chooseWinograd(const CpuTarget &cpu, const WinogradShape &shape);
ContractionSchedule chooseConv(const CpuTarget &cpu, const ConvShape &shape);
ContractionSchedule chooseContraction(const CpuTarget &cpu, const ContractionShape &shape);

} // namespace tcc::codegen
