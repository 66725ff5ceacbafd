//===- VectorMathLog.cpp - log, log2, log10, log1p ------------------------===//
//
// x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that no cancellation
// happens near 1; a polynomial gives log(1 + f), whose leading coefficient is kept
// in two parts for bases other than e. k log 2 is added in two parts as well.
// k and 1 + f come from the bits of x with integer arithmetic.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

constexpr int64_t sqrtHalfBits = 0x3f3504f3;
constexpr double smallestNormal = 0x1p-126;

/// log_b(1 + f) = leading * f + f * tail(f); log_b(2) = twoHigh + twoLow.
struct Base {
  double leading;
  llvm::ArrayRef<double> tail;
  double twoHigh, twoLow;
};

constexpr double tailE[] = {-0x1.38d16cp-4, 0x1.0568f4p-3,  -0x1.0d85d0p-3,
                            0x1.22d804p-3,  -0x1.54720ap-3, 0x1.99a024p-3,
                            -0x1.000228p-2, 0x1.555554p-2,  -0.5};
constexpr double tail2[] = {-0x1.c26fa6p-4, 0x1.7c6628p-3, -0x1.86caaap-3, 0x1.a32628p-3,
                            -0x1.ead39cp-3, 0x1.277d96p-2, -0x1.7159d2p-2, 0x1.ec7098p-2,
                            -0x1.715472p-1, 0x1.49a050p-26};
constexpr double tail10[] = {-0x1.0e88fcp-5, 0x1.c9bb48p-5,  -0x1.d6b054p-5, 0x1.f8c496p-5,
                             -0x1.27808ap-4, 0x1.63cddcp-4,  -0x1.bcbe32p-4, 0x1.287a74p-3,
                             -0x1.bcb7acp-3, -0x1.5be44ap-27};
const Base baseE = {1.0, tailE, 0x1.62e4p-1, 0x1.7f7d1cp-20};
const Base base2 = {0x1.715476p+0, tail2, 1.0, 0.0};
const Base base10 = {0x1.bcb7b2p-2, tail10, 0x1.344p-2, 0x1.3509f8p-18};

Fp combine(Fp k, Fp f, const Base &base) {
  Fp r = f;
  if (base.leading == 1.0) {
    Fp tail = f * f * poly(f, base.tail);
    r = f + mulAdd(k, base.twoLow, tail);
  } else {
    Fp tail = f * poly(f, base.tail);
    if (base.twoLow != 0.0)
      tail = mulAdd(k, base.twoLow, tail);
    r = mulAdd(f, base.leading, tail);
  }
  return base.twoHigh == 1.0 ? k + r : mulAdd(k, base.twoHigh, r);
}

/// Gives `y` its values outside (0, infinity): NaN below 0 and for NaN, -infinity
/// where x is `pole`.
Fp patch(Fp x, Fp y, double pole) {
  y = select(x < x.infinity(), y, x);
  Fp outside = select(x == pole, -x.infinity(), x.nan());
  return select(x <= pole, outside, y);
}

Fp logF32(Fp x, const Base &base) {
  Mask subnormal = x < smallestNormal;
  Int i = bits(select(subnormal, x * 0x1p23, x)) - sqrtHalfBits;
  Fp k = toFp(i >> 23) + select(subnormal, x.constant(-23.0), x.constant(0.0));
  Fp f = fromBits((i & 0x7fffff) + sqrtHalfBits) - 1.0;
  return patch(x, combine(k, f, base), 0.0);
}

/// 1 + x = 2^k * (1 + f) gives f = x / 2^k + (1 / 2^k - 1), rounded once: the bits
/// that 1 + x loses are still in it. The power is scaled by 4 to stay normal.
Fp log1pF32(Fp x) {
  Int i = (bits(x + 1.0) - sqrtHalfBits) & -0x800000;
  Fp power = fromBits(0x40800000 - i);
  Fp f = mulAdd(x * 0.25, power, mulAdd(power, 0.25, -1.0));
  Fp y = patch(x, combine(toFp(i >> 23), f, baseE), -1.0);
  return select(abs(x) < 0x1p-25, x, y);
}

} // namespace

Fp log(Fp x) { return x.isF64() ? logF64(x) : logF32(x, baseE); }
Fp log2(Fp x) { return x.isF64() ? log2F64(x) : logF32(x, base2); }
Fp log10(Fp x) { return x.isF64() ? log10F64(x) : logF32(x, base10); }
Fp log1p(Fp x) { return x.isF64() ? log1pF64(x) : log1pF32(x); }

} // namespace tcc::codegen::vmath
