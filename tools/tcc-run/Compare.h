//===- Compare.h - Outputs against what they should be ----------*- C++ -*-===//
#pragma once
#include "Array.h"

namespace tcc::run {

/// As ONNX's backend runner and numpy.testing.assert_allclose have it: type and
/// shape are equal, and |got - expected| <= atol + rtol * |expected| for each
/// element; NaN equals NaN, infinities equal themselves. Booleans are exact, and
/// of integers only atol counts: a token 50000 is not nearly 50001.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
};

struct Comparison {
  bool matches = true;
  std::string problem; ///< says what differs, with the worst element
};

Comparison compare(const Array &expected, const DLTensor &got, Tolerance tolerance);

} // namespace tcc::run
