//===- VectorMathCases.h - What each function must be -----------*- C++ -*-===//
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tcc::test {

/// One operation of the math dialect, its exact value, and how far an f32 or f64
/// result may be from it, in units in the last place.
struct MathCase {
  std::string op;
  int arity;
  long double (*exact)(long double x, long double y);
  double (*exactForF32)(double x, double y); ///< enough for f32, and much faster
  double ulpsF32, ulpsF64;
};

const std::vector<MathCase> &mathCases();

/// Distance of `got` from `exact` in units of the last place of T; 0 when both are
/// NaN; infinity counts as the next power of two.
template <typename T, typename Wide> double ulpError(T got, Wide exact);

/// Bit patterns spread over all of T, and the values where functions change.
template <typename T> std::vector<T> sampleArguments(int64_t count, uint64_t seed);

} // namespace tcc::test
