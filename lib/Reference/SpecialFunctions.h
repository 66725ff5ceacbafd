//===- SpecialFunctions.h - What libm lacks --------------------*- C++ -*-===//
#pragma once

namespace tcc::reference {

/// Inverse of erf on [-1, 1]; NaN outside, infinite at the ends.
double erfinv(double x);
/// Derivative of lgamma; -inf at +0, +inf at -0, NaN at negative integers.
double digamma(double x);
/// Modified Bessel functions of the first kind.
double besselI0(double x);
double besselI1(double x);

} // namespace tcc::reference
