//===- Bessel.cpp - ATen's Bessel functions J, Y, K and Airy's -------------===//
//
// All in f64. Small arguments take the power series about 0: S(z) = sum of z^k / (k! (k + n)!) and,
// for the functions with a logarithm, the same sum with psi(k + 1) + psi(k + n + 1) as a factor
// (DLMF 10.2.2, 10.8.1, 10.25.2, 10.31.1). Large ones take Hankel's expansions, whose least term is
// about exp(-2 x) (DLMF 10.17.3, 10.40.2). The series of J and Y lose what their terms exceed the
// result by: where both meet, at 14, either is within 2e-11 of the truth. K falls where its series
// grow, so in between it is the integral of exp(-x cosh t) cosh(v t), by equal steps: its integrand
// is analytic and dies at both ends, so steps of 1/6 leave less than 1e-13 (Trefethen and Weideman
// 2014). Airy's function is one of J, Y or K of the order 1/3 outside of its own series.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/Polynomial.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;
using std::numbers::pi;

Value tcc::aten::polynomial(PrimBuilder &b, ArrayRef<double> coefficients, Value z) {
  Value sum = b.full(b.dims(z), coefficients.back(), b.elem(z));
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = b.add(b.mul(sum, z), c);
  return sum;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Coefficients of S, or with `withPsi` of the sum beside the logarithm.
SmallVector<double> seriesAtZero(int order, bool withPsi) {
  constexpr int kTerms = 36; // (14 / 2)^2k / k!^2 is below 1e-20 then
  SmallVector<double> list;
  double factor = 1, harmonic = 0, shifted = order;
  for (int k = 0; k < kTerms; ++k) {
    if (k > 0) {
      factor /= static_cast<double>(k) * (k + order);
      harmonic += 1.0 / k;
      shifted += 1.0 / (k + order);
    }
    list.push_back(withPsi ? factor * (harmonic + shifted - 2 * std::numbers::egamma) : factor);
  }
  return list;
}

/// Hankel's a_k(v), k < 20.
SmallVector<double> hankel(double order) {
  SmallVector<double> list = {1};
  for (int k = 1; k < 20; ++k)
    list.push_back(list.back() * (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k));
  return list;
}

/// The sums of (-1)^k a_2k / x^2k and of (-1)^k a_2k+1 / x^(2k+1).
struct Waves {
  Value even, odd;
};
Waves wavesAtInfinity(PrimBuilder &b, double order, Value x) {
  SmallVector<double> even, odd;
  for (auto [k, a] : llvm::enumerate(hankel(order)))
    (k % 2 ? odd : even).push_back(k % 4 < 2 ? a : -a);
  Value inverse = b.div(b.scalar(1, b.elem(x)), x), square = b.mul(inverse, inverse);
  return {polynomial(b, even, square), b.mul(polynomial(b, odd, square), inverse)};
}

constexpr double kFarOscillating = 14;

/// (x / 2)^n, n 0 or 1.
Value halfPower(PrimBuilder &b, Value x, int order) {
  return order ? b.mul(x, 0.5) : b.full(b.dims(x), 1, b.elem(x));
}

/// J_n(x), or Y_n(x), of x >= 0; Y is -inf at 0.
template <bool second> Value oscillating(PrimBuilder &b, Value x, int order) {
  Value isFar = b.compare(P::gt, x, kFarOscillating);
  Value small = b.minimum(x, kFarOscillating);
  Value z = b.mul(b.mul(small, small), -0.25), power = halfPower(b, small, order);
  Value near = b.mul(power, polynomial(b, seriesAtZero(order, false), z));
  if (second) {
    // 2 / x alone may be infinite where 2 / (pi x) is not.
    Value beside = b.mul(power, polynomial(b, seriesAtZero(order, true), z));
    near = b.sub(b.mul(b.mul(b.log(b.mul(small, 0.5)), near), 2.0), beside);
    near = b.mul(near, 1 / pi);
    if (order == 1)
      near = b.sub(near, b.div(b.scalar(2 / pi, b.elem(x)), small));
    near = b.select(b.compare(P::eq, x, 0.0), b.scalar(-kInfinity, b.elem(x)), near);
  }
  Value large = b.maximum(x, kFarOscillating);
  Waves waves = wavesAtInfinity(b, order, large);
  // Of x - pi / 4 or x - 3 pi / 4, times the root of 2: a difference would round a large x.
  Value sineOfX = b.unary<prim::SinOp>(large), cosineOfX = b.unary<prim::CosOp>(large);
  Value plus = b.add(sineOfX, cosineOfX), minus = b.sub(sineOfX, cosineOfX);
  Value sine = order ? b.neg(plus) : minus, cosine = order ? minus : plus;
  Value wave = second ? b.add(b.mul(sine, waves.even), b.mul(cosine, waves.odd))
                      : b.sub(b.mul(cosine, waves.even), b.mul(sine, waves.odd));
  Value far = b.mul(wave, b.sqrt(b.div(b.scalar(1 / pi, b.elem(x)), large)));
  far = b.select(b.predicate<prim::IsInfOp>(x), b.scalar(0, b.elem(x)), far);
  return b.select(isFar, far, near);
}

constexpr double kFarDecaying = 18;

/// e^x K_v(x) of x >= 1.8: by steps of the integral, from 18 on by the expansion.
Value scaledDecaying(PrimBuilder &b, Value x, double order) {
  constexpr double kStep = 1.0 / 6;
  Value isFar = b.compare(P::gt, x, kFarDecaying);
  Value middle = b.minimum(x, kFarDecaying);
  Value sum = b.full(b.dims(x), 0.5 * kStep, b.elem(x));
  for (int k = 1; k * kStep < 4; ++k) { // exp(-1.8 (cosh 4 - 1)) is 4e-21
    double t = k * kStep;
    Value term = b.exp(b.mul(middle, 1 - std::cosh(t)));
    sum = b.add(sum, b.mul(term, kStep * std::cosh(order * t)));
  }
  Value large = b.maximum(x, kFarDecaying), one = b.scalar(1, b.elem(x));
  Value inverse = b.div(one, large);
  Value far = b.mul(b.sqrt(b.mul(inverse, pi / 2)), polynomial(b, hankel(order), inverse));
  return b.select(isFar, far, sum);
}

/// K_n(x), or e^x K_n(x): inf at 0, NaN below.
template <int order, bool scaled> Value decaying(PrimBuilder &b, Value x) {
  constexpr double kNear = 2;
  Value isNear = b.compare(P::le, x, kNear), small = b.minimum(x, kNear);
  Value z = b.mul(b.mul(small, small), 0.25), power = halfPower(b, small, order);
  Value first = b.mul(power, polynomial(b, seriesAtZero(order, false), z));
  Value beside = b.mul(b.mul(power, polynomial(b, seriesAtZero(order, true), z)), 0.5);
  Value product = b.mul(b.log(b.mul(small, 0.5)), first);
  Value near = order ? b.sub(product, beside) : b.sub(beside, product);
  if (order == 1)
    near = b.add(near, b.div(b.scalar(1, b.elem(x)), small));
  near = b.select(b.compare(P::eq, x, 0.0), b.scalar(kInfinity, b.elem(x)), near);
  Value other = scaledDecaying(b, b.maximum(x, kNear), order);
  if (scaled)
    near = b.mul(near, b.exp(small));
  else
    other = b.mul(other, b.exp(b.neg(x)));
  return b.select(isNear, near, other);
}

/// Ai(x) by its series (DLMF 9.4.1), which |x| < 8 allows.
Value airyAtZero(PrimBuilder &b, Value x) {
  SmallVector<double> f = {0.355028053887817239}, g = {-0.258819403792806798}; // Ai(0), Ai'(0)
  for (int k = 0; k < 40; ++k) {
    f.push_back(f.back() / ((3 * k + 2) * (3 * k + 3)));
    g.push_back(g.back() / ((3 * k + 3) * (3 * k + 4)));
  }
  Value cube = b.mul(b.mul(x, x), x);
  return b.add(polynomial(b, f, cube), b.mul(x, polynomial(b, g, cube)));
}

Value airy(PrimBuilder &b, Value x) {
  constexpr double kLow = -7, kHigh = 2;
  Value isLow = b.compare(P::lt, x, kLow), isHigh = b.compare(P::gt, x, kHigh);
  Value near = airyAtZero(b, b.minimum(b.maximum(x, kLow), kHigh));
  auto phase = [&](Value size) { return b.mul(b.mul(size, b.sqrt(size)), 2.0 / 3); };
  // DLMF 9.6.2
  Value high = b.maximum(x, kHigh), zeta = phase(high);
  Value decays = b.mul(scaledDecaying(b, zeta, 1.0 / 3), b.exp(b.neg(zeta)));
  decays = b.mul(b.mul(decays, b.sqrt(high)), 1 / (pi * std::numbers::sqrt3));
  decays = b.select(b.predicate<prim::IsInfOp>(x), b.scalar(0, b.elem(x)), decays);
  // DLMF 9.7.9, whose u_k is (-1)^k a_k(1/3)
  Value low = b.neg(b.minimum(x, kLow));
  zeta = phase(low);
  Waves waves = wavesAtInfinity(b, 1.0 / 3, zeta);
  Value angle = b.sub(zeta, pi / 4);
  Value wave = b.sub(b.mul(b.unary<prim::CosOp>(angle), waves.even),
                     b.mul(b.unary<prim::SinOp>(angle), waves.odd));
  Value swings = b.div(b.mul(wave, std::numbers::inv_sqrtpi), b.sqrt(b.sqrt(low)));
  return b.select(isHigh, decays, b.select(isLow, swings, near));
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

template <int order> LogicalResult besselJ(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), b.builder().getF64Type());
  Value value = oscillating<false>(b, b.abs(x), order);
  return a.give(order ? b.select(b.compare(P::lt, x, 0.0), b.neg(value), value) : value);
}

