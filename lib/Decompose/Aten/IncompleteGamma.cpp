//===- IncompleteGamma.cpp - The regularized incomplete gamma functions ----===//
//
// P(s, x) below x = s + 1 by its power series, Q = 1 - P above by Legendre's continued fraction
// (DLMF 8.11.4, 8.9.2), in f64, both until no element changes any more. The fraction is evaluated
// from the front by Lentz's method, whose quotients never vanish for x > s.
//
// Their number of turns would grow with the root of s, and x^s e^-x / Gamma(s) would lose all
// digits in the logarithm of its factors. So for large s near x both are Temme's uniform expansion
// (DLMF 8.12.3 and 8.12.8), an error function of eta = +-sqrt(2 h), h = x/s - 1 - log(x/s), and for
// large s elsewhere that factor is sqrt(s / 2 pi) e^(-s h) over Stirling's series.
//
// For small s, Q is as small as s and no difference of P from 1: there it is 1 - x^s / Gamma(s +
// 1), by expm1, less the rest of a series (as in Cephes' igamc_series).
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
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPrecision = 0x1p-52;

using Values = SmallVector<Value>;

/// Repeats `turn` on `inits` and a count k (f64, from 1) while `open` holds anywhere. Some turns
/// are one: what they leave would else go through memory, and be asked about, each time.
Values until(PrimBuilder &b, Values inits, function_ref<Values(ValueRange, Value)> turn,
             function_ref<Value(ValueRange)> open) {
  constexpr double kMostTurns = 100000;
  constexpr int kTogether = 8;
  inits.push_back(b.scalar(1, b.builder().getF64Type()));
  auto more = [&](ValueRange v) {
    Value any = open(v.drop_back());
    any = b.reduce(K::any, any, allAxes(b.rank(any)), false);
    return b.readElements(b.binary<prim::AndOp>(any, b.compare(P::lt, v.back(), kMostTurns)))[0];
  };
  auto body = [&](ValueRange v) -> std::optional<Values> {
    Values next(v.drop_back());
    for (int i = 0; i < kTogether; ++i)
      next = turn(next, b.add(v.back(), double(i)));
    next.push_back(b.add(v.back(), double(kTogether)));
    return next;
  };
  auto results = b.loop(inits, more, body);
  if (results)
    return *results;
  b.fault("the loop's values change their types");
  return inits;
}

/// The sum of x^k / ((s + 1) .. (s + k)), which is P(s, x) s Gamma(s) e^x / x^s.
Value series(PrimBuilder &b, Value s, Value x) {
  Value one = b.full(b.dims(x), 1, b.elem(x));
  auto turn = [&](ValueRange v, Value k) -> Values {
    Value term = b.div(b.mul(v[1], x), b.add(s, k));
    return {b.add(v[0], term), term};
  };
  auto open = [&](ValueRange v) { return b.compare(P::gt, v[1], b.mul(v[0], kPrecision)); };
  return until(b, {one, one}, turn, open)[0];
}

/// 1 / (x + 1 - s - 1 (1 - s) / (x + 3 - s - 2 (2 - s) / ..)), which is Q(s, x) Gamma(s) e^x / x^s.
Value fraction(PrimBuilder &b, Value s, Value x) {
  Value one = b.scalar(1, b.elem(x)), base = b.add(b.sub(x, s), 1.0);
  Value d = b.div(one, base), c = b.full(b.dims(x), 1e300, b.elem(x));
  auto turn = [&](ValueRange v, Value k) -> Values {
    Value numerator = b.mul(k, b.sub(s, k)), own = b.add(base, b.mul(k, 2.0));
    Value next = b.div(one, b.add(b.mul(numerator, v[1]), own));
    Value upper = b.add(own, b.div(numerator, v[2]));
    Value change = b.mul(next, upper);
    return {b.mul(v[0], change), next, upper, change};
  };
  auto open = [&](ValueRange v) {
    return b.compare(P::gt, b.abs(b.sub(v[3], 1.0)), 2 * kPrecision);
  };
  Value start = b.full(b.dims(x), 2, b.elem(x));
  return until(b, {d, d, c, start}, turn, open)[0];
}

constexpr double kLargeS = 200; // from here on
constexpr double kNear = 0.3;   // and |x / s - 1| up to here, by Temme's expansion

