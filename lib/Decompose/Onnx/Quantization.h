//===- Quantization.h - Affine quantisation ----------------------*- C++ -*-===//
//
// real = (quantised - zero) * scale. Scale and zero point are scalars, vectors
// along an axis, or tensors with one entry a block of an axis.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// round(x / scale) + zero within the range of `to`; a null scale is 1, a null zero 0.
mlir::Value quantize(PrimBuilder &b, mlir::Value x, mlir::Value scale, mlir::Value zero,
                     mlir::Type to, bool saturate = true);
/// (x - zero) * scale in f32; `zero` may be null.
mlir::Value dequantize(PrimBuilder &b, mlir::Value x, mlir::Value scale, mlir::Value zero);
/// A parameter as it broadcasts against x: a one-element vector as a scalar, a
/// vector along `axis`, blocks of `block` repeated.
mlir::FailureOr<mlir::Value> spreadParameter(NodeContext &c, mlir::Value parameter, mlir::Value x,
                                             int64_t axis, int64_t block = 0);
/// One-element parameters in operands i (scale) and i + 1 (zero point), dequantised x.
mlir::FailureOr<mlir::Value> dequantized(NodeContext &c, mlir::Value x, size_t i, int64_t axis = 1);
/// x quantised by operands i (scale) and i + 1 (zero point, ui8 0 when absent).
mlir::FailureOr<mlir::Value> quantized(NodeContext &c, mlir::Value x, size_t i,
                                       mlir::Type otherwise);

/// The product of integer matrices less their zero points (null, scalars, or
/// vectors along rows of x and columns of y), exact in i32.
mlir::Value integerProduct(PrimBuilder &b, mlir::Value x, mlir::Value y, mlir::Value xZero,
                           mlir::Value yZero);

struct Quantized {
  mlir::Value value, scale, zero;
};
/// x as ui8 by its own range (ONNX DynamicQuantizeLinear).
Quantized quantizeDynamically(PrimBuilder &b, mlir::Value x);
/// Bytes of 2-, 4- or 8-bit numbers, the low bits first: [.., bytes] as [.., bytes * numbers].
mlir::Value unpackedBits(PrimBuilder &b, mlir::Value packed, int64_t bits);

} // namespace tcc
