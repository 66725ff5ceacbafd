//===- Fourier.h - Discrete Fourier transforms -------------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"
#include "tcc/Support/WeightTable.h"

namespace tcc {

/// Complex numbers as two real tensors of one shape; `im` is null where all
/// imaginary parts are 0.
struct ComplexParts {
  mlir::Value re, im;
};

/// X[k] = sum over j of z[j] exp(-2 pi i j k / n) along `axis`, for the first
/// `count` k. `inverse`: with the other sign, divided by n. Element type f32 or f64.
ComplexParts fourier(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t axis,
                     bool inverse, Dim count);

/// prim.fourier where n is known: times `scale`, not divided; the first `count` results, which
/// of a real z may be n / 2 + 1.
ComplexParts fourierLines(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t count, bool inverse,
                          double scale = 1);
/// The n real numbers whose n / 2 + 1 first results z are, likewise; n is known.
mlir::Value realFourierLines(PrimBuilder &b, ComplexParts z, int64_t axis, int64_t n, bool inverse,
                             double scale = 1);

/// The same along the last axis by products with matrices of roots. `z` may be real, and n
/// unknown.
ComplexParts fourierProducts(PrimBuilder &b, WeightTable &weights, ComplexParts z, bool inverse,
                             Dim count);
/// As realFourierLines, along the last axis.
mlir::Value realFourierProducts(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t n,
                                bool inverse);
/// The longest product of them: its matrix is at most 4 MB.
inline constexpr int64_t kLongestProduct = 512;
/// Constants of shape `shape` in the weights, of element type f32 or f64.
mlir::Value fourierConstants(PrimBuilder &b, WeightTable &weights, mlir::Type element,
                             llvm::StringRef hint, llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<double> values);
/// As fourierLines, by a convolution of 2n - 1 numbers or more along the axis (Bluestein).
ComplexParts fourierConvolution(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t axis,
                                int64_t count, bool inverse, double scale);
/// What is between two steps along axes of extents p and q: w_(p q)^(i j) for i < rows, [rows, q].
ComplexParts fourierTwiddles(PrimBuilder &b, WeightTable &weights, mlir::Type element, int64_t rows,
                             int64_t p, int64_t q, bool inverse);

} // namespace tcc
