//===- VectorMathLogF64.cpp - log, log2, log10, log1p in f64 --------------===//
//
// With s = f / (2 + f), log(1 + f) = 2 atanh s = f - f^2/2 + s (f^2/2 + R(s^2)), where R
// is a polynomial of degree 7: the direct polynomial in f of VectorMathLog.cpp would
// need degree 20. For other bases f - f^2/2 is cut in two, so that its product with
// 1 / log b does not round.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

constexpr int64_t sqrtHalfBits = 0x3fe6a09e667f3bcd;
constexpr int64_t mantissaMask = 0xfffffffffffff;
constexpr double smallestNormal = 0x1p-1022;

/// The signed exponent in `i` >> 52 as a float, by way of the mantissa of 1.5 * 2^52:
/// 64-bit integers convert slowly before AVX-512.
Fp exponentOf(Int i) { return fromBits((i >> 52) + 0x4338000000000000) - 0x1.8p52; }

/// s (f^2/2 + R) of the formula above.
Fp correction(Fp f, Fp halfSquare) {
  Fp s = f / (f + 2.0);
  Fp z = s * s;
  Fp r = poly(z, {0x1.2f04eb626dae5p-3, 0x1.39a1d0e1954a5p-3, 0x1.74663d9a36e4ep-3,
                  0x1.c71c52123e7d8p-3, 0x1.24924941e27acp-2, 0x1.999999997ff18p-2,
                  0x1.5555555555592p-1});
  return s * mulAdd(z, r, halfSquare);
}

/// k log 2 + log(1 + f).
Fp naturalLog(Fp k, Fp f) {
  constexpr double ln2High = 0x1.62e42fefa2p-1, ln2Low = 0x1.9ef35793c7673p-41;
  Fp halfSquare = f * f * 0.5;
  Fp low = mulAdd(k, ln2Low, correction(f, halfSquare));
  return mulAdd(k, ln2High, f - (halfSquare - low));
}

/// 1 / log b in two parts, of which the high one has 21 bits, and log_b 2.
struct Base {
  double high, low, twoHigh, twoLow;
};
constexpr Base base2 = {0x1.71547p+0, 0x1.94ae0bf85ddf4p-22, 1.0, 0.0};
constexpr Base base10 = {0x1.bcb7bp-2, 0x1.526e50e32a6abp-26, 0x1.34413509f6p-2,
                         0x1.9fef311f12b36p-42};

Fp logToBase(Fp k, Fp f, const Base &base) {
  Fp halfSquare = f * f * 0.5;
  Fp high = fromBits(bits(f - halfSquare) & -0x100000000);
  Fp low = (f - high) - halfSquare + correction(f, halfSquare);
  Fp lead = high * base.high;
  Fp tail = mulAdd(low + high, base.low, low * base.high);
  if (base.twoLow != 0.0)
    tail = mulAdd(k, base.twoLow, tail);
  Fp whole = base.twoHigh == 1.0 ? k : k * base.twoHigh;
  Fp sum = whole + lead;
  return sum + (((whole - sum) + lead) + tail);
}

/// Gives `y` its values outside (pole, infinity).
Fp patch(Fp x, Fp y, double pole) {
  y = select(x < x.infinity(), y, x);
  Fp outside = select(x == pole, -x.infinity(), x.nan());
  return select(x <= pole, outside, y);
}

Fp logF64(Fp x, const Base *base) {
  Mask subnormal = x < smallestNormal;
  Int i = bits(select(subnormal, x * 0x1p52, x)) - sqrtHalfBits;
  Fp k = exponentOf(i) + select(subnormal, x.constant(-52.0), x.constant(0.0));
  Fp f = fromBits((i & mantissaMask) + sqrtHalfBits) - 1.0;
  return patch(x, base ? logToBase(k, f, *base) : naturalLog(k, f), 0.0);
}

} // namespace

Fp logF64(Fp x) { return logF64(x, nullptr); }
Fp log2F64(Fp x) { return logF64(x, &base2); }
Fp log10F64(Fp x) { return logF64(x, &base10); }

Fp log1pF64(Fp x) {
  Int i = (bits(x + 1.0) - sqrtHalfBits) & ~mantissaMask;
  Fp power = fromBits(0x4010000000000000 - i);
  Fp f = mulAdd(x * 0.25, power, mulAdd(power, 0.25, -1.0));
  return select(abs(x) < 0x1p-54, x, patch(x, naturalLog(exponentOf(i), f), -1.0));
}

} // namespace tcc::codegen::vmath