/// Coefficients of eta^n s^-k: row k, up to what is below 2^-58 for s = kLargeS.
constexpr double kTemme[][17] = {
    {-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
     0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
     -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
     1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
     -5.830772132550426e-11},
    {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
     0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
     -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
     1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09},
    {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
     -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
     1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07,
     -2.0477098421990866e-10, -1.409252991086752e-08},
    {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
     -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05,
     -5.6749528269915965e-06, 1.4230900732435883e-06},
    {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
     6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05},
    {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
     -0.00019932570516188847, 6.797780477937208e-05},
    {0.0005313079364639922, -0.0005921664373536939},
};

/// d - log(1 + d), where d may be small: 2 r^2 / (1 - r) - 2 (r^3 / 3 + r^5 / 5 + ..) of
/// r = d / (2 + d).
Value aboveItsLogarithm(PrimBuilder &b, Value d) {
  Value r = b.div(d, b.add(d, 2.0)), square = b.mul(r, r);
  SmallVector<double> odd;
  for (int k = 3; k <= 27; k += 2)
    odd.push_back(2.0 / k);
  return b.sub(b.mul(d, r), b.mul(b.mul(square, r), polynomial(b, odd, square)));
}

struct Large {
  Value p, q;  ///< near s = x
  Value scale; ///< x^s e^-x / Gamma(s)
  Value near;  ///< where p and q hold
};

Large largeS(PrimBuilder &b, Value s, Value x) {
  Value d = b.div(b.sub(x, s), s), near = b.compare(P::le, b.abs(d), kNear);
  Value h = b.select(near, aboveItsLogarithm(b, b.select(near, d, b.scalar(0, b.elem(d)))),
                     b.sub(d, b.log(b.div(x, s))));
  Value inverse = b.div(b.scalar(1, b.elem(s)), s);
  Value decay = b.exp(b.neg(b.mul(s, h)));
  Value eta = b.sqrt(b.mul(h, 2.0));
  eta = b.select(b.compare(P::lt, d, 0.0), b.neg(eta), eta);
  Value sum;
  for (const auto &row : llvm::reverse(kTemme)) {
    Value c = polynomial(b, row, eta);
    sum = sum ? b.add(b.mul(sum, inverse), c) : c;
  }
  Value root = b.sqrt(b.mul(s, 2 * std::numbers::pi));
  Value rest = b.mul(b.div(decay, root), sum), far = b.mul(eta, b.sqrt(b.mul(s, 0.5)));
  auto half = [&](Value z) { return b.mul(b.unary<prim::ErfcOp>(z), 0.5); };
  // s! = sqrt(2 pi s) (s / e)^s (1 + 1 / 12 s + ..)
  Value stirling = polynomial(
      b, {1, 1.0 / 12, 1.0 / 288, -139.0 / 51840, -571.0 / 2488320, 163879.0 / 209018880}, inverse);
  Value scale = b.div(b.mul(s, decay), b.mul(root, stirling));
  return {b.sub(half(b.neg(far)), rest), b.add(half(far), rest), scale, near};
}

constexpr double kSmallS = 0.5; // up to here Q is computed on its own below x = s + 1

/// log Gamma(1 + s), with all digits near s = 0: -gamma s + zeta(2) s^2 / 2 - zeta(3) s^3 / 3 + ..,
/// by zeta(n) - 1, which is small, and log(1 + s) for the ones.
Value logGammaAfter(PrimBuilder &b, Value s) {
  SmallVector<double> terms = {0, 1 - std::numbers::egamma};
  for (int n = 2; n <= 40; ++n) {
    constexpr int kSummed = 1000; // the rest by Euler and Maclaurin
    double last = kSummed, rest = std::pow(last, 1 - n) / (n - 1) - std::pow(last, -n) / 2 +
                                  n * std::pow(last, -n - 1) / 12;
    for (int k = kSummed; k >= 2; --k)
      rest += std::pow(k, -n);
    terms.push_back((n % 2 ? -rest : rest) / n);
  }
  return b.sub(polynomial(b, terms, s), b.unary<prim::Log1pOp>(s));
}

/// Q(s, x) for s <= kSmallS and x < s + 1.
Value smallS(PrimBuilder &b, Value s, Value x) {
  // x^k / k! / (s + k) falls below 2^-53 of the first one.
  constexpr int kTerms = 24;
  Value power = b.mul(x, -1.0), sum = b.div(power, b.add(s, 1.0)), term = power;
  for (int k = 2; k <= kTerms; ++k) {
    term = b.div(b.mul(term, power), k);
    sum = b.add(sum, b.div(term, b.add(s, k)));
  }
  Value exponent = b.sub(b.mul(s, b.log(x)), logGammaAfter(b, s));
  Value whole = b.exp(exponent); // x^s / Gamma(s + 1)
  return b.sub(b.neg(b.unary<prim::Expm1Op>(exponent)), b.mul(b.mul(whole, s), sum));
}

