//===- TransposedConv.h - Transposed convolutions as plain ones --*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// The convolution of x, widened by `window.inputDilation`, with w, made of one
/// convolution of x itself; nullopt where that is not possible.
std::optional<mlir::Value> convByPhases(PrimBuilder &b, mlir::Value x, mlir::Value w,
                                        const PrimBuilder::Window &window, int64_t groups,
                                        mlir::Type elementType);

/// [C, M/g, k...] as the weight of the convolution that it transposes: [M, C/g, k...], mirrored.
mlir::Value transposedWeight(PrimBuilder &b, mlir::Value w, int64_t groups);

} // namespace tcc
