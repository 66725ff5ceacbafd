//===- ZeroPoint.h - What a convolution takes off its input -----*- C++ -*-===//
//
// Each byte of the input counts less ConvSpec::zero. Products of steps leave that to the column
// sums behind their panels (DotSteps), and fill the border of the image with the byte that is
// nothing. Single elements are widened before they are multiplied, and take it off there.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/Conv.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

/// The element of the input that is nothing.
mlir::Value zeroOf(KernelBuilder &k, const ConvSpec &spec);
/// Elements of the input, a vector or one, as `element`: as they are, or sums of products, less
/// that.
mlir::Value widened(KernelBuilder &k, const ConvSpec &spec, mlir::Value x, mlir::Type element);

} // namespace tcc::codegen
