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

/// [0, 2, .., rank - 1, 1].
llvm::SmallVector<int64_t> channelsToLast(int64_t rank);

/// What a broadcast repeats along an axis that `x` has not; `axes` are those of `x` in the result.
struct Repeated {
  mlir::Value x;
  llvm::SmallVector<int64_t> axes;
};

/// What `op` repeats, behind a reshape that gives it an axis of one element for that.
std::optional<Repeated> repeatedBy(prim::BroadcastOp op);

/// Pixels that are joined and get an axis for the next repetition at once are joined first.
void joinBeforeRepeating(mlir::Block &block, mlir::OpBuilder &b);

/// Whether `x` reaches a convolution, a pool or something that is channels last (`isLast`), through
/// operators that keep the layout, or a transpose to that, while none but these read it. Others are
/// the model's own wish: the tokens of a vision transformer come as [N, C, T] and are meant to be
/// [N, T, C], for norms of rows and products, also where they go back to [N, C, T] in the end.
bool reachesChannelsLast(mlir::Value x, llvm::function_ref<bool(mlir::Value)> isLast);

/// Which convolutions with a filter for each channel may leave channels as planes.
struct PlanesLimits {
  int64_t shortestLine = 0; ///< of results, in 32 bits, of windows of few taps; 0: none
  int64_t mostProducts = 0; ///< with so few multiplications, in all; 0: none
};

/// Whether `op` has a filter for each channel and these limits let pixels lie beside each other.
bool isConvolutionOfPlanes(prim::ConvOp op, const PlanesLimits &limits);

/// Whether nothing around `op`, which is such a convolution, wants channels last.
bool staysInPlanes(prim::ConvOp op, const PlanesLimits &limits);

} // namespace tcc
