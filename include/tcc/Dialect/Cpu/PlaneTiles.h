//===- PlaneTiles.h - Convolutions whose lanes are pixels -------*- C++ -*-===//
//
// A vector of filters has as many lanes as there are: of 17 filters, or of 5 in each group, most of
// the last one is computed for nothing, and input and result are turned to channels last for it.
// Here channels stay planes. A task copies the lines of its input that a block of output lines
// reads, with zeros where they leave the image, and those that strides tell apart each to a plane
// of its own: every tap of every pixel is then a constant away from the first one. Register tiles
// are filters by vectors of pixels, which run on from line to line across the ends of the copied
// lines; what is computed there is not stored.
//
// Layout decides for them (prefersPlaneTiles) and leaves the convolution's channels first; the
// schedule records the cut (planeCut).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Target/Cpu.h"

namespace tcc {

/// One spatial axis of a convolution in planes.
struct PlaneAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, low = 0;
  bool open = false; ///< a run tells the extents; these are what they are taken for

  /// Where a tap lies: in which plane of those that the stride tells apart, and how far in it.
  int64_t plane(int64_t tap) const;
  int64_t shift(int64_t tap) const { return tap * dilation / stride; }
  /// The remainders by the stride that taps have, one for each plane.
  llvm::SmallVector<int64_t, 4> planes() const;
  /// What `outputs` neighbours read of each plane.
  int64_t length(int64_t outputs) const { return outputs + shift(kernel - 1); }
};

/// A convolution; channels and filters are those of a group.
struct PlaneConv {
  int64_t batch = 1; ///< of an open one, what is assumed
  int64_t groups = 1, channels = 1, filters = 1;
  PlaneAxis axes[3]; ///< depth, height, width

  bool isDepthwise() const { return groups > 1 && channels == 1 && filters == 1; }
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  /// Whether only a run knows the lines of a plane, or how long they are.
  bool hasOpenPlanes() const { return axes[1].open || axes[2].open; }
};

/// A task: `columns` of each of `lines` neighbouring output lines, by all filters of a group. A
/// register tile has at most `rows` filters by `vectors` vectors of pixels; `channels` are copied
/// at a time. Of open planes a run chooses lines and columns for which there is as much room.
struct PlaneCut {
  int64_t lanes = 16, rows = 8, vectors = 3, lines = 1, columns = 1, channels = 1;

  /// Elements from one copied line to the next. Of one line of outputs none runs on into another,
  /// and copies are written in whole lines of the cache.
  int64_t lineStride(const PlaneConv &conv) const {
    int64_t length = conv.axes[2].length(columns);
    return lines == 1 ? (length + lanes - 1) / lanes * lanes : length;
  }
  /// Elements of a copied plane, with room for a vector behind it.
  int64_t planeStride(const PlaneConv &conv) const;
  /// Of all planes of a channel.
  int64_t channelStride(const PlaneConv &conv) const;
  /// Pixels of a task, with those that are not stored.
  int64_t pixels(const PlaneConv &conv) const { return (lines - 1) * lineStride(conv) + columns; }
  /// The same in whole vectors: what a filter's sums take.
  int64_t sumStride(const PlaneConv &conv) const;
  /// Whether a register tile's filters pass over all pixels of the task, and are stored before the
  /// next ones: all channels are copied at once, and copies stay in the nearest cache. Otherwise
  /// pixels pass over all filters, whose sums wait.
  bool storesTiles(const CpuTarget &cpu, const PlaneConv &conv) const;
  /// Filters whose sums wait to be stored.
  int64_t waitingFilters(const CpuTarget &cpu, const PlaneConv &conv) const {
    return storesTiles(cpu, conv) ? rows : conv.filters;
  }
};

/// What such a kernel can compute: f32, channels first, known channels.
std::optional<PlaneConv> planeConv(prim::ConvOp op);

/// Null where not even one line of one channel fits the scratch memory.
std::optional<PlaneCut> planeCut(const CpuTarget &cpu, const PlaneConv &conv);

/// Whether that is predicted to be faster than channels last, where `steps` neighbours are
/// multiplied at once.
bool prefersPlaneTiles(const CpuTarget &cpu, prim::ConvOp op, int64_t steps = 1);

/// Whether the filters of a convolution are no constants of the model.
bool comesAtRunTime(mlir::Value filters);

/// Cycles of a core in planes; none where no kernel can.
std::optional<double> planeTileCycles(const CpuTarget &cpu, prim::ConvOp op);

/// The mark of a convolution that layout leaves in planes, for passes of the same phase.
inline constexpr llvm::StringLiteral kInPlanes = "cpu.in_planes";

} // namespace tcc
