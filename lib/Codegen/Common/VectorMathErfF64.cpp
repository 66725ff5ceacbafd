//===- VectorMathErfF64.cpp - erf and erfc in f64 -------------------------===//
//
// Where x is small, erf x = x + x P(x^2). Elsewhere, erfc x = e^(-x^2) q(t) / (1 + 2x) with
// t = (x - 4) / (x + 4), where the rounding error of x^2 is taken into account, and the
// exponential is made 2^200 times too large, because it underflows before erfc does. erf is 1 less
// erfc, which is small: a shorter polynomial does, of (x - k) / (x + k), over x + k.
//
//===----------------------------------------------------------------------===//
#include "VectorMathPair.h"

namespace tcc::codegen::vmath {
namespace {

constexpr double lastNear = 1.115, lastNearOfErfc = 0.95; // where 1 less the other is as exact

/// erf x / x - 1 for |x| <= 1.118, by powers of x^2 - 0.625: those of x^2 cancel, and round more.
Fp nearFactor(Fp x) {
  return poly(mulAdd(x, x, -0.625),
              {-0x1.5435eb2d03f7bp-39, 0x1.e381ab36a46fdp-35, -0x1.7daddff1c2defp-31,
               0x1.1fd2a5e03beb4p-27, -0x1.8fe932e82f749p-24, 0x1.fa25c03c8d89fp-21,
               -0x1.2128f6aac6b58p-17, 0x1.26f9fcecbfaa8p-14, -0x1.0908608996a3ep-11,
               0x1.9c83eca4959b4p-9, -0x1.1070cb9fee768p-6, 0x1.2a78d10016c7bp-4,
               -0x1.0c56e48f1a817p-2, -0x1.1868dcff76633p-4});
}

/// e^(-x^2), or `scale` of it.
Fp expOfSquare(Fp x, double scale) {
  Pair square = exactProduct(x, x);
  Fp e = expOverF64(-square.hi, scale);
  return mulAdd(e, -square.lo, e);
}

/// erfc x for 0.95 <= x <= 28.
Fp farComplement(Fp x) {
  Fp t = (x - 4.0) / (x + 4.0);
  Fp q = poly(t, {0x1.114351ac3cb96p-23,  -0x1.bc75da851a64bp-24, -0x1.99dbd6e30c3ebp-22,
                  0x1.4947a1c6a3642p-22,  0x1.2421f0bcdb372p-21,  -0x1.62adf97ca07e3p-22,
                  -0x1.2837c9824b78fp-20, 0x1.316decc280177p-21,  0x1.8664910915502p-18,
                  -0x1.7c5b3d2c70f4ap-17, -0x1.99ca6d54f0fd1p-16, 0x1.3bf0548ccfcc4p-13,
                  -0x1.a1dcf2f516becp-13, -0x1.8d4b462ff1051p-11, 0x1.49c670d3711f0p-8,
                  -0x1.096237f53e3d6p-6,  0x1.3079edf9985adp-5,   -0x1.0fb06e007e970p-4,
                  0x1.7fee004e06ba1p-4,   -0x1.9ddb23c3d6d02p-4,  0x1.16ecefcfa557dp-4,
                  0x1.f7f5df66fb838p-7,   -0x1.1df1ad154a28dp-3,  0x1.3ba5916e9fd7fp+0});
  return expOfSquare(x, 0x1p-200) * q / mulAdd(x, 2.0, 1.0) * 0x1p-200;
}

/// 1 less the same for 1.115 <= x <= 6, which needs fewer digits of it and takes one quotient.
Fp farErf(Fp x) {
  Fp w = 1.0 / (x + 3.5);
  Fp q = poly((x - 3.5) * w, {-0x1.0b55eeb339137p-14, 0x1.c6efd6302d87ap-16, 0x1.a8b7e73412aedp-11,
                              -0x1.42fa30a1c9592p-10, -0x1.9bab433a9229dp-9, 0x1.b2ae31d3f3c9ap-6,
                              -0x1.7a203dedde556p-4, 0x1.ce504784e30a0p-3, -0x1.bdb3be8a159d0p-2,
                              0x1.6362dd3ed626ep-1, -0x1.e0274915bf8afp-1, 0x1.1649466cd178fp+0});
  return mulAdd(-(expOfSquare(x, 1.0) * w), q, 1.0);
}

} // namespace

Fp erfF64(Fp x) {
  Fp a = abs(x);
  Fp far = farErf(atLeast(atMost(a, 6.0), lastNear));
  return select(a < lastNear, mulAdd(x, nearFactor(x), x), copySign(far, x));
}

Fp erfcF64(Fp x) {
  Fp a = abs(x), tail = x * nearFactor(x);
  // x - 1/2 is exact where the result is small.
  Fp near = select(x < 0.25, 1.0 - (x + tail), 0.5 - ((x - 0.5) + tail));
  Fp far = farComplement(atLeast(atMost(a, 28.0), lastNearOfErfc));
  far = select(bits(x) < 0, 2.0 - far, far);
  return select(a < lastNearOfErfc, near, far);
}

} // namespace tcc::codegen::vmath
