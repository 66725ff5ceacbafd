//===- Special.cpp - ATen's special functions ------------------------------===//
//
// In f64, by formulas that hold over the whole range; where two are needed, each
// is evaluated where it is good and the other's result is not selected. What is rounded to 32 bits
// in the end has shorter ones.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/Polynomial.h"
#include "Decompose/Idioms/Axes.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

Value doubles(AtenNode &a, StringRef name) { return a.number(name, a.b.builder().getF64Type()); }
/// Whether the result is rounded to at most 32 bits.
bool isNarrow(AtenNode &a) { return !a.own().isF64(); }

/// e^(x^2) erfc(x) to 2^-35: a polynomial of t = (|x| - 3) / (|x| + 3) over |x| + 3, which for
/// x < 0 is 2 e^(x^2) less the result.
Value roughScaledErfc(PrimBuilder &b, Value x) {
  Value w = b.div(b.scalar(1, b.elem(x)), b.add(b.abs(x), 3.0));
  Value t = b.sub(b.scalar(1, b.elem(x)), b.mul(w, 6.0));
  Value q = polynomial(b,
                       {0x1.12f21ddd9c24ap+0, -0x1.c44c471917950p-1, 0x1.2e326946dd004p-1,
                        -0x1.3deb2212f1c70p-2, 0x1.e995f1bed355ep-4, -0x1.b788faf899978p-6,
                        -0x1.3dd77cbdb057ap-10, 0x1.8d95abb6f65f5p-9, -0x1.1f4c310c5e9dcp-11,
                        -0x1.202d8d88cdadbp-12, 0x1.bf1dcae8d6d38p-14, 0x1.cdeb71f17cb23p-16,
                        -0x1.0ce4d87bef419p-16, -0x1.455310edb31d6p-19, 0x1.b7727e776f4c7p-20},
                       t);
  Value y = b.mul(q, w);
  Value mirrored = b.sub(b.mul(b.exp(b.mul(x, x)), 2.0), y);
  return b.select(b.compare(P::lt, x, 0.0), mirrored, y);
}

