//===- Agreement.h - Whether two tensors hold the same numbers ---*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"

namespace tcc {

/// How far compiled values are from the reference.
struct Agreement {
  bool agrees = true;
  double maxAbsolute = 0;
  double maxRelative = 0; ///< to the reference or, where that is small, to its root mean square
  std::string worst;      ///< "[0, 3]: 1.5 instead of 2", or how the shapes differ

  void include(const Agreement &other);
  std::string errors() const; ///< "error 1e-07 absolute, 3e-06 relative"
};

/// How far floats may be apart: |got - want| <= ofValue |want| + ofSize rms(want), and
/// rms(got - want) <= together rms(want).
struct Allowance {
  double ofValue = 0, ofSize = 0, together = 0;

  /// Values of `type`, computed in it or wider: r, r/10 and 2 r, with r = 1e-3 for f32, 1e-8 for
  /// f64, 1e-2 for f16, 5e-2 for bf16, a quarter for 8 bits and fewer.
  static Allowance of(DType type);
  /// Results of products whose operands are rounded to 11 bits: the terms' errors do not become
  /// less where their sum is near 0.
  static Allowance ofTf32();
  /// Results of two schedules, between whose kernels values are rounded to `type`: what the one
  /// rounds up the other may round down, and the kernels after amplify that. An element may be far
  /// out where all of them together are not.
  static Allowance between(DType type);

  Allowance orMore(const Allowance &other) const;
};

/// Floats agree within what their type allows, or `allowed` if that is more. Integers and booleans
/// are equal; those of 8 bits and fewer, which mostly are rounded reals, may be one apart.
Agreement compare(const reference::Tensor &got, const reference::Tensor &want,
                  const Allowance &allowed = {});

/// How far two integers of `type` are apart, not converted first: beyond 2^53 neighbours are one
/// double.
double integerDistance(int64_t a, int64_t b, DType type);

} // namespace tcc
