//===- VectorMathExpF64.cpp - exp, exp2, expm1, tanh in f64 ---------------===//
//
// As in f32 (VectorMathExp.cpp), with polynomials of twice the degree.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"
#include <cmath>

namespace tcc::codegen::vmath {
namespace {

constexpr double log2e = 0x1.71547652b82fep+0;
constexpr double ln2High = 0x1.62e42fefa2p-1, ln2Low = 0x1.9ef35793c7673p-41;
constexpr double roundingBias = 0x1.8p52;

/// e^r for |r| <= ln(2)/2.
Fp expPolynomial(Fp r) {
  Fp p = poly(r, {0x1.ad1da39230a6dp-26, 0x1.28a1783080dcdp-22, 0x1.71df5a8db04d9p-19,
                  0x1.a019a960cfaf1p-16, 0x1.a01a011843489p-13, 0x1.6c16c17d4976bp-10,
                  0x1.111111112977ep-7, 0x1.5555555553088p-5, 0x1.55555555554fdp-3, 0.5});
  return mulAdd(r * r, p, r) + 1.0;
}

Fp reduce(Fp x, Fp n) { return mulAdd(n, -ln2Low, mulAdd(n, -ln2High, x)); }

/// e^r * 2^n, where `shifted` holds n plus `bias` plus the rounding constant.
struct Scaling {
  Fp magic, second;
};
Scaling splitPower(Fp x) {
  constexpr int moved = 53; // the smallest n leaves the exponent of zero
  Mask small = x < 0.0;
  return {select(small, x.constant(roundingBias + 1023 + moved),
                 x.constant(roundingBias + 1023 - moved)),
          select(small, x.constant(std::ldexp(1.0, -moved)), x.constant(std::ldexp(1.0, moved)))};
}

} // namespace

Fp expF64(Fp x) {
  constexpr double least = -746.0;
  x = atMost(x, 710.0);
  if (hasScale(x)) {
    Fp n = mulAdd(x, log2e, roundingBias) - roundingBias;
    return scale(select(x < least, x.constant(0.0), expPolynomial(reduce(x, n))), n);
  }
  x = atLeast(x, least);
  Scaling scaling = splitPower(x);
  Fp shifted = mulAdd(x, log2e, scaling.magic);
  Fp p = expPolynomial(reduce(x, shifted - scaling.magic));
  return p * fromBits(bits(shifted) << 52) * scaling.second;
}

Fp exp2F64(Fp x) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  constexpr double least = -1076.0;
  x = atMost(x, 1024.0);
  if (hasScale(x)) {
    Fp n = roundEven(x);
    return scale(select(x < least, x.constant(0.0), expPolynomial((x - n) * ln2)), n);
  }
  x = atLeast(x, least);
  Scaling scaling = splitPower(x);
  Fp shifted = x + scaling.magic;
  Fp p = expPolynomial((x - (shifted - scaling.magic)) * ln2);
  return p * fromBits(bits(shifted) << 52) * scaling.second;
}

Fp expOverF64(Fp x, double scale) {
  Fp magic = x.constant(roundingBias + 1023 - std::log2(scale));
  Fp shifted = mulAdd(x, log2e, magic);
  return expPolynomial(reduce(x, shifted - magic)) * fromBits(bits(shifted) << 52);
}

Fp expm1OverF64(Fp x, double scale) {
  Fp magic = x.constant(roundingBias + 1023 - std::log2(scale));
  Fp shifted = mulAdd(x, log2e, magic);
  Fp r = reduce(x, shifted - magic);
  Fp p = poly(r, {0x1.1f1acc27e1bfcp-29, 0x1.af609bb47c68fp-26, 0x1.27e51341ea2fap-22,
                  0x1.71ddf7639679ep-19, 0x1.a01a018dec997p-16, 0x1.a01a01b035bdep-13,
                  0x1.6c16c16c1ab74p-10, 0x1.111111110f60dp-7, 0x1.555555555554dp-5,
                  0x1.5555555555559p-3, 0.5});
  Fp power = fromBits(bits(shifted) << 52);
  return mulAdd(power, mulAdd(r * r, p, r), power - 1.0 / scale);
}

Fp expm1F64(Fp x) {
  Fp y = expm1OverF64(atLeast(atMost(x, 710.0), -40.0), 2.0) * 2.0;
  return select(abs(x) < 0x1p-54, x, y);
}

Fp tanhF64(Fp x) {
  Fp y = atMost(abs(x), 20.0);
  Fp m = expm1OverF64(y + y, 1.0);
  return copySign(m / (m + 2.0), x);
}

} // namespace tcc::codegen::vmath
