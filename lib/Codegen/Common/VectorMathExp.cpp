//===- VectorMathExp.cpp - exp, exp2, expm1 -------------------------------===//
//
// e^x = 2^n * e^r with n = round(x / ln 2) and r = x - n ln 2, |r| <= ln(2)/2, where
// a polynomial of low degree gives e^r. Adding 1.5 * 2^23 rounds to an integer and
// leaves it in the low bits of the sum, so n costs one multiply-add, n as a float
// one subtraction and 2^n one shift.
//
// ln 2 is subtracted in two parts; the high one has so few bits that n times it is
// exact without a fused multiply-add as well.
//
// Where no instruction scales by 2^n, a factor that is chosen keeps 2^n a normal number. The
// exponentials of a softmax and of a sigmoid need no choice: the former are at most 1, and of the
// latter those that would not be normal are nothing beside 1.
//
// What is too small for a number, as everything is that a mask hides, is made of a factor zero: a
// product or an instruction that has to round to zero takes a hundred cycles. Of a result below 1,
// 2^n is moved by so much that the exponent of the smallest n is that of zero.
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"
#include <cmath>

namespace tcc::codegen::vmath {
namespace {

constexpr double log2e = 0x1.715476p+0;
constexpr double ln2High = 0x1.62e4p-1, ln2Low = 0x1.7f7d1cp-20;
constexpr double ln2 = 0x1.62e430p-1;
constexpr double roundingBias = 0x1.8p23, halving = roundingBias + 127 - 1;
constexpr double leastExponent = -104.0; ///< e^x of less is zero

/// x = n ln 2 + r: r, n, and 2^(n + bias).
struct Reduced {
  Fp r, n, power;
};

/// `magic` is the rounding constant plus a bias that moves n to where neither end of
/// its range leaves the exponents of normal numbers.
Reduced reduceExp(Fp x, Fp magic) {
  Fp shifted = mulAdd(x, log2e, magic);
  Fp n = shifted - magic;
  Fp r = mulAdd(n, -ln2Low, mulAdd(n, -ln2High, x));
  return {r, n, fromBits(bits(shifted) << 23)};
}

constexpr int moved = 23;

/// 2^n as two factors, so that results up to the largest number and down to the
/// smallest subnormal are rounded once.
struct TwoFactors {
  Fp magic, second;
};
TwoFactors splitPower(Fp x) {
  Mask small = bits(x) < 0; // a selection looks at signs, and needs no comparison
  return {
      select(small, x.constant(roundingBias + 127 + moved), x.constant(roundingBias + 127 - moved)),
      select(small, x.constant(std::ldexp(1.0, -moved)), x.constant(std::ldexp(1.0, moved)))};
}

constexpr double expCoefficients[] = {
    0x1.6a6b2ep-10, 0x1.123f8ap-7, 0x1.55589ep-5, 0x1.55548ap-3, 0x1.fffffcp-2, 1.0, 1.0};

Fp expPolynomial(Fp r) { return poly(r, expCoefficients); }

/// e^-r of an r that is given.
Fp expPolynomialOfNegative(Fp r) {
  llvm::SmallVector<double> alternating(std::begin(expCoefficients), std::end(expCoefficients));
  for (size_t i = alternating.size() % 2; i < alternating.size(); i += 2)
    alternating[i] = -alternating[i];
  return poly(r, alternating);
}

/// Where the target has an instruction for 2^f, which is good to the last place for the fraction f
/// of x log2 e = n + f: half of the instructions of a polynomial. x log2 e is kept in more bits
/// than an f32 has.
Fp expByExp2(Fp x) {
  constexpr double log2eLow = 0x1.4ae0c0p-26, magic = roundingBias + 127;
  auto clamp = [&](mlir::Value v) -> mlir::Value {
    v = mlir::arith::MinNumFOp::create(x.e->builder, v, x.constant(127.0).v);
    return mlir::arith::MaxNumFOp::create(x.e->builder, v, x.constant(-126.0).v);
  };
  Fp shifted = Fp{x.e, clamp((x * log2e).v)} + magic;
  Fp f = mulAdd(x, log2eLow, mulAdd(x, log2e, -(shifted - magic)));
  return hardwareExp2(f) * fromBits(bits(shifted) << 23);
}

/// Where an instruction scales, which takes any n.
Fp scaledExp(Fp x) {
  Reduced a = reduceExp(x, x.constant(roundingBias));
  return scale(select(x < leastExponent, x.constant(0.0), expPolynomial(a.r)), a.n);
}

Fp expF32(Fp x) {
  if (x.e->options.hasExp2)
    return expByExp2(x);
  x = atMost(x, 89.0);
  if (hasScale(x))
    return scaledExp(x);
  x = atLeast(x, leastExponent);
  TwoFactors factors = splitPower(x);
  Reduced a = reduceExp(x, factors.magic);
  return expPolynomial(a.r) * a.power * factors.second;
}

Fp exp2F32(Fp x) {
  auto polynomial = [](Fp r) {
    return poly(r, {0x1.41871ep-13, 0x1.5f0d58p-10, 0x1.3b2dcap-7, 0x1.c6af74p-5, 0x1.ebfbdcp-3,
                    0x1.62e430p-1, 1.0});
  };
  constexpr double least = -150.0;
  x = atMost(x, 128.0);
  if (hasScale(x)) {
    Fp n = roundEven(x);
    return scale(select(x < least, x.constant(0.0), polynomial(x - n)), n);
  }
  x = atLeast(x, least);
  TwoFactors factors = splitPower(x);
  Fp shifted = x + factors.magic;
  Fp r = x - (shifted - factors.magic);
  return polynomial(r) * fromBits(bits(shifted) << 23) * factors.second;
}

/// (e^x - 1) / 2 with e^r = 1 + r + r^2 P(r): 2^(n-1) * (e^r - 1) + (2^(n-1) - 1/2), whose last
/// term is exact wherever it matters.
Fp halfExpm1Of(const Reduced &a, llvm::ArrayRef<double> p) {
  Fp q = mulAdd(a.r * a.r, poly(a.r, p), a.r);
  return mulAdd(a.power, q, a.power - 0.5);
}

/// Halved, because 2^128 is no float though e^88.7 is one. Below 2^-25 the result is
/// x, whose last bits and sign of zero the halving would lose.
Fp expm1F32(Fp x) {
  Fp clamped = atLeast(atMost(x, 89.0), -20.0);
  Fp y = halfExpm1Of(
             reduceExp(clamped, x.constant(halving)),
             {0x1.9e7dd0p-13, 0x1.6d405ap-10, 0x1.1112d6p-7, 0x1.5554f4p-5, 0x1.555554p-3, 0.5}) *
         2.0;
  return select(abs(x) < 0x1p-25, x, y);
}

} // namespace

std::pair<Fp, Fp> halfExpm1OfTwice(Fp x) {
  Fp shifted = mulAdd(x, 2 * log2e, halving), n = shifted - halving;
  // Of a small x, n times what a rounded ln 2 lacks is less than what is rounded anyway.
  Fp r = x.e->options.hasFma ? mulAdd(n, -ln2 / 2, x)
                             : mulAdd(n, -ln2Low / 2, mulAdd(n, -ln2High / 2, x));
  // e^2r = 1 + 2r + 4r^2 P(2r); pairs of coefficients wait for each other less, but are rounded
  // more without fused multiply-adds.
  constexpr double c[] = {0x1.6b7a36p-4, 0x1.122cc6p-2, 0x1.555716p-1, 0x1.5554aap+0,
                          0x1.fffffep+0};
  Fp z = r * r, power = fromBits(bits(shifted) << 23);
  Fp p = x.e->options.hasFma
             ? mulAdd(z, mulAdd(z, c[0], mulAdd(r, c[1], c[2])), mulAdd(r, c[3], c[4]))
             : poly(r, c);
  Fp q = mulAdd(z, p, r + r);
  return {mulAdd(power, q, power - 0.5), mulAdd(power, q, power + 0.5)};
}

Fp halfExp(Fp x) {
  x = atMost(x, 89.5);
  Reduced a = reduceExp(x, x.constant(roundingBias + 127 - 2));
  return expPolynomial(a.r) * a.power * 2.0;
}

/// e^x for f32 as 2^(n + by) times e^r 2^-by, whose power is in the coefficients.
static Fp movedExp(Fp x, int by) {
  Reduced a = reduceExp(x, x.constant(roundingBias + 127 + by));
  llvm::SmallVector<double> scaled(std::begin(expCoefficients), std::end(expCoefficients));
  for (double &c : scaled)
    c = std::ldexp(c, -by);
  return poly(a.r, scaled) * a.power;
}

bool needsFactors(Fp x) { return !x.isF64() && !x.e->options.hasExp2 && !hasScale(x); }

Fp expNotPositive(Fp x) {
  if (x.isF64() || x.e->options.hasExp2)
    return exp(x);
  return needsFactors(x) ? movedExp(atLeast(x, leastExponent), moved) : scaledExp(x);
}
Fp expBesideOne(Fp x) {
  return needsFactors(x) ? movedExp(atLeast(atMost(x, 89.0), -86.0), -1) : exp(x);
}

/// 1 / (1 + e^-x) as 1/2 / (1/2 + 2^(n-1) e^r): halves keep 2^n a number, and the sum is one
/// multiply-add. Of an x so negative that n is held, r grows and its polynomial with it, to a
/// result of zero.
Fp logistic(Fp x) {
  constexpr double magic = roundingBias + 127 - 1, largestN = 128;
  x = atMost(x, 86.0);
  Fp shifted = atMost(mulAdd(x, -log2e, magic), magic + largestN);
  Fp n = shifted - magic;
  Fp negated = mulAdd(n, ln2Low, mulAdd(n, ln2High, x));
  return 0.5 / mulAdd(expPolynomialOfNegative(negated), fromBits(bits(shifted) << 23), 0.5);
}

Fp exp(Fp x) { return x.isF64() ? expF64(x) : expF32(x); }
Fp exp2(Fp x) { return x.isF64() ? exp2F64(x) : exp2F32(x); }
Fp expm1(Fp x) { return x.isF64() ? expm1F64(x) : expm1F32(x); }

} // namespace tcc::codegen::vmath
