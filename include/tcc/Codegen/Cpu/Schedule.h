//===- Schedule.h - Tile sizes of products ----------------------*- C++ -*-===//
//
// The time model behind the schedules of products on CPUs: from the CPU record and the
// shape to ranked tile sizes. Panel widths and register tiles are in
// Dialect/Cpu/WeightPanels.h, which layout sees as well. ScheduleModel.h asks it once for each
// launch and records the answer there; the templates are given what was recorded.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Target/Cpu.h"
#include <cstdint>
#include <optional>

namespace tcc::codegen {

using cpu::OperandAccess;

/// How B lies in memory.
enum class PanelLayout {
  Packed,     ///< [ceil(N / nr)][K][nr], zero-padded: weights, packed at compile time
  RowMajor,   ///< [K][N]
  Transposed, ///< [N][K]: repacked by each task, or multiplied in place (DotTile.h)
};

/// What a schedule may depend on; an unknown extent is -1.
struct ContractionShape {
  int64_t m = -1, n = -1, k = -1;
  unsigned accBits = 32; ///< accumulator element
  PanelLayout b = PanelLayout::Packed;
  std::optional<int64_t> panelWidth = {}; ///< of B, where that came packed
  bool copiesA = false;                   ///< A's elements are no neighbours along k
  bool alongRows = false;                 ///< but those of a step are, and are read as they lie
  int64_t rowBytes = 0;              ///< between rows of a B that is read as it lies; 0: not known
  bool inPairs = false;              ///< of bf16, which copies of B bring beside each other
  bool matrixTiles = false;          ///< the matrix unit can multiply them
  bool alongK = false;               ///< lanes of floats can be neighbours in k
  bool splitsLines = false;          ///< whose vectors lie across lines of the cache
  int64_t entries = 1;               ///< products of this shape that run beside each other
  std::optional<int64_t> group = {}; ///< k of one scale, of a packed B of integers
};

/// The input lines under a line of outputs, in elements.
struct LineCopies {
  int64_t lines = 1; ///< positions of the filter along all axes but the last
  int64_t taps = 1;  ///< along the last axis
  int64_t channels = 1, stride = 1, dilation = 1;
  int64_t groups = 1; ///< of so many channels

  int64_t pixelElements() const { return channels * groups; }
  /// Whether neighbouring taps are neighbours in a copy.
  bool joinsTaps() const { return dilation == 1 && groups == 1; }
  /// Neighbours in a copy that are multiplied by neighbours in k.
  int64_t run() const { return joinsTaps() ? taps * channels : channels; }
  /// What `pixels` outputs read of one line.
  int64_t length(int64_t pixels) const {
    return ((pixels - 1) * stride + (taps - 1) * dilation + 1) * pixelElements();
  }
};

/// The same for a convolution; extents of one group.
struct ConvShape {
  int64_t pixels = -1;      ///< of all output images
  int64_t imagePixels = -1; ///< of one, which is assumed where their number is unknown
  int64_t groups = 1, channels = 1, filters = 1;
  int64_t taps = 1;        ///< positions of the filter
  int64_t inputPixels = 1; ///< new ones with each output pixel: the product of the strides
  unsigned accBits = 32;
  std::optional<int64_t> panelWidth = {}; ///< of the weights
  /// Copied: the input lines of a task, padded; Gathered: what lies under each pixel's filter.
  OperandAccess a = OperandAccess::Pointers;
  int64_t linePixels = -1;               ///< of a line of outputs
  std::optional<unsigned> tileRows = {}; ///< of a register tile; none: as usual
  LineCopies copies = {};                ///< if lines are
};

/// #cpu.contraction_schedule as numbers to compute with.
struct ContractionSchedule {
  unsigned lanes = 4;        ///< accumulator elements in a vector register
  unsigned vectors = 2;      ///< vectors a row of the register tile: a panel's width
  unsigned rows = 6;         ///< rows of the register tile
  unsigned unroll = 4;       ///< of k
  int64_t tilesPerTask = 1;  ///< register tiles along m in a task
  int64_t panelsPerTask = 1; ///< panels along n in a task
  int64_t kBlock = 0;        ///< k is cut into blocks of it; 0: not cut
  OperandAccess a = OperandAccess::InPlace;
  OperandAccess b = OperandAccess::InPlace; ///< Copied: panels are packed before use
  unsigned stepBytes = 1;                   ///< 8-bit elements that are multiplied at once
  bool matrixTiles = false;                 ///< by the matrix unit (MatrixTile.h)
  bool inlineEpilogue = false;              ///< write the epilogue out for every vector of the tile
  /// Multiply-adds that are worth a thread; none: a task is.
  std::optional<int64_t> grainProducts = {};
  /// Given where only a run knows the number of tiles: a task may have as few, see taskTiles().
  std::optional<int64_t> leastTiles = {};
  bool singleTile = false; ///< a run has no more rows than a tile

