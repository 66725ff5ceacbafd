//===- IncompleteGamma.cpp - The regularized incomplete gamma functions ----===//
//
// P(s, x) below x = s + 1 by its power series, Q = 1 - P above by Legendre's continued fraction
// (DLMF 8.11.4, 8.9.2), in f64, both until no element changes any more; the number of turns grows
// with the root of s. The fraction is evaluated from the front by Lentz's method, whose quotients
// never vanish for x > s.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPrecision = 0x1p-52;

using Values = SmallVector<Value>;

/// Repeats `turn` on `inits` and a count k (f64, from 1) while `open` holds anywhere.
Values until(PrimBuilder &b, Values inits, function_ref<Values(ValueRange, Value)> turn,
             function_ref<Value(ValueRange)> open) {
  constexpr double kMostTurns = 100000;
  inits.push_back(b.scalar(1, b.builder().getF64Type()));
  auto more = [&](ValueRange v) {
    Value any = open(v.drop_back());
    any = b.reduce(K::any, any, allAxes(b.rank(any)), false);
    return b.readElements(b.binary<prim::AndOp>(any, b.compare(P::lt, v.back(), kMostTurns)))[0];
  };
  auto body = [&](ValueRange v) -> std::optional<Values> {
    Values next = turn(v.drop_back(), v.back());
    next.push_back(b.add(v.back(), 1.0));
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
  // Where a method or both are not asked for, something that ends at once.
  Value low = b.compare(P::lt, x, b.add(s, 1.0)), isLow = both(regular, low);
  Value isHigh = both(regular, b.logicalNot(low));
  Value p = series(b, b.select(isLow, s, number(1)), b.select(isLow, x, number(0)));
  Value q = fraction(b, b.select(isHigh, s, number(1)), b.select(isHigh, x, number(2)));
  Value scale = b.exp(b.sub(b.sub(b.mul(s, b.log(x)), x), b.unary<prim::LgammaOp>(s)));
  p = b.mul(b.div(p, s), scale);
  q = b.mul(q, scale);
  Value value =
      upper ? b.select(low, b.sub(number(1), p), q) : b.select(low, p, b.sub(number(1), q));
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
  Value undefined = b.binary<prim::OrOp>(both(sAtZero, xAtZero), both(sIsInf, xIsInf));
  for (Value v : {s, x}) {
    Value below = b.logicalNot(b.compare(P::ge, v, 0.0)); // or NaN
    undefined = b.binary<prim::OrOp>(undefined, below);
  }
  return a.give(b.select(undefined, number(std::numeric_limits<double>::quiet_NaN()), value));
}

} // namespace

void tcc::populateAtenIncompleteGammaRules(RuleSet &rules) {
  addRules(rules, {{"igamma", "default", "self other", incompleteGamma<false>},
                   {"igammac", "default", "self other", incompleteGamma<true>},
                   {"special_gammainc", "default", "self other", incompleteGamma<false>},
                   {"special_gammaincc", "default", "self other", incompleteGamma<true>}});
}
