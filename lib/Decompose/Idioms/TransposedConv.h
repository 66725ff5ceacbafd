//===- TransposedConv.h - Transposed convolutions as plain ones --*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// What a convolution's sums become.
struct ConvEnd {
  mlir::Value bias;   ///< of the sums' type, [M]; null: none
  mlir::Type element; ///< to which they are narrowed; null: they are not
};

/// The convolution of x, widened by `window.inputDilation`, with w, made of one
/// convolution of x itself; nullopt where that is not possible.
std::optional<mlir::Value> convByPhases(PrimBuilder &b, mlir::Value x, mlir::Value w,
                                        const PrimBuilder::Window &window, int64_t groups,
                                        mlir::Type elementType, const ConvEnd &end = {});

/// The same, or that of zeros between x's elements: sums of `elementType`, and what they become.
mlir::Value widenedConv(PrimBuilder &b, mlir::Value x, mlir::Value w,
                        const PrimBuilder::Window &window, int64_t groups, mlir::Type elementType,
                        const ConvEnd &end);

/// [C, M/g, k...] as the weight of the convolution that it transposes: [M, C/g, k...], mirrored.
mlir::Value transposedWeight(PrimBuilder &b, mlir::Value w, int64_t groups);

} // namespace tcc
