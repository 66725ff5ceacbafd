//===- Planes.h - Convolutions that may leave channels as planes -*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// What an operator that is met says of the layout of its neighbours.
enum class Met {
  Stops,   ///< it wants channels last
  Ends,    ///< nothing: its other operands and results have a layout of their own
  Follows, ///< its operands and results have one layout
};

/// Whether nothing that `op` meets, through operators that follow, stops it.
bool meetsPlanesOnly(prim::ConvOp op, llvm::function_ref<Met(mlir::Operation *)> meets);

/// Whether `op` has a filter for each channel, of few taps, and lines of at least `shortestLine`
/// results: its lanes may be pixels as well as channels.
bool isConvolutionOfPlanes(prim::ConvOp op, int64_t shortestLine);

/// Whether nothing around `op`, which is such a convolution, wants channels last.
bool staysInPlanes(prim::ConvOp op, int64_t shortestLine);

} // namespace tcc
