//===- Window.h - Sliding windows as ONNX states them ------------*- C++ -*-===//
//
// Convolutions and pools share kernel_shape, strides, dilations, pads and
// auto_pad. Paddings that depend on an extent which is not known (auto_pad SAME
// with a stride) are applied by prim.pad; all others go into the operator.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

struct OnnxWindow {
  PrimBuilder::Window window; ///< low and high: what the operator applies itself
  Dims low, high;             ///< the whole padding
  bool explicitPad = false;   ///< low and high are not constants: use prim.pad

  int64_t axes() const { return window.window.size(); }
};

/// Reads the attributes for `spatial` axes of x ([N, C, ...]) with these kernel
/// extents.
mlir::FailureOr<OnnxWindow> onnxWindow(NodeContext &c, mlir::Value x,
                                       llvm::ArrayRef<int64_t> kernel);
/// auto_pad SAME, before and after an axis: as much as gives ceil(extent / stride) windows that
/// cover `span` elements.
std::pair<Dim, Dim> samePadding(PrimBuilder &b, Dim extent, Dim span, int64_t stride, bool upper);
/// x with the padding that the operator cannot apply, filled with `value`.
mlir::Value padForWindow(PrimBuilder &b, mlir::Value x, const OnnxWindow &w, mlir::Value value);
/// Kernel extents of a weight [O, I, ...], by its type or by `kernel_shape`, which the
/// weight then has in its type.
mlir::FailureOr<llvm::SmallVector<int64_t>> kernelOf(NodeContext &c, mlir::Value &weight);
/// Whether x ([N, C, ...]) has the channels that `weight` takes in so many groups, and its filters
/// split into them.
llvm::LogicalResult checkChannels(NodeContext &c, mlir::Value x, mlir::Value weight, int64_t groups,
                                  bool transposed);
/// The window of a convolution of x by `weight`, which kernelOf gives its extents, with channels
/// that fit.
mlir::FailureOr<OnnxWindow> convolutionWindow(NodeContext &c, mlir::Value x, mlir::Value &weight,
                                              int64_t groups);

/// Convolution of x by w with the padding of `window`; `zero`, when given, is
/// the value of points outside x.
mlir::Value convolve(PrimBuilder &b, mlir::Value x, mlir::Value w, const OnnxWindow &window,
                     int64_t groups, mlir::Type elementType, mlir::Value zero = {});

/// [N, spatial.., C] as [N, C, spatial..], and back.
mlir::Value channelsFirst(PrimBuilder &b, mlir::Value x);
mlir::Value channelsLast(PrimBuilder &b, mlir::Value x);

} // namespace tcc
