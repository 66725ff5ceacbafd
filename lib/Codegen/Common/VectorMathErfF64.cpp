//===- VectorMathErfF64.cpp - erf and erfc in f64 -------------------------===//
//
// Below 0.95, erf x = x + x P(x^2). Above, erfc x = e^(-x^2) q(t) / (1 + 2x) with
// t = (x - 4) / (x + 4), where the rounding error of x^2 is taken into account, and the
// exponential is made 2^200 times too large, because it underflows before erfc does.
//
//===----------------------------------------------------------------------===//
#include "VectorMathPair.h"

namespace tcc::codegen::vmath {
namespace {

constexpr double lastNear = 0.95;

/// erf x - x for |x| <= 1.
Fp nearTail(Fp x) {
  return x * poly(x * x, {0x1.b1d0b43aeaee5p-32, -0x1.86d0578e29146p-29, 0x1.3d493d034f9b4p-27,
                          -0x1.3ff5a39280021p-26, 0x1.39d9dc22ad95ep-25, -0x1.87a989b732c52p-23,
                          0x1.bcf4e0d868110p-20, -0x1.f4fc7ef6b38c5p-17, 0x1.f9a4bf5463b14p-14,
                          -0x1.c02dbe9b8f209p-11, 0x1.565bcd3cc6882p-8, -0x1.b82ce31380933p-6,
                          0x1.ce2f21a04588fp-4, -0x1.812746b037a1dp-2, 0x1.06eba8214db69p-3});
}

/// erfc x for 0.95 <= x <= 28.
Fp farComplement(Fp x) {
  Pair square = exactProduct(x, x);
  Fp e = expOverF64(-square.hi, 0x1p-200);
  e = mulAdd(e, -square.lo, e);
  Fp t = (x - 4.0) / (x + 4.0);
  Fp q = poly(t, {0x1.114351ac3cb96p-23,  -0x1.bc75da851a64bp-24, -0x1.99dbd6e30c3ebp-22,
                  0x1.4947a1c6a3642p-22,  0x1.2421f0bcdb372p-21,  -0x1.62adf97ca07e3p-22,
                  -0x1.2837c9824b78fp-20, 0x1.316decc280177p-21,  0x1.8664910915502p-18,
                  -0x1.7c5b3d2c70f4ap-17, -0x1.99ca6d54f0fd1p-16, 0x1.3bf0548ccfcc4p-13,
                  -0x1.a1dcf2f516becp-13, -0x1.8d4b462ff1051p-11, 0x1.49c670d3711f0p-8,
                  -0x1.096237f53e3d6p-6,  0x1.3079edf9985adp-5,   -0x1.0fb06e007e970p-4,
                  0x1.7fee004e06ba1p-4,   -0x1.9ddb23c3d6d02p-4,  0x1.16ecefcfa557dp-4,
                  0x1.f7f5df66fb838p-7,   -0x1.1df1ad154a28dp-3,  0x1.3ba5916e9fd7fp+0});
  return e * q / mulAdd(x, 2.0, 1.0) * 0x1p-200;
}

} // namespace

Fp erfF64(Fp x) {
  Fp a = abs(x);
  Fp far = 1.0 - farComplement(atLeast(atMost(a, 6.0), lastNear));
  return select(a < lastNear, x + nearTail(x), copySign(select(isNaN(x), x, far), x));
}

Fp erfcF64(Fp x) {
  Fp a = abs(x), tail = nearTail(x);
  // x - 1/2 is exact where the result is small.
  Fp near = select(x < 0.25, 1.0 - (x + tail), 0.5 - ((x - 0.5) + tail));
  Fp far = farComplement(atLeast(atMost(a, 28.0), lastNear));
  far = select(x < 0.0, 2.0 - far, far);
  return select(a < lastNear, near, select(isNaN(x), x, far));
}

} // namespace tcc::codegen::vmath
