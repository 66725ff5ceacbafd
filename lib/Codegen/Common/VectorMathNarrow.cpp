//===- VectorMathNarrow.cpp - Single functions of what has 16 bits --------===//
//
// 17 bits of a result that is rounded to bf16 or f16, in f32, with instructions that are nearly
// right: logarithms, reciprocals and roots of one instruction on a GPU. A logarithm there is off by
// 2^-22 of one, so that it is taken of what is far from one; nearer there is a polynomial.
//
//   asinh x = log(x/2 + sqrt(x^2 + 1)/2) + log 2; acosh x = 2 asinh sqrt((x - 1)/2)
//   erfc x  = e^(-x^2) q(t) / (x + 3) as in f32 (VectorMathErf.cpp)
//   digamma = (x - x0) P(x) from 1 to 3, where x0 is its zero; above, the asymptotic series
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"

using namespace mlir;
namespace tcc::codegen {
namespace vmath {
namespace {

constexpr double ln2 = 0x1.62e43p-1, log2e = 0x1.715476p+0;

template <typename Op> Fp nearly(Fp x) {
  return {x.e, Op::create(x.e->builder, x.v, arith::FastMathFlags::afn)};
}
/// Of a normal number.
Fp nearLog2(Fp x) { return nearly<math::Log2Op>(x); }

/// x + x^3 P(x^2).
Fp oddPolynomial(Fp x, llvm::ArrayRef<double> p) {
  Fp z = x * x;
  return mulAdd(x * z, poly(z, p), x);
}

} // namespace

Fp roughAsinh(Fp x) {
  Fp a = abs(x);
  Fp near = oddPolynomial(a, {-0x1.0ecb8cp-5, 0x1.2cde84p-4, -0x1.553568p-3});
  // The square of a large number is none.
  Fp root = select(a < 0x1p60, nearly<math::SqrtOp>(mulAdd(a, a, 1.0)), a);
  Fp far = mulAdd(nearLog2(mulAdd(a, 0.5, root * 0.5)), ln2, a.constant(ln2));
  return copySign(select(a < 0.5, near, far), x);
}

Fp roughAcosh(Fp x) {
  Fp y = roughAsinh(nearly<math::SqrtOp>(mulAdd(x, 0.5, -0.5)));
  return select(x < 1.0, x.nan(), y + y);
}

Fp roughAtanh(Fp x) {
  Fp a = abs(x);
  Fp near = oddPolynomial(a, {0x1.5052d8p-3, 0x1.973c36p-3, 0x1.5559e8p-2});
  Fp far = nearLog2((1.0 + a) * roughQuotient(1.0, 1.0 - a)) * (ln2 / 2);
  Fp y = select(a < 0.3, near, select(a == 1.0, a.infinity(), far));
  return select(a > 1.0, x.nan(), copySign(y, x));
}

Fp roughAtan(Fp x) {
  Fp a = abs(x);
  Mask steep = a > 1.0;
  Fp t = select(steep, roughQuotient(1.0, a), a);
  Fp y = oddPolynomial(
      t, {-0x1.c905a8p-7, 0x1.e14d16p-5, -0x1.f5c422p-4, 0x1.91c656p-3, -0x1.551530p-2});
  return copySign(select(steep, 0x1.921fb6p+0 - y, y), x);
}

/// e^x / 2 and e^-x / 2.
static std::pair<Fp, Fp> halfExponentials(Fp x) {
  Fp h = nearly<math::Exp2Op>(mulAdd(x, log2e, -1.0));
  return {h, roughQuotient(0.25, h)};
}

Fp roughSinh(Fp x) {
  Fp a = abs(x);
  auto [up, down] = halfExponentials(a);
  Fp near = oddPolynomial(a, {0x1.13552ap-7, 0x1.55528ap-3});
  return copySign(select(a < 0.5, near, up - down), x);
}

Fp roughCosh(Fp x) {
  auto [up, down] = halfExponentials(abs(x));
  return up + down;
}

Fp roughErfc(Fp x) {
  Fp a = atMost(abs(x), 10.5); // from there on the result is 0
  Fp square = a * a, n = roundEven(square * -log2e);
  // The square has more bits than an f32, unless x has few.
  Fp rest = isWidened(x.v) || !x.e->options.hasFma ? x.constant(0.0) : mulAdd(a, a, -square);
  Fp f = mulAdd(square, -0x1.4ae0cp-26, mulAdd(square, -log2e, -n));
  f = mulAdd(rest, -log2e, f);
  Fp w = roughQuotient(1.0, a + 3.0);
  Fp q = poly(mulAdd(w, -6.0, 1.0), {-0x1.666ae6p-8, -0x1.a99dd6p-6, 0x1.f25c82p-4, -0x1.3df2b6p-2,
                                     0x1.2e0c30p-1, -0x1.c44beap-1, 0x1.12f280p+0});
  Fp y = nearly<math::Exp2Op>(f) * q * w * nearly<math::Exp2Op>(n);
  return select(bits(x) < 0, 2.0 - y, y); // where x is -0, y is 1
}

Fp roughErfinv(Fp x) {
  Fp w = nearly<math::LogOp>((1.0 - x) * (1.0 + x)) * -1.0;
  Fp p = poly(w - 2.75, {-0x1.6ff1cep-19, -0x1.163f30p-18, 0x1.ba67c6p-13, -0x1.152ac0p-10,
                         -0x1.4a67bep-8, 0x1.f46c36p-3, 0x1.901324p+0});
  auto tail = [&]() -> llvm::SmallVector<Value> {
    Fp far = poly(nearly<math::SqrtOp>(w) - 3.2,
                  {0x1.dfb398p-11, -0x1.35f8f8p-9, 0x1.93160cp-9, -0x1.108218p-8, 0x1.85cfb8p-8,
                   0x1.0132a6p+0, 0x1.844e3ap+1});
    return {select(w < 5.5, p, far).v};
  };
  // Of a bf16 w is below 5.
  if (!isWidened(x.v) || !getElementTypeOrSelf(x.v.getDefiningOp()->getOperand(0)).isBF16())
    p.v = ifAnyLane(w >= 5.5, p.v, tail)[0];
  Fp a = abs(x), y = select(a == 1.0, copySign(x.infinity(), x), x * p);
  return select(a > 1.0, x.nan(), y);
}

Fp roughDigamma(Fp x) {
  constexpr double zeroHigh = 0x1.762d86p+0, zeroLow = 0x1.ab5f20p-27;
  Mask reflected = x <= 0.0;
  Fp y = select(reflected, 1.0 - x, x);
  Mask low = y < 1.0;
  Fp inverse = roughDivide(y.constant(1.0), y);
  Fp t = select(low, y + 1.0, y);
  Fp p =
      poly(t - 2.0, {-0x1.725a30p-10, 0x1.6388e4p-9, -0x1.f7a2acp-10, 0x1.129aa6p-8, -0x1.7f73b0p-7,
                     0x1.88af6ep-6, -0x1.9568e6p-5, 0x1.be2ff8p-4, -0x1.0affe6p-2, 0x1.921402p-1});
  Fp near = ((t - zeroHigh) - zeroLow) * p;
  Fp z = inverse * inverse;
  Fp far =
      mulAdd(inverse, -0.5, nearly<math::LogOp>(y)) - z * mulAdd(z, -0x1.0402a6p-7, 0x1.554fcap-4);
  Fp result = select(t < 3.0, near - select(low, inverse, y.constant(0.0)), far);
  // pi / tan(pi x): the cotangent's pole and zero are factors.
  Fp fraction = x - roundEven(x), square = fraction * fraction;
  Fp cotangent = poly(square, {0x1.891828p+0, 0x1.86afb8p-2, 0x1.6ade78p-1, 0x1.58ce2ap-1,
                               0x1.6b9d5cp-1, 0x1.fffffap-1}) *
                 mulAdd(square, -4.0, 1.0);
  Fp mirror = result - roughDivide(cotangent, fraction);
  mirror = select(fraction == 0.0, x.nan(), mirror);
  mirror = select(x == 0.0, copySign(x.infinity(), -x), mirror);
  return select(reflected, mirror, result);
}

} // namespace vmath
} // namespace tcc::codegen
