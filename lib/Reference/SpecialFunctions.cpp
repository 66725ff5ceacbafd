//===- SpecialFunctions.cpp - What libm lacks ----------------------------===//
//
// erfinv: a rational starting value (M. Giles, "Approximating the erfinv
// function", 2012) and Halley steps on erf, or on erfc in the tails where erf
// has no digits left. digamma: the reflection formula below 0, upward recurrence
// to 10, then the asymptotic series (Abramowitz and Stegun 6.3). Bessel: the
// power series, all of whose terms are positive, up to 40, and the asymptotic
// series (9.7.1) beyond.
//
//===----------------------------------------------------------------------===//
#include "Reference/SpecialFunctions.h"
#include <cmath>
#include <numbers>

namespace tcc::reference {

static double polynomial(double x, std::initializer_list<double> highestFirst) {
  double sum = 0;
  for (double c : highestFirst)
    sum = sum * x + c;
  return sum;
}

double erfinv(double x) {
  double magnitude = std::fabs(x);
  if (!(magnitude < 1))
    return magnitude == 1 ? std::copysign(HUGE_VAL, x) : std::nan("");
  if (magnitude == 0)
    return x;
  double w = -std::log((1 - magnitude) * (1 + magnitude));
  double y = w < 5 ? polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                                          -4.39150654e-06, 0.00021858087, -0.00125372503,
                                          -0.00417768164, 0.246640727, 1.50140941})
                   : polynomial(std::sqrt(w) - 3, {-0.000200214257, 0.000100950558, 0.00134934322,
                                                   -0.00367342844, 0.00573950773, -0.0076224613,
                                                   0.00943887047, 1.00167406, 2.83297682});
  y *= magnitude;
  for (int step = 0; step < 3; ++step) {
    double error = y < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x == 0)
    return std::copysign(HUGE_VAL, -x);
  if (x < 0) {
    if (x == std::floor(x))
      return std::nan("");
    // The distance to the pole first: tan(pi x) of a large x has no digits.
    double fraction = x - std::nearbyint(x);
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double below = 0;
  for (; x < 10; x += 1)
    below += 1 / x;
  if (std::isinf(x))
    return x;
  double square = 1 / (x * x);
  double series = square * polynomial(square, {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                               1.0 / 252, -1.0 / 120, 1.0 / 12});
  return std::log(x) - 0.5 / x - series - below;
}

/// I_order(x) of x >= 0 for order 0 or 1.
static double besselI(int order, double x) {
  if (std::isinf(x))
    return x;
  if (x <= 40) {
    double quarter = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term;
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= quarter / (static_cast<double>(k) * (k + order));
      sum += term;
    }
    return sum;
  }
  double mu = 4.0 * order * order, term = 1, sum = 1;
  for (int k = 1; k < 30 && std::fabs(term) > 1e-17; ++k) {
    double odd = 2 * k - 1;
    term *= -(mu - odd * odd) / (k * 8 * x);
    sum += term;
  }
  // e^x overflows before the result does.
  double half = std::exp(x / 2);
  if (std::isinf(half))
    return half;
  return half * (sum / std::sqrt(2 * std::numbers::pi * x)) * half;
}

double besselI0(double x) { return besselI(0, std::fabs(x)); }
double besselI1(double x) { return std::copysign(besselI(1, std::fabs(x)), x); }

} // namespace tcc::reference
