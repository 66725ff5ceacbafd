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

/// Floats agree when |got - want| <= r |want| + r/10 rms(want), with r by type: 1e-3 for f32, 1e-8
/// for f64, 1e-2 for f16, 5e-2 for bf16, a quarter for 8 bits and fewer. Integers and booleans are
/// equal; those of 8 bits and fewer, which mostly are rounded reals, may be one apart.
Agreement compare(const reference::Tensor &got, const reference::Tensor &want);

} // namespace tcc
