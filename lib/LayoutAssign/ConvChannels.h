//===- ConvChannels.h - Channels as matrix units read them -------*- C++ -*-===//
//
// Internal to lib/LayoutAssign: how many channels a convolution on matrix units should have, so
// that whole accesses read them, and its input with as many (KMajorWeights.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

constexpr int64_t kFewChannels = 4; ///< images have fewer

/// Operands that some matrix unit multiplies.
bool isForMatrixUnits(mlir::Type x, mlir::Type w);
/// The transpose that puts the channels of a convolution's input last; null where it has none.
prim::TransposeOp turnOf(prim::ConvOp op);
/// How many neighbouring groups become one.
int64_t groupsTogether(prim::ConvOp op);
/// Channels that the one group of a convolution should have so that whole accesses read them: the
/// `channels` that it has, unless its input is copied anyway.
int64_t wholeChannels(prim::ConvOp op, int64_t channels);
/// The input of a convolution with zeros for the channels that it lacks. `turn`: what puts them
/// last, so that both are one copy; or null.
mlir::Value withChannels(prim::ConvOp op, int64_t channels, prim::TransposeOp turn = {});

} // namespace tcc
