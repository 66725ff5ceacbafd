//===- DeformableConv.h - Convolutions with taps moved by data ---*- C++ -*-===//
//
// Every tap of every position is displaced, and weighted, by data. The taps are
// read into columns [N, groups, C / g * kernel, positions], then a product.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

struct DeformableConv {
  mlir::Value x, weight, offset;
  mlir::Value bias{}, mask{}; ///< or null
  llvm::SmallVector<int64_t> kernel{}, strides{}, dilations{};
  Dims low{}, high{}; ///< padding before and after each spatial axis
  int64_t groups = 1;
  int64_t sets = 1; ///< of offsets, each for as many channels
};

/// The result in the type of x; null, with a fault, when the operands do not fit together.
mlir::Value deformableConv(PrimBuilder &b, const DeformableConv &o);

} // namespace tcc