template <int order> LogicalResult besselY(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.b.builder().getF64Type());
  return a.give(oscillating<true>(a.b, x, order));
}

template <int order, bool scaled> LogicalResult besselK(AtenNode &a) {
  Value x = a.cast(a.tensor(scaled ? "x" : "self"), a.b.builder().getF64Type());
  return a.give(decaying<order, scaled>(a.b, x));
}

LogicalResult airyAi(AtenNode &a) {
  return a.give(airy(a.b, a.cast(a.tensor("x"), a.b.builder().getF64Type())));
}

} // namespace

void tcc::populateAtenBesselRules(RuleSet &rules) {
  addRules(rules, {{"special_airy_ai", "default", "x", airyAi},
                   {"special_bessel_j0", "default", "self", besselJ<0>},
                   {"special_bessel_j1", "default", "self", besselJ<1>},
                   {"special_bessel_y0", "default", "self", besselY<0>},
                   {"special_bessel_y1", "default", "self", besselY<1>},
                   {"special_modified_bessel_k0", "default", "self", besselK<0, false>},
                   {"special_modified_bessel_k1", "default", "self", besselK<1, false>},
                   {"special_scaled_modified_bessel_k0", "default", "x", besselK<0, true>},
                   {"special_scaled_modified_bessel_k1", "default", "x", besselK<1, true>}});
}
