//===- Cancellation.h - Additions that are made to round -------*- C++ -*-===//
#pragma once
#include <algorithm>
#include <cmath>

namespace tcc::simplify {

/// Whether two addends cancel: their sum is smaller than half of the larger. That is how
/// a model rounds: (x + 1.5 * 2^23) - 1.5 * 2^23 is the integer nearest to an f32 x, and
/// x + (1.5 * 2^23 - 1.5 * 2^23) is x.
inline bool cancel(double a, double b) {
  return std::fabs(a + b) < std::max(std::fabs(a), std::fabs(b)) / 2;
}

} // namespace tcc::simplify
