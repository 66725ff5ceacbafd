//===- VectorMathPowF64.cpp - Powers in f64 -------------------------------===//
//
// x^y = e^(y log x). The product may be as large as 745, so that an error of 2^-64 in
// log x is one of 2^-54 in the result: log x = k log 2 + 2 atanh s, s = f / (2 + f), is
// made as a Pair, of which only the terms from s^5 on are summed in f64.
//
//===----------------------------------------------------------------------===//
#include "VectorMathPair.h"

namespace tcc::codegen::vmath {
namespace {

constexpr double ln2High = 0x1.62e42fefa2p-1, ln2Low = 0x1.9ef35793c7673p-41;

/// log x for a positive x that is a number.
Pair logPair(Fp x) {
  constexpr int64_t sqrtHalfBits = 0x3fe6a09e667f3bcd;
  Mask subnormal = x < 0x1p-1022;
  Int i = bits(select(subnormal, x * 0x1p52, x)) - sqrtHalfBits;
  Fp k = fromBits((i >> 52) + 0x4338000000000000) - 0x1.8p52;
  k = k + select(subnormal, x.constant(-52.0), x.constant(0.0));
  Fp f = fromBits((i & 0xfffffffffffff) + sqrtHalfBits) - 1.0;
  Fp zero = x.constant(0.0);
  Pair s = Pair{f, zero} / fastSum(x.constant(2.0), f);
  Pair z = s * s;
  // 2 + 2/3 s^2 + s^4 Q(s^2)
  Pair third = z * Pair{x.constant(0x1.5555555555555p-1), x.constant(0x1.5555555555555p-55)};
  Fp tail = z.hi * z.hi *
            poly(z.hi, {0x1.ce1b99e379b21p-4, 0x1.e1714117a860dp-4, 0x1.110e0757f2078p-3,
                        0x1.3b13d1631d336p-3, 0x1.745d16cd48580p-3, 0x1.c71c71c7e35d2p-3,
                        0x1.24924924920b3p-2, 0x1.999999999999ap-2});
  Pair factor = fastSum(x.constant(2.0), third.hi);
  Pair small = s * Pair{factor.hi, factor.lo + (third.lo + tail)};
  Pair sum = fastSum(k * ln2High, small.hi);
  Fp low = sum.lo + mulAdd(k, ln2Low, small.lo);
  return fastSum(sum.hi, low);
}

/// e^(x.hi + x.lo), where x.hi is in [-746, 710].
Fp expPair(Pair x) {
  constexpr double log2e = 0x1.71547652b82fep+0, bias = 0x1.8p52;
  Mask negative = x.hi < 0.0;
  Fp magic = select(negative, x.hi.constant(bias + 1023 + 512), x.hi.constant(bias + 1023 - 512));
  Fp shifted = mulAdd(x.hi, log2e, magic);
  Fp n = shifted - magic;
  Pair r = fastSum(mulAdd(n, -ln2High, x.hi), mulAdd(n, -ln2Low, x.lo));
  Fp p = poly(r.hi, {0x1.ad1da39230a6dp-26, 0x1.28a1783080dcdp-22, 0x1.71df5a8db04d9p-19,
                     0x1.a019a960cfaf1p-16, 0x1.a01a011843489p-13, 0x1.6c16c17d4976bp-10,
                     0x1.111111112977ep-7, 0x1.5555555553088p-5, 0x1.55555555554fdp-3, 0.5});
  Pair sum = fastSum(x.hi.constant(1.0), r.hi);
  Fp tail = mulAdd(r.hi * r.hi, p, mulAdd(r.lo, r.hi, r.lo) + sum.lo);
  Fp second = select(negative, x.hi.constant(0x1p-512), x.hi.constant(0x1p+512));
  return (sum.hi + tail) * fromBits(bits(shifted) << 52) * second;
}

} // namespace

Fp powMagnitudeF64(Fp x, Fp y) {
  Pair logarithm = logPair(x);
  // Above, every x but 1 gives 0 or infinity.
  Fp exponent = atLeast(atMost(y, 0x1p70), -0x1p70);
  Pair product = Pair{exponent, x.constant(0.0)} * logarithm;
  Fp clamped = atLeast(atMost(product.hi, 710.0), -746.0);
  Fp r = expPair({clamped, select(clamped == product.hi, product.lo, 0.0)});
  Mask zero = x == 0.0, infinite = x == x.infinity();
  Fp edge = select(zero ^ (y > 0.0), x.infinity(), x.constant(0.0));
  return select(zero | infinite, edge, r);
}

} // namespace tcc::codegen::vmath
