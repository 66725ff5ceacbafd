//===- VectorMathErf.cpp - erf, erfc --------------------------------------===//
//
// erf: an odd polynomial below 1.1; above, a polynomial in |x| - 2.515625, up to 3.92
// from where on erf is 1 in f32. No exponential is needed.
//
// erfc(x) = e^(-x^2) q(t) / (1 + 2|x|) with t = (|x| - 4) / (|x| + 4), in f64: e^(-x^2)
// loses the bits that x^2 loses, and x^2 of an f32 is exact in f64.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

Fp erfF32(Fp x) {
  Fp y = atMost(abs(x), 3.92);
  Fp t = y - 2.515625;
  Fp far = poly(t, {0x1.afc28ap-21, -0x1.3d24f4p-17, 0x1.d73306p-17, 0x1.1a2b00p-14,
                    -0x1.0c00ccp-12, 0x1.ff4476p-13, 0x1.3404b8p-11, -0x1.686a3ap-9, 0x1.7f7fa0p-8,
                    -0x1.0b140ep-7, 0x1.007900p-7, -0x1.4c15b0p-8, 0x1.07fceap-9, 0x1.ffcef4p-1});
  // The leading coefficient less 1, so that the last addition rounds once.
  Fp near = poly(x * x, {0x1.2f7e42p-14, -0x1.9a3d02p-11, 0x1.52ac0ap-8, -0x1.b7cddep-6,
                         0x1.ce2aa6p-4, -0x1.812734p-2, 0x1.06eba8p-3});
  return select(y < 1.1, mulAdd(x, near, x), copySign(far, x));
}

Fp erfcF32(Fp x) {
  Fp a = toF64(atMost(abs(x), 12.0));
  Fp t = (a - 4.0) / (a + 4.0);
  Fp q = poly(t, {0x1.82246689552f0p-15, 0x1.04d151a8f0e5dp-12, -0x1.5c03e411783f4p-13,
                  -0x1.9ffcfaaf3825cp-11, 0x1.47d80c9305096p-8, -0x1.095da0fbb9860p-6,
                  0x1.30876d262f29fp-5, -0x1.0faf8d11164bep-4, 0x1.7fed612289684p-4,
                  -0x1.9ddb3ecef78e8p-4, 0x1.16ecf6131cd42p-4, 0x1.f7f5e64a33b78p-7,
                  -0x1.1df1ad1f1a4fep-3, 0x1.3ba5916e8ffbep+0});
  Fp y = exp2Rough(a * a * -0x1.71547652b82fep+0) * q / mulAdd(a, 2.0, 1.0);
  return toF32(select(toF64(x) < 0.0, 2.0 - y, y));
}

} // namespace

Fp erf(Fp x) { return x.isF64() ? exactF64(erfF64, "erf", x) : erfF32(x); }
Fp erfc(Fp x) { return x.isF64() ? exactF64(erfcF64, "erfc", x) : erfcF32(x); }

} // namespace tcc::codegen::vmath
