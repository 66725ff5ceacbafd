//===- Unique.h - Distinct elements, from primitives -------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// The distinct elements or rows, where each appears first, which one each input is,
/// and how often it appears.
struct Distinct {
  mlir::Value values, first, inverse, counts;
};

/// The distinct elements of a rank-1 tensor, or rows of a rank-2 one.
/// `nanIsOne`: NaN equals itself, as in ONNX; in torch every NaN is another element.
Distinct distinct(PrimBuilder &b, mlir::Value x, bool sorted, bool nanIsOne = true);

/// The same of runs of equal neighbours: an element counts again after another one.
/// `x` is of rank 1, or rows of any known or unknown width.
Distinct runs(PrimBuilder &b, mlir::Value x);

} // namespace tcc
