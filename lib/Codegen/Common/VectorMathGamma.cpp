//===- VectorMathGamma.cpp - The logarithm of the gamma function ----------===//
//
// For |x - 2| <= 1/2, log Gamma(x) = t B(t) with t = x - 2. Other x below 8 are brought
// there by Gamma(x + 1) = x Gamma(x); above, Stirling's series; below -1/2 the reflection
// log |Gamma(x)| = -log |x sin(pi x) / pi| - log Gamma(-x). Both are known to a little more than
// f64 holds, because they cancel near the zeros between the poles.
//
// What is rounded to 16 bits is computed in f32 and without a loop (`roughLgamma`): both zeros of
// positive numbers, 1 and 2, are factors beside one polynomial for [3/4, 5/2], smaller numbers take
// one step, and logarithms are added to what is no smaller, so that their absolute error counts.
//
//===----------------------------------------------------------------------===//
#include "VectorMathPair.h"
#include "VectorMathRough.h"

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

/// The bits of x that a product with as many holds exactly.
Fp upperHalf(Fp x) { return fromBits(bits(x) & -0x8000000); }

/// a * b with its rounding error, without a fused multiplication and addition: the target is not
/// known yet.
Pair dividedProduct(Fp a, Fp b) {
  Fp product = a * b, aHigh = upperHalf(a), bHigh = upperHalf(b);
  Fp aLow = a - aHigh, bLow = b - bHigh;
  Fp error = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
  return {product, select(abs(error) < abs(product), error, 0.0)}; // of numbers that are none
}

/// log(x sin(pi y) / pi) for x > 0 and 0 < y <= 1/2.
Pair logOfSine(Fp x, Fp y) {
  Fp z = y * y;
  Fp p = poly(z, {-0x1.83b0c8be318bap-28, 0x1.0ddd004a12a84p-22, -0x1.d4161395a6b67p-18,
                  0x1.3746fbfe61f8fp-13, -0x1.33816a5bb3b19p-9, 0x1.ac6805ce659ddp-6,
                  -0x1.86a8e4720c6b6p-3, 0x1.9f9cb402bc44cp-1, -0x1.a51a6625307d3p+0});
  Pair sine = fastSum(y, y * z * p);
  Pair product = dividedProduct(x, sine.hi);
  Fp correction = (product.lo + x * sine.lo) / product.hi;
  return {logF64(product.hi), select(abs(correction) < 1.0, correction, 0.0)};
}

/// For -1/2 < x.
Pair logGamma(Fp x) {
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
                  0x1.51322ac7d7c56p-6, -0x1.13e001a557569p-4, 0x1.4a34cc4a60fa7p-2});
  Pair lead = dividedProduct(t, x.constant(0x1.b0ee6072093cep-2));
  Pair near = fastSum(lead.hi, t * t * p);
  Fp logarithm = logF64(select(middle, abs(divisor), select(high, x, product)));
  Pair sum = exactSum(near.hi, select(middle, -logarithm, logarithm));
  sum.lo = select(abs(sum.hi) < x.infinity(), sum.lo + (near.lo + lead.lo), 0.0);
  return select(high, Pair{stirling(x, logarithm), x.constant(0.0)}, sum);
}

/// A logarithm that is added to what is no smaller.
Fp addedLog(Fp x) {
  return {x.e, mlir::math::LogOp::create(x.e->builder, x.v, mlir::arith::FastMathFlags::afn)};
}

} // namespace

Fp roughLgamma(Fp x) {
  Mask reflected = x <= -0.25;
  Fp a = select(reflected, -x, x);
  Mask low = a < 0.75, high = a >= 2.5;
  Fp y = select(low, a + 1.0, a);
  Fp p = poly(y - 1.625, {0x1.81a3b2p-11, -0x1.3ad108p-10, 0x1.2b5d8p-11, -0x1.42fba2p-10,
                          0x1.cb1434p-9, -0x1.a5039ap-8, 0x1.87cdd2p-7, -0x1.8be8cep-6,
                          0x1.aec002p-5, -0x1.0d79eap-3, 0x1.dcfd32p-2});
  Fp near = (y - 1.0) * (y - 2.0) * p, logarithm = addedLog(abs(a));
  // Stirling's series.
  Fp inverse = roughDivide(a.constant(1.0), a);
  Fp series = poly(inverse * inverse, {0x1.645928p-11, -0x1.6b457ep-9, 0x1.555548p-4});
  Fp far = mulAdd(a - 0.5, logarithm - 1.0, mulAdd(inverse, series, 0x1.acfe39p-2));
  Fp result = select(high, far, select(low, near - logarithm, near));
  // log |x sin(pi x) / pi|
  Fp fraction = abs(x - roundEven(x)), z = fraction * fraction;
  Fp sine = fraction * poly(z, {-0x1.6c0f1ap-3, 0x1.9e8c5p-1, -0x1.a5134ap+0, 0x1.ffffe2p-1});
  Fp mirror = -addedLog(a * sine) - result;
  mirror = select(fraction == 0.0, x.infinity(), mirror);
  result = select(reflected, mirror, result);
  return select(abs(x) == x.infinity(), x.infinity(), result);
}

Fp lgammaF64(Fp x) {
  Mask reflected = x <= -0.5;
  Fp a = select(reflected, -x, x);
  Pair result = logGamma(a);
  Fp fraction = x - roundEven(x);
  Pair sine = logOfSine(a, abs(fraction));
  Fp mirror = (-sine.hi - result.hi) - (sine.lo + result.lo);
  mirror = select(fraction == 0.0, x.infinity(), mirror); // a pole, also where log Gamma overflows
  Fp y = select(reflected, mirror, result.hi + result.lo);
  return select(abs(x) == x.infinity(), x.infinity(), y);
}

} // namespace tcc::codegen::vmath