  unsigned panelWidth() const { return lanes * vectors; }
  bool packsA() const { return a == OperandAccess::Copied; }
  bool packsB() const { return b == OperandAccess::Copied; }
};

/// How many packed panels of a task the only register tile of its rows lies across: memory gives
/// more of a few streams than of one, and sums wait less for themselves. 1: one after the other.
unsigned panelsBeside(const CpuTarget &cpu, const ContractionSchedule &schedule,
                      bool grouped = false);

/// Whether all tiles of a task are multiplied by a panel before the next one comes: what of a task
/// stays in L2 is the inner loop, which are its panels otherwise.
bool goesPanelByPanel(const CpuTarget &cpu, PanelLayout b, const ContractionSchedule &schedule,
                      int64_t k, unsigned accBits);

/// A 3x3 convolution in tiles of 2x2 outputs; an unknown number of tiles is -1.
struct WinogradShape {
  int64_t tiles = -1, channels = 1, filters = 1;
  int64_t imageTiles = -1; ///< of one image, which is assumed where their number is unknown
  std::optional<int64_t> panelWidth = {}; ///< of the weights
  int64_t groups = 1;                     ///< of as many channels and filters
};

/// #cpu.winograd_schedule as numbers to compute with.
struct WinogradSchedule {
  unsigned lanes = 4, vectors = 2; ///< of a panel
  unsigned rows = 6;               ///< tiles in a register tile
  int64_t tilesPerTask = 1;        ///< register tiles in a task
  int64_t panelsPerTask = 1;
  std::optional<int64_t> leastTiles = {}; ///< as of ContractionSchedule

  unsigned panelWidth() const { return lanes * vectors; }
};

/// #cpu.line_schedule as numbers to compute with.
struct LineSchedule {
  unsigned lanes = 4;  ///< output channels in a vector
  unsigned pixels = 6; ///< output pixels of a tile
  int64_t vectorsPerTask = 1;
};

/// Schedules for a shape, the one that the model takes for the fastest first; none where the
/// weights' panels do not fit the target's registers. With
/// `variations`, also some that differ in what the model does not weigh.
llvm::SmallVector<ContractionSchedule>
rankContraction(const CpuTarget &cpu, const ContractionShape &shape, bool variations = false);
/// None either where not even the lines under one tile can be copied, if they are to be.
llvm::SmallVector<ContractionSchedule> rankConv(const CpuTarget &cpu, const ConvShape &shape,
                                                bool variations = false);
llvm::SmallVector<WinogradSchedule> rankWinograd(const CpuTarget &cpu, const WinogradShape &shape);

// Between the numbers and what a launch records.
kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const ContractionSchedule &schedule);
kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const WinogradSchedule &schedule);
kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const LineSchedule &schedule);
ContractionSchedule numbersOf(cpu::ContractionScheduleAttr attr);
WinogradSchedule numbersOf(cpu::WinogradScheduleAttr attr);
LineSchedule numbersOf(cpu::LineScheduleAttr attr);

} // namespace tcc::codegen
