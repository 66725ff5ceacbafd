//===- OpenConv.h - Convolutions whose filters only a run knows --*- C++ -*-===//
#pragma once
#include "Decompose/Idioms/TransposedConv.h"

namespace tcc {

/// A convolution by filters of any extents, in any number of groups.
struct OpenConv {
  mlir::Value x, weight; ///< [N, C, extents...], [M, C / groups, k...] or, transposed, [C, M / ..]
  Dim groups;
  llvm::SmallVector<int64_t> strides, dilations;
  Dims low = {}, high = {}, extra = {}; ///< padding, and, transposed, how much longer the result is
  bool transposed = false;
};

/// Whether prim.conv has no form for it, whose window and groups are constants.
bool isOpenConv(PrimBuilder &b, mlir::Value weight, Dim groups, bool transposed);

/// Sums of `elementType`, and what they become; a fault, or a check of the run, where operands do
/// not fit together.
mlir::Value openConv(PrimBuilder &b, const OpenConv &o, mlir::Type elementType, const ConvEnd &end);
/// The gradient of the filters of `o`, whose result's gradient is `g`.
mlir::Value openFilterGradient(PrimBuilder &b, const OpenConv &o, mlir::Value g,
                               mlir::Type elementType);

} // namespace tcc
