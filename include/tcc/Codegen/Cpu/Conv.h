//===- Conv.h - Convolutions on the CPU -------------------------*- C++ -*-===//
//
// Emits channels-last convolutions of one to three spatial dimensions as tasks, in
// the form of a matrix product whose rows are output pixels (all images, row by
// row) and whose columns are output channels: the same tile loop and the same
// epilogue contract as Contraction.h, where `m` is the pixel's number and `n` the
// channel. An output that is channels-last itself has the element at
// m * (groups * filters) + n. Weights are packed by layout (Dialect/Cpu/WeightPanels.h)
// with k running over filter depth, height, width, then the group's channels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Contraction.h"
#include <variant>

namespace tcc::codegen {

/// One spatial dimension. A 2-d convolution leaves depth as it is here, a 1-d one
/// depth and height.
struct ConvDim {
  Index input, output; ///< extents
  Index padBefore;     ///< rows of padding before the first
  int64_t kernel = 1, stride = 1, dilation = 1;
};

/// In register tiles, or in tiles of 2x2 outputs, or by lines where groups are narrow.
using ConvSchedule = std::variant<ContractionSchedule, WinogradSchedule, LineSchedule>;

struct ConvSpec {
  CpuTarget cpu;
  Index batch;
  ConvDim dims[3];                               ///< depth, height, width
  int64_t groups = 1, channels = 1, filters = 1; ///< channels and filters of one group

  /// As prim::presentTaps: of each of as many runs of a group's filters, a bit a tap.
  llvm::SmallVector<int64_t> presentTaps = {};

  mlir::Type inputElement, weightElement, acc;
  bool inputUnsigned = false, weightUnsigned = false;
  int64_t zero = 0;    ///< each byte of the input counts less that
  mlir::Value input;   ///< element (n, d, h, w, c) at the strides below, c contiguous
  Index imageStride;   ///< elements from image to image
  Index strides[3];    ///< of depth, height, width
  bool dense = false;  ///< pixels lie one after the other, images too
  mlir::Value weights; ///< packed panels
  std::optional<int64_t> panelWidth = {}; ///< of the panels, if known
  DotSteps steps = {};                    ///< of k that they hold
  bool winograd = false; ///< they are transformed (Dialect/Cpu/Winograd.h); f32, zero padding

  ConvSchedule schedule;
};

/// Ways to compute `spec`, the one that should be fastest first: all that is in it but its
/// schedule decides. With `variations`, also some that the time model does not weigh.
llvm::SmallVector<ConvSchedule> rankConvSchedules(KernelBuilder &k, const ConvSpec &spec,
                                                  bool variations = false);

/// Fills the strides of a densely stored channels-last input; call after `dims`,
/// `groups` and `channels` are set.
void setDenseStrides(KernelBuilder &k, ConvSpec &spec);

Index emitConvTaskCount(mlir::OpBuilder &builder, mlir::Location loc, const ConvSpec &spec);

void emitConvTasks(mlir::OpBuilder &builder, mlir::Location loc, const ConvSpec &spec,
                   mlir::Value begin, mlir::Value end, EpilogueFn epilogue);

} // namespace tcc::codegen
