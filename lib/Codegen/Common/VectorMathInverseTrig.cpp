//===- VectorMathInverseTrig.cpp - asin, acos, atan, atan2 ----------------===//
//
// asin and acos of |x| > 1/2 go through asin x = pi/2 - 2 asin sqrt((1 - x)/2); atan of
// |x| > 1 through pi/2 - atan(1/x). Multiples of pi/2 are added in two parts.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

constexpr double halfPiHigh = 0x1.921fb6p+0, halfPiLow = -0x1.777a5cp-25;

/// pi/2 * k + x for an integral k.
Fp plusHalfPi(Fp k, Fp x) { return mulAdd(k, halfPiHigh, mulAdd(k, halfPiLow, x)); }

/// asin x - x for |x| <= 1/2, of which z is the square.
Fp asinTail(Fp x, Fp z) {
  return x * z *
         poly(z, {0x1.59630ep-5, 0x1.8c3850p-6, 0x1.747c20p-5, 0x1.330202p-4, 0x1.5555c8p-3});
}

/// pi/2 - 2 s with its rounding error is exact, so what is added last rounds once.
Fp asinF32(Fp x) {
  Fp a = abs(x);
  Mask far = a > 0.5;
  Fp z = select(far, mulAdd(a, -0.5, 0.5), a * a);
  Fp s = select(far, sqrt(z), a);
  Fp tail = asinTail(s, z);
  Fp twice = s + s;
  Fp lead = halfPiHigh - twice;
  Fp rest = (halfPiHigh - lead) - twice + halfPiLow;
  return copySign(select(far, lead, s) + select(far, mulAdd(tail, -2.0, rest), tail), x);
}

Fp acosF32(Fp x) {
  Fp a = abs(x);
  Mask far = a > 0.5;
  Fp z = select(far, mulAdd(a, -0.5, 0.5), a * a);
  Fp s = select(far, sqrt(z), x);
  Fp y = s + asinTail(s, z);
  Mask negative = x < 0.0;
  // pi/2 - y, 2 y, or pi - 2 y.
  Fp quarters = select(far, select(negative, x.constant(2.0), x.constant(0.0)), 1.0);
  Fp factor = select(far, select(negative, x.constant(-2.0), x.constant(2.0)), -1.0);
  return plusHalfPi(quarters, y * factor);
}

/// atan x for |x| <= 1.
Fp atanPolynomial(Fp x) {
  Fp z = x * x;
  Fp p = poly(z, {-0x1.d54ca8p-10, 0x1.652442p-7, -0x1.fe54a8p-6, 0x1.da890cp-5, -0x1.5820c8p-4,
                  0x1.c092d8p-4, -0x1.2420fap-3, 0x1.9991eap-3, -0x1.55553ep-2});
  return mulAdd(x * z, p, x);
}

Fp atanF32(Fp x) {
  Fp a = abs(x);
  Mask far = a > 1.0;
  Fp y = atanPolynomial(select(far, -1.0 / a, a));
  Fp quarters = select(far, x.constant(1.0), x.constant(0.0));
  return copySign(plusHalfPi(quarters, y), x);
}

Fp atan2F32(Fp y, Fp x) {
  Fp ax = abs(x), ay = abs(y);
  Mask steep = ay > ax;
  Fp smaller = select(steep, ax, ay), larger = select(steep, ay, ax);
  Fp t = smaller / larger;
  t = select(larger == 0.0, 0.0, select(smaller == x.infinity(), 1.0, t));
  Fp angle = atanPolynomial(t);
  // The octant: angle, pi/2 - angle, pi - angle or pi/2 + angle.
  Mask left = bits(x) < 0;
  Fp quarters = select(steep, x.constant(1.0), select(left, x.constant(2.0), x.constant(0.0)));
  angle = plusHalfPi(quarters, select(steep ^ left, -angle, angle));
  return select(isNaN(x) | isNaN(y), x + y, copySign(angle, y));
}

} // namespace

Fp asin(Fp x) { return x.isF64() ? exactF64(asinF64, "asin", x) : asinF32(x); }
Fp acos(Fp x) { return x.isF64() ? exactF64(acosF64, "acos", x) : acosF32(x); }
Fp atan(Fp x) { return x.isF64() ? exactF64(atanF64, "atan", x) : atanF32(x); }
Fp atan2(Fp y, Fp x) {
  if (!x.isF64())
    return atan2F32(y, x);
  return x.e->options.hasFma ? atan2F64(y, x) : callLibm("atan2", {y, x});
}

} // namespace tcc::codegen::vmath