/// e^(x^2) erfc(x); beyond 25 the first terms of its asymptotic series.
Value scaledErfc(PrimBuilder &b, Value x, bool isNarrow) {
  if (isNarrow)
    return roughScaledErfc(b, x);
  Value square = b.mul(x, x), one = b.scalar(1, b.elem(x));
  Value direct = b.mul(b.exp(square), b.unary<prim::ErfcOp>(x));
  Value r = b.div(b.scalar(0.5, b.elem(x)), square); // 1 / (2 x^2)
  Value series = one;                                // 1 - r (1 - 3 r (1 - 5 r (...)))
  for (double k : {11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    series = b.sub(one, b.mul(b.mul(r, k), series));
  Value far = b.div(b.mul(series, std::numbers::inv_sqrtpi), x);
  return b.select(b.compare(P::gt, x, 25.0), far, direct);
}
LogicalResult erfcx(AtenNode &a) {
  return a.give(scaledErfc(a.b, doubles(a, "self"), isNarrow(a)));
}

/// log of the normal distribution function.
LogicalResult logNdtr(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = doubles(a, "self"), t = b.mul(x, std::numbers::sqrt2 / 2);
  Value low = b.sub(b.log(b.mul(scaledErfc(b, b.neg(t), isNarrow(a)), 0.5)), b.mul(t, t));
  Value high = b.unary<prim::Log1pOp>(b.mul(b.unary<prim::ErfcOp>(t), -0.5));
  return a.give(b.select(b.compare(P::lt, x, -1.0), low, high));
}

/// Where the normal distribution function is p: quotients of polynomials, near 1/2 of the distance
/// from there, else of r = sqrt(-log) of what is left to the nearer end, to 2^-52 (Wichura 1988,
/// algorithm AS 241). The coefficients of the three are chosen, for one polynomial.
LogicalResult ndtri(AtenNode &a) {
  PrimBuilder &b = a.b;
  constexpr int kCount = 8;
  static constexpr double kOver[3][kCount] = {
      {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
       1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
       3.3430575583588128105e+4, 2.5090809287301226727e+3},
      {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
       3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
       2.27238449892691845833e-2, 7.74545014278341407640e-4},
      {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
       2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
       2.71155556874348757815e-5, 2.01033439929228813265e-7}};
  static constexpr double kUnder[3][kCount] = {
      {1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
       2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
       5.2264952788528545610e+3},
      {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
       1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
       1.05075007164441684324e-9},
      {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
       7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
       2.04426310338993978564e-15}};
  Value p = doubles(a, "self"), q = b.sub(p, 0.5), one = b.scalar(1, b.elem(p));
  Value isMiddle = b.compare(P::le, b.abs(q), 0.425);
  Value r = b.sqrt(b.neg(b.log(b.minimum(p, b.sub(one, p)))));
  Value isNear = b.compare(P::le, r, 5.0);
  auto chosen = [&](Value middle, Value near, Value far) {
    return b.select(isMiddle, middle, b.select(isNear, near, far));
  };
  auto all = [&](double v) { return b.full(b.dims(p), v, b.elem(p)); };
  Value inside = b.neg(b.sub(b.mul(q, q), 0.180625));
  Value z = chosen(inside, b.sub(r, 1.6), b.sub(b.minimum(r, 100.0), 5.0));
  auto polynomial = [&](const double (&c)[3][kCount]) {
    Value sum;
    for (int k = kCount; k-- > 0;) {
      bool same = c[0][k] == c[1][k] && c[1][k] == c[2][k];
      Value next = same ? all(c[0][k]) : chosen(all(c[0][k]), all(c[1][k]), all(c[2][k]));
      sum = sum ? b.add(b.mul(sum, z), next) : next;
    }
    return sum;
  };
  Value sign = b.select(b.compare(P::lt, q, 0.0), b.neg(one), one);
  Value size = b.div(polynomial(kOver), polynomial(kUnder));
  // At 0 and 1 r is infinite; where there is no logarithm, NaN.
  size = b.select(b.compare(P::eq, r, std::numeric_limits<double>::infinity()), r, size);
  size = b.select(b.predicate<prim::IsNanOp>(r), r, size);
  return a.give(b.mul(size, b.select(isMiddle, q, sign)));
}

/// Sum over k >= 0 of (q + k)^-s: the first terms, then Euler and Maclaurin's. `minusPower(x)` is
/// x^-s.
Value hurwitzZeta(PrimBuilder &b, Value s, Value q, function_ref<Value(Value)> minusPower) {
  constexpr int kTerms = 12;
  static constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66};
  Value sum;
  for (int k = 0; k < kTerms; ++k) {
    Value term = minusPower(b.add(q, k));
    sum = sum ? b.add(sum, term) : term;
  }
  Value w = b.add(q, kTerms), last = minusPower(w);
  sum = b.add(sum, b.div(b.mul(last, w), b.sub(s, 1.0)));
  sum = b.add(sum, b.mul(last, 0.5));
  // B_2j / (2j)! s (s + 1) .. (s + 2j - 2) w^(1 - s - 2j)
  Value factor = b.div(s, w);
  double factorial = 2;
  // Powers of a huge s are 0, but their factors infinite.
  Value zero = b.scalar(0, b.elem(q)), isZero = b.compare(P::eq, last, 0.0);
  for (int j = 1; j <= 5; ++j) {
    Value product = b.select(isZero, zero, b.mul(factor, last));
    sum = b.add(sum, b.mul(product, kBernoulli[j - 1] / factorial));
    Value next = b.mul(b.add(s, 2 * j - 1), b.add(s, 2 * j));
    factor = b.div(b.mul(factor, next), b.mul(w, w));
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return sum;
}

/// The same for a whole number s that is known: powers are products.
Value hurwitzZeta(PrimBuilder &b, int64_t s, Value q) {
  return hurwitzZeta(b, b.full(b.dims(q), static_cast<double>(s), b.elem(q)), q, [&](Value x) {
    Value power;
    for (int64_t bit = 1; bit <= s; bit *= 2, x = bit <= s ? b.mul(x, x) : x)
      if (s & bit)
        power = power ? b.mul(power, x) : x;
    return b.div(b.scalar(1, b.elem(q)), power);
  });
}

Value hurwitzZeta(PrimBuilder &b, Value s, Value q) {
  return hurwitzZeta(b, s, q, [&, minus = b.neg(s)](Value x) { return b.pow(x, minus); });
}

/// The same of whole numbers s and q below 0, however far: of q = f - n with f in [0, 1) the first
/// n terms are (-1)^s ((1 - f)^-s + .. + (n - f)^-s).
Value hurwitzZetaBelowZero(PrimBuilder &b, Value s, Value q) {
  Value one = b.scalar(1, b.elem(q)), part = b.sub(q, b.unary<prim::FloorOp>(q));
  auto line = [&](Value x) { return b.unsqueeze(x, {0}); };
  Value starts = b.concat({line(part), line(b.sub(one, part)), line(b.sub(one, q))}, 0);
  Value sums = hurwitzZeta(b, b.broadcastTo(line(s), b.dims(starts)), starts);
  auto sum = [&](int64_t i) { return b.squeeze(b.sliceAxis(sums, 0, b.dim(i), b.dim(1)), {0}); };
  Value terms = b.sub(sum(1), sum(2)), half = b.mul(s, 0.5);
  Value isEven = b.compare(P::eq, b.unary<prim::FloorOp>(half), half);
  return b.add(sum(0), b.select(isEven, terms, b.neg(terms)));
}

/// Where q is not positive: infinite if it is whole, else defined for whole numbers s.
Value zetaBelowZero(PrimBuilder &b, Value s, Value q) {
  auto is = [&](Value v) { return b.compare(P::eq, b.unary<prim::FloorOp>(v), v); };
  Value inf = b.scalar(std::numeric_limits<double>::infinity(), b.elem(s));
  Value nan = b.scalar(std::nan(""), b.elem(s));
  Value value = b.select(is(s), hurwitzZetaBelowZero(b, s, q), nan);
  return b.select(is(q), inf, value);
}

LogicalResult zeta(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value s = doubles(a, "self"), q = doubles(a, "other");
  if (!s || !q)
    return a.fail("needs numbers");
  bool isPositive = !a.tensor("other") && a.real("other", 0) > 0;
  b.broadcastTogether(s, q);
  Value value = hurwitzZeta(b, s, q);
  if (!isPositive) { // seldom needed, and much longer
    Value low = b.compare(P::le, q, 0.0);
    Value any = b.reduce(prim::ReduceKind::any, low, allAxes(b.rank(low)), false);
    auto chosen = b.branch(
        b.readElements(any)[0],
        [&] { return SmallVector<Value>{b.select(low, zetaBelowZero(b, s, q), value)}; },
        [&] { return SmallVector<Value>{value}; });
    if (!chosen)
      return a.fail("its parts differ in shape");
    value = (*chosen)[0];
  }
  Value inf = b.scalar(std::numeric_limits<double>::infinity(), b.elem(s));
  Value nan = b.scalar(std::nan(""), b.elem(s));
  value = b.select(b.compare(P::lt, s, 1.0), nan, value);
  return a.give(b.select(b.compare(P::eq, s, 1.0), inf, value));
}

/// zeta(2, x), below 1/2 by reflection. Near its poles that is as torch has it, in x's type: the
/// sine of a rounded multiple of pi is not 0, so whole numbers have large values instead of
/// infinite ones.
Value trigamma(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  constexpr double kPi = std::numbers::pi;
  Type own = a.wide();
  Value turn = b.cast(b.mul(b.cast(x, own), b.scalar(kPi, own)), b.elem(x));
  Value sine = b.unary<prim::SinOp>(turn), isLow = b.compare(P::lt, x, 0.5);
  Value high = b.select(isLow, b.sub(b.scalar(1, b.elem(x)), x), x);
  Value sum = hurwitzZeta(b, 2, high);
  Value inf = b.scalar(std::numeric_limits<double>::infinity(), b.elem(x));
  sum = b.select(b.compare(P::eq, high, inf), b.scalar(0, b.elem(x)), sum);
  Value reflected = b.sub(b.div(b.scalar(kPi * kPi, b.elem(x)), b.mul(sine, sine)), sum);
  return b.select(isLow, reflected, sum);
}

/// The n-th derivative of pi cot(pi x), a polynomial of the cotangent.
Value cotangentDerivative(PrimBuilder &b, int64_t n, Value x) {
  constexpr double kPi = std::numbers::pi;
  std::vector<double> c = {0, 1};
  for (int64_t k = 0; k < n; ++k) { // c' (1 + t^2) for c(t), of the other sign
    std::vector<double> next(c.size() + 1);
    for (size_t i = 1; i < c.size(); ++i) {
      next[i - 1] -= static_cast<double>(i) * c[i];
      next[i + 1] -= static_cast<double>(i) * c[i];
    }
    c = std::move(next);
  }
  Value turn = b.mul(b.sub(x, b.unary<prim::FloorOp>(b.add(x, 0.5))), kPi);
  Value t = b.div(b.unary<prim::CosOp>(turn), b.unary<prim::SinOp>(turn)), square = b.mul(t, t);
  size_t top = c.size() - 1;
  Value sum = b.full(b.dims(x), c[top], b.elem(x));
  for (size_t i = top; i >= 2; i -= 2)
    sum = b.add(b.mul(sum, square), c[i - 2]);
  return b.mul(top % 2 ? b.mul(sum, t) : sum, std::pow(kPi, static_cast<double>(n + 1)));
}

/// (-1)^(n+1) n! zeta(n + 1, x), below 0 by reflection; the 0th is digamma.
LogicalResult polygamma(AtenNode &a) {
  PrimBuilder &b = a.b;
  int64_t n = a.integer("n", 0);
  Value x = doubles(a, "self");
  if (n < 0 || n > 100)
    return a.fail("needs an order from 0 to 100");
  if (n == 0)
    return a.give(b.unary<prim::DigammaOp>(x));
  if (n == 1)
    return a.give(trigamma(a, x));
  double factor = std::tgamma(static_cast<double>(n + 1)) * (n % 2 ? 1 : -1);
  Value isLow = b.compare(P::lt, x, 0.0);
  Value high = b.select(isLow, b.sub(b.scalar(1, b.elem(x)), x), x);
  Value value = b.mul(hurwitzZeta(b, n + 1, high), factor);
  Value reflected = b.sub(n % 2 ? b.neg(value) : value, cotangentDerivative(b, n, x));
  // Infinite at whole numbers, of the sign that the sum has.
  Value isPole = b.compare(P::eq, b.unary<prim::FloorOp>(x), x);
  Value pole = b.scalar(std::copysign(std::numeric_limits<double>::infinity(), factor), b.elem(x));
  Value low = b.select(isPole, pole, reflected);
  value = b.select(isLow, low, value);
  return a.give(b.select(b.compare(P::eq, x, 0.0), pole, value));
}

/// log of the multivariate gamma function.
LogicalResult multivariateLogGamma(AtenNode &a) {
  PrimBuilder &b = a.b;
  int64_t p = a.integer("p", 1);
  Value x = doubles(a, "self");
  if (p < 1 || p > 256)
    return a.fail("needs an order from 1 to 256");
  Value sum;
  for (int64_t j = 0; j < p; ++j) {
    Value term = b.unary<prim::LgammaOp>(b.sub(x, 0.5 * static_cast<double>(j)));
    sum = sum ? b.add(sum, term) : term;
  }
  double order = static_cast<double>(p);
  return a.give(b.add(sum, order * (order - 1) / 4 * std::log(std::numbers::pi)));
}

/// x 2^n in f64, by two factors, so that neither is infinite or 0 where x 2^n is not, and what is 0
/// stays it.
LogicalResult scaleByPower(AtenNode &a) {
  PrimBuilder &b = a.b;
  if (isa<ComplexType>(b.elem(a.tensor("other")))) {
    Value factor = b.pow(b.scalar(2, a.own()), a.cast(a.tensor("other"), a.own()));
    return a.give(b.mul(a.cast(a.tensor("self"), a.own()), factor));
  }
  constexpr double most = 1000; // 2^1000 is a number, and 2^-1000 is not subnormal
  Type wide = b.builder().getF64Type();
  Value n = a.number("other", wide);
  if (isa<ComplexType>(a.own())) {
    Value factor = b.unary<prim::Exp2Op>(n);
    return a.give(b.mul(a.cast(a.tensor("self"), a.own()), b.cast(factor, a.own())));
  }
  auto held = [&](Value v) { return b.minimum(b.maximum(v, -most), most); };
  Value first = held(n), result = b.mul(a.number("self", wide), b.unary<prim::Exp2Op>(first));
  if (a.own().isF64())
    result = b.mul(result, b.unary<prim::Exp2Op>(held(b.sub(n, first))));
  return a.give(result);
}

/// The mantissa in [1/2, 1) and the exponent; of infinite numbers, NaN and 0 themselves and 0.
LogicalResult mantissaAndExponent(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  Value x = doubles(a, "self");
  auto bitcast = [&](Value v, Type t) -> Value {
    return prim::BitcastOp::create(b.builder(), b.location(), b.type(v).clone(t), v);
  };
  auto mask = [&](int64_t bits) { // exactly
    return b.constant(DenseElementsAttr::get(RankedTensorType::get({}, i64), bits));
  };
  constexpr int64_t kExponent = int64_t(0x7ff) << 52, kHalf = int64_t(0x3fe) << 52;
  // What is subnormal is no longer so times 2^54.
  Value small = b.compare(P::lt, b.abs(x), 0x1p-1022);
  Value bits = bitcast(b.select(small, b.mul(x, 0x1p54), x), i64);
  Value exponent = b.binary<prim::AndOp>(bits, mask(kExponent));
  exponent = b.sub(b.binary<prim::ShiftRightOp>(exponent, b.scalar(52, i64)), 1022.0);
  exponent = b.sub(exponent, b.select(small, b.scalar(54, i64), b.scalar(0, i64)));
  Value mantissa = b.binary<prim::AndOp>(bits, mask(~kExponent));
  mantissa = bitcast(b.binary<prim::OrOp>(mantissa, mask(kHalf)), b.elem(x));
  Value none = b.binary<prim::OrOp>(b.compare(P::eq, x, 0.0),
                                    b.logicalNot(b.predicate<prim::IsFiniteOp>(x)));
  (void)a.give(0, b.select(none, x, mantissa));
  return a.give(1, b.select(none, b.scalar(0, i64), exponent));
}

/// sin(x) / x
LogicalResult sphericalBessel(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = doubles(a, "x"), one = b.scalar(1, b.elem(x));
  Value isZero = b.compare(P::eq, x, 0.0);
  Value ratio = b.div(b.unary<prim::SinOp>(x), b.select(isZero, one, x));
  Value infinite = b.predicate<prim::IsInfOp>(x);
  return a.give(b.select(isZero, one, b.select(infinite, b.scalar(0, b.elem(x)), ratio)));
}

/// I(x) e^-|x|; where I would overflow, the first terms of its asymptotic series
/// with mu = 4 order^2.
template <typename Op, int mu> LogicalResult scaledBessel(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = doubles(a, "self"), size = b.abs(x), one = b.scalar(1, b.elem(x));
  // Of f32, whose function is much shorter, where the series is good for its digits from 60 on.
  double most = isNarrow(a) ? 60 : 500;
  Value argument = b.minimum(size, most);
  if (isNarrow(a))
    argument = b.cast(argument, b.builder().getF32Type());
  Value near = b.mul(b.cast(b.unary<Op>(argument), b.elem(x)), b.exp(b.neg(size)));
  Value r = b.div(b.scalar(0.125, b.elem(x)), b.maximum(size, 1.0));
  Value tail = b.sub(one, b.mul(b.mul(r, b.sub(one, b.mul(r, (mu - 25) / 3.0))), (mu - 9) / 2.0));
  Value series = b.sub(one, b.mul(b.mul(r, mu - 1.0), tail));
  Value far = b.div(series, b.sqrt(b.mul(b.maximum(size, 1.0), 2 * std::numbers::pi)));
  Value value = b.select(b.compare(P::gt, size, most), far, near);
  bool odd = mu != 0;
  return a.give(odd ? b.select(b.compare(P::lt, x, 0.0), b.neg(value), value) : value);
}

} // namespace

void tcc::populateAtenSpecialRules(RuleSet &rules) {
  addRules(rules, {{"special_erfcx", "default", "self", erfcx},
                   {"special_log_ndtr", "default", "self", logNdtr},
                   {"special_ndtri", "default", "self", ndtri},
                   {"special_zeta", "default self_scalar other_scalar", "", zeta},
                   {"polygamma", "default", "self", polygamma},
                   {"special_polygamma", "default", "self", polygamma},
                   {"mvlgamma", "default", "self", multivariateLogGamma},
                   {"special_multigammaln", "default", "self", multivariateLogGamma},
                   {"frexp", "Tensor", "self", mantissaAndExponent},
                   {"ldexp", "Tensor", "self other", scaleByPower},
                   {"special_spherical_bessel_j0", "default", "x", sphericalBessel},
                   {"special_i0e", "default", "self", scaledBessel<prim::BesselI0Op, 0>},
                   {"special_i1e", "default", "self", scaledBessel<prim::BesselI1Op, 4>}});
}