/// P(s, x), or with `upper` Q(s, x), with torch's values at the edges.
template <bool upper> LogicalResult incompleteGamma(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f64 = b.builder().getF64Type();
  Value s = a.cast(a.tensor("self"), f64), x = a.cast(a.tensor("other"), f64);
  b.broadcastTogether(s, x);
  auto both = [&](Value p, Value q) { return b.binary<prim::AndOp>(p, q); };
  auto number = [&](double v) { return b.scalar(v, f64); };
  Value regular = both(both(b.compare(P::gt, s, 0.0), b.compare(P::gt, x, 0.0)),
                       both(b.compare(P::lt, s, kInfinity), b.compare(P::lt, x, kInfinity)));
  Value isLarge = both(regular, b.compare(P::ge, s, kLargeS));
  Large large = largeS(b, b.select(isLarge, s, number(kLargeS)), b.select(isLarge, x, number(1)));
  Value isNear = both(isLarge, large.near), others = both(regular, b.logicalNot(isNear));
  // Where a method or both are not asked for, something that ends at once.
  Value low = b.compare(P::lt, x, b.add(s, 1.0)), isLow = both(others, low);
  Value isHigh = both(others, b.logicalNot(low));
  Value p = series(b, b.select(isLow, s, number(1)), b.select(isLow, x, number(0)));
  Value q = fraction(b, b.select(isHigh, s, number(1)), b.select(isHigh, x, number(2)));
  // A subnormal s would leave P no digits; it is 1 there.
  Value t = upper ? s : b.maximum(s, 1e-290);
  Value scale = b.exp(b.sub(b.sub(b.mul(t, b.log(x)), x), b.unary<prim::LgammaOp>(t)));
  scale = b.select(isLarge, large.scale, scale);
  p = b.mul(b.div(p, t), scale);
  q = b.mul(q, scale);
  Value value =
      upper ? b.select(low, b.sub(number(1), p), q) : b.select(low, p, b.sub(number(1), q));
  value = b.select(isNear, upper ? large.q : large.p, value);
  if (upper) {
    Value isSmall = both(isLow, b.compare(P::le, s, kSmallS));
    Value tail = smallS(b, b.select(isSmall, s, number(kSmallS)), b.select(isSmall, x, number(1)));
    value = b.select(isSmall, tail, value);
  }
  // P is 0 at x = 0 and for infinite s, 1 for infinite x and at s = 0.
  auto edge = [&](Value holds, double ofP) {
    value = b.select(holds, number(upper ? 1 - ofP : ofP), value);
  };
  Value sAtZero = b.compare(P::eq, s, 0.0), xAtZero = b.compare(P::eq, x, 0.0);
  Value sIsInf = b.predicate<prim::IsInfOp>(s), xIsInf = b.predicate<prim::IsInfOp>(x);
  edge(xIsInf, 1);
  edge(sIsInf, 0);
  edge(xAtZero, 0);
  edge(sAtZero, 1);
  // A NaN counts for nothing where the other operand decides.
  auto either = [&](Value p, Value q) { return b.binary<prim::OrOp>(p, q); };
  Value decidedByX = either(xAtZero, xIsInf);
  Value sIsNan = b.predicate<prim::IsNanOp>(s), xIsNan = b.predicate<prim::IsNanOp>(x);
  Value undefined = either(both(sAtZero, xAtZero), both(sIsInf, xIsInf));
  undefined = either(undefined, either(b.compare(P::lt, s, 0.0), b.compare(P::lt, x, 0.0)));
  undefined = either(undefined, both(sIsNan, b.logicalNot(decidedByX)));
  undefined = either(undefined, both(xIsNan, b.logicalNot(sIsInf)));
  return a.give(b.select(undefined, number(std::numeric_limits<double>::quiet_NaN()), value));
}

} // namespace

void tcc::populateAtenIncompleteGammaRules(RuleSet &rules) {
  addRules(rules, {{"igamma", "default", "self other", incompleteGamma<false>},
                   {"igammac", "default", "self other", incompleteGamma<true>},
                   {"special_gammainc", "default", "self other", incompleteGamma<false>},
                   {"special_gammaincc", "default", "self other", incompleteGamma<true>}});
}
