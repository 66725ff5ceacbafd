//===- VectorMathGamma.cpp - The logarithm of the gamma function ----------===//
//
// For |x - 2| <= 1/2, log Gamma(x) = t B(t) with t = x - 2. Other x below 8 are brought
// there by Gamma(x + 1) = x Gamma(x); above, Stirling's series; below -1/2 the reflection
// log |Gamma(x)| = log(pi / |x sin(pi x)|) - log Gamma(-x).
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

Fp stirling(Fp x, Fp logarithm) {
  constexpr double halfLog2Pi = 0x1.d67f1c864beb5p-1;
  Fp inverse = 1.0 / x;
  Fp series = inverse * poly(inverse * inverse,
                             {0x1.a41a41a41a41ap-8, -0x1.f6ab0d9993c7dp-10, 0x1.b951e2b18ff23p-11,
                              -0x1.3813813813814p-11, 0x1.a01a01a01a01ap-11, -0x1.6c16c16c16c17p-9,
                              0x1.5555555555555p-4});
  return mulAdd(x - 0.5, logarithm - 1.0, series + (halfLog2Pi - 0.5));
}

/// For -1/2 < x.
Fp logGamma(Fp x) {
  Mask low = x < 0.5, middle = x < 1.5, high = x >= 8.0;
  // The argument's way down to [1.5, 2.5).
  Fp y = select(high, 2.0, x), product = x.constant(1.0);
  for (int step = 0; step < 6; ++step) {
    Mask above = y >= 2.5;
    y = select(above, y - 1.0, y);
    product = select(above, product * y, product);
  }
  Fp t = select(low, x, select(middle, x - 1.0, y - 2.0));
  Fp divisor = select(low, x * (x + 1.0), x);
  Fp p = poly(t, {-0x1.5419ddffbcbcdp-24, 0x1.27cb8d1d53961p-22, -0x1.0abad59916f2dp-21,
                  0x1.ef62ecadd60f9p-21, -0x1.0df56ef149e6ap-19, 0x1.26330d561455bp-18,
                  -0x1.3d027f7f01f4dp-17, 0x1.580736577d39ap-16, -0x1.78db756231aa7p-15,
                  0x1.a127ddf02b281p-14, -0x1.d3fd5e69618cbp-13, 0x1.0b36af27a30c6p-11,
                  -0x1.38ac5c0cb5fecp-10, 0x1.7add6eae99ed2p-9, -0x1.e404fc21c6b53p-8,
                  0x1.51322ac7d7c56p-6, -0x1.13e001a557569p-4, 0x1.4a34cc4a60fa7p-2,
                  0x1.b0ee6072093cep-2});
  Fp logarithm = logF64(select(middle, abs(divisor), select(high, x, product)));
  Fp near = mulAdd(t, p, select(middle, -logarithm, logarithm));
  return select(high, stirling(x, logarithm), near);
}

} // namespace

Fp lgammaF64(Fp x) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  Mask reflected = x <= -0.5;
  Fp a = select(reflected, -x, x);
  Fp result = logGamma(a);
  Fp fraction = x - roundEven(x);
  Fp mirror = logF64(pi / (a * abs(sincosNearF64(fraction * pi).first))) - result;
  mirror = select(fraction == 0.0, x.infinity(), mirror); // a pole, also where log Gamma overflows
  result = select(reflected, mirror, result);
  return select(abs(x) == x.infinity(), x.infinity(), result);
}

} // namespace tcc::codegen::vmath
