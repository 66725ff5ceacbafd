//===- VectorMathHyperbolic.cpp - sinh, cosh, tanh and inverses -----------===//
//
// From exponentials and logarithms, with a polynomial where they would cancel. The
// inverse functions take their logarithm in f64, where 1 + x keeps every bit of an
// f32 x that matters.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

/// x + x^3 P(x^2).
Fp oddPolynomial(Fp x, llvm::ArrayRef<double> p) {
  Fp z = x * x;
  return mulAdd(x * z, poly(z, p), x);
}

Fp sinhF32(Fp x) {
  Fp y = abs(x);
  Fp h = halfExp(y);
  Fp near = oddPolynomial(x, {0x1.75af7ep-19, 0x1.a02136p-13, 0x1.1110e2p-7, 0x1.555556p-3});
  return select(y < 1.0, near, copySign(h - 0.25 / h, x));
}

Fp coshF32(Fp x) {
  Fp h = halfExp(abs(x));
  return h + 0.25 / h;
}

/// (e^2y - 1) / (e^2y + 1) = h / (h + 1) = h - h (h / (h + 1)) with h = expm1(2y) / 2. Of y = -|x|
/// both parts of the difference have one sign, and what rounds the quotient shows less than in the
/// quotient itself. Rounded products show too: without fused multiply-adds y is |x|, whose quotient
/// is good where it is not small.
Fp tanhF32(Fp x) {
  if (!x.e->options.hasFma) {
    Fp y = atMost(abs(x), 9.2), h = halfExpm1OfTwice(y).first, quotient = h / (h + 1.0);
    return copySign(select(y < 0.5, mulAdd(-h, quotient, h), quotient), x);
  }
  constexpr int64_t signBit = -0x80000000LL;
  Int sign = bits(x) & signBit;
  auto [h, hAndOne] = halfExpm1OfTwice(atLeast(fromBits(bits(x) | signBit), -9.2));
  return fromBits(bits(mulAdd(h, h / hAndOne, -h)) | sign);
}

constexpr double ln2 = 0x1.62e42fefa39efp-1;

/// Below 2^-12 the inverse functions are x in f32, and f64 would lose its sign of zero.
Fp orTiny(Fp x, Fp y) { return select(abs(x) < 0x1p-12, x, copySign(y, x)); }

Fp asinhF32(Fp x) {
  Fp a = toF64(abs(x));
  Fp y = toF32(log2Rough(a + sqrt(mulAdd(a, a, 1.0))) * ln2);
  return orTiny(x, select(abs(x) < x.infinity(), y, abs(x)));
}

Fp acoshF32(Fp x) {
  Fp a = toF64(x);
  Fp y = toF32(log2Rough(a + sqrt((a - 1.0) * (a + 1.0))) * ln2);
  y = select(x < x.infinity(), y, x);
  return select(x < 1.0, x.nan(), y);
}

Fp atanhF32(Fp x) {
  Fp a = toF64(abs(x));
  Fp y = toF32(log2Rough((1.0 + a) / (1.0 - a)) * (ln2 / 2));
  Fp edge = select(abs(x) == 1.0, x.infinity(), x.nan());
  return orTiny(x, select(abs(x) < 1.0, y, edge));
}

} // namespace

Fp sinh(Fp x) { return x.isF64() ? exactF64(sinhF64, "sinh", x) : sinhF32(x); }
Fp cosh(Fp x) { return x.isF64() ? exactF64(coshF64, "cosh", x) : coshF32(x); }
Fp tanh(Fp x) { return x.isF64() ? tanhF64(x) : tanhF32(x); }
Fp asinh(Fp x) { return x.isF64() ? exactF64(asinhF64, "asinh", x) : asinhF32(x); }
Fp acosh(Fp x) { return x.isF64() ? exactF64(acoshF64, "acosh", x) : acoshF32(x); }
Fp atanh(Fp x) { return x.isF64() ? exactF64(atanhF64, "atanh", x) : atanhF32(x); }

} // namespace tcc::codegen::vmath
