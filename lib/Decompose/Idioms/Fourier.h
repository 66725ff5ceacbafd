//===- Fourier.h - Discrete Fourier transforms as products -------*- C++ -*-===//
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

} // namespace tcc
