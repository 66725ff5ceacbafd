//===- Distributions.cpp - Numbers that are drawn until they are accepted --===//
//
// Poisson's, binomial, gamma and Dirichlet numbers, by the algorithms that torch has too: few
// expected events by the inverse of the cumulative probabilities, many by Hörmann's transformed
// rejection ("The transformed rejection method for generating Poisson random variables", 1993, and
// "The generation of binomial random variates", 1993), and gamma numbers by Marsaglia and Tsang's
// ("A simple method for generating gamma variables", 2000). All elements draw on each turn of a
// loop, which ends when each has accepted one, so what an element gets does not depend on others.
// Everything is computed in f64.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/RandomNumbers.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

class Drawer {
public:
  Drawer(AtenNode &a, ArrayRef<Dim> shape)
      : a(a), b(a.b), shape(shape), f64(b.builder().getF64Type()) {}

  Value all(double v) { return b.full(shape, v, f64); }
  Value both(Value x, Value y) { return b.binary<prim::AndOp>(x, y); }
  Value either(Value x, Value y) { return b.binary<prim::OrOp>(x, y); }
  Value within(Value x, double low, double high) {
    return both(b.compare(P::ge, x, low), b.compare(P::lt, x, high));
  }
  Value uniform() { return RandomNumbers(b).uniform(shape, f64); }
  Value normal() { return RandomNumbers(b).normal(shape, f64); }
  Value logFactorial(Value n) { return b.unary<prim::LgammaOp>(b.add(n, 1.0)); }

  /// `otherwise` where `open` does not hold, else the first candidate that is accepted.
  using Candidate = std::pair<Value, Value>; ///< and whether it is
  FailureOr<Value> accepted(Value otherwise, Value open, function_ref<Candidate()> draw);
  /// The first k at which the cumulative probability passes a uniform number; `next` gives the
  /// probability of k + 1 by that of k.
  FailureOr<Value> inverted(Value none, function_ref<Value(Value k, Value probability)> next);

  AtenNode &a;
  PrimBuilder &b;
  Dims shape;
  FloatType f64;

private:
  Dim any(Value v) { return b.readElements(b.reduce(K::any, v, allAxes(b.rank(v)), false))[0]; }
  FailureOr<Value> first(const std::optional<SmallVector<Value>> &results) {
    if (!results)
      return a.fail("the loop's values change their types");
    return results->front();
  }
};

FailureOr<Value> Drawer::accepted(Value otherwise, Value open, function_ref<Candidate()> draw) {
  auto turn = [&](ValueRange have) -> std::optional<SmallVector<Value>> {
    auto [value, fits] = draw();
    return SmallVector<Value>{b.select(both(have[1], fits), value, have[0]),
                              both(have[1], b.logicalNot(fits))};
  };
  SmallVector<Value> inits = {b.broadcastTo(otherwise, shape), b.broadcastTo(open, shape)};
  return first(b.loop(inits, [&](ValueRange have) { return any(have[1]); }, turn));
}

FailureOr<Value> Drawer::inverted(Value none,
                                  function_ref<Value(Value k, Value probability)> next) {
  constexpr double kMost = 200; // with ten expected events nobody draws as many
  Value u = uniform();
  auto open = [&](Value k, Value sum) {
    return both(b.compare(P::ge, u, sum), b.compare(P::lt, k, kMost));
  };
  auto turn = [&](ValueRange have) -> std::optional<SmallVector<Value>> {
    Value goesOn = open(have[0], have[2]), probability = next(have[0], have[1]);
    return SmallVector<Value>{b.select(goesOn, b.add(have[0], 1.0), have[0]), probability,
                              b.select(goesOn, b.add(have[2], probability), have[2])};
  };
  none = b.broadcastTo(none, shape);
  auto more = [&](ValueRange have) { return any(open(have[0], have[2])); };
  return first(b.loop({all(0), none, none}, more, turn));
}

/// Below this many expected events their number is found by the cumulative probabilities.
constexpr double kFew = 10;

void requireAll(PrimBuilder &b, Value holds, StringRef message) {
  Value all = b.reduce(K::all, holds, allAxes(b.rank(holds)), false);
  b.check(b.readElements(all)[0], message);
}

LogicalResult poisson(AtenNode &a) {
  PrimBuilder &b = a.b;
  Drawer d(a, b.dims(a.tensor("self")));
  Value rate = a.cast(a.tensor("self"), d.f64), zero = d.all(0);
  requireAll(b, b.compare(P::ge, rate, 0.0), "a rate of poisson is negative or no number");
  Value isFew = b.compare(P::lt, rate, kFew);
  Value small = b.select(isFew, rate, zero);
  auto few = d.inverted(b.exp(b.neg(small)),
                        [&](Value k, Value p) { return b.div(b.mul(p, small), b.add(k, 1.0)); });
  // Rates of other elements are any that the arithmetic takes.
  Value open = d.within(rate, kFew, std::numeric_limits<double>::infinity());
  Value mean = b.select(open, rate, d.all(kFew));
  Value logMean = b.log(mean), spread = b.add(b.mul(b.sqrt(mean), 2.53), 0.931);
  Value slope = b.sub(b.mul(spread, 0.02483), 0.059);
  Value logScale = b.log(b.add(b.div(d.all(1.1328), b.sub(spread, 3.4)), 1.1239));
  Value sure = b.sub(d.all(0.9277), b.div(d.all(3.6224), b.sub(spread, 2.0)));
  auto many = d.accepted(zero, open, [&]() -> Drawer::Candidate {
    Value u = b.sub(d.uniform(), 0.5), v = d.uniform(), rest = b.sub(d.all(0.5), b.abs(u));
    Value stretched = b.add(b.div(b.mul(slope, 2.0), rest), spread);
    Value k = b.unary<prim::FloorOp>(b.add(b.mul(stretched, u), b.add(mean, 0.43)));
    Value quick = d.both(b.compare(P::ge, rest, 0.07), b.compare(P::le, v, sure));
    Value bound = b.log(b.add(b.div(slope, b.mul(rest, rest)), spread));
    Value left = b.sub(b.add(b.log(v), logScale), bound);
    Value right = b.sub(b.sub(b.mul(k, logMean), mean), d.logFactorial(k));
    Value slow = d.both(b.compare(P::ge, k, 0.0), b.compare(P::le, left, right));
    Value cornered = d.both(b.compare(P::lt, rest, 0.013), b.compare(P::gt, v, rest));
    return {k, d.either(quick, d.both(slow, b.logicalNot(cornered)))};
  });
  if (failed(few) || failed(many))
    return failure();
  Value endless =
      b.select(b.compare(P::lt, rate, std::numeric_limits<double>::infinity()), *many, rate);
  return a.give(b.select(isFew, *few, endless));
}

/// Of `count` trials; where more than half are expected to succeed, those that fail are drawn.
LogicalResult binomial(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value count = a.cast(a.tensor("count"), a.b.builder().getF64Type());
  Value chance = a.cast(a.tensor("prob"), a.b.builder().getF64Type());
  b.broadcastTogether(count, chance);
  Drawer d(a, b.dims(count));
  Value zero = d.all(0), one = d.all(1);
  Value isChance = d.both(b.compare(P::gt, chance, 0.0), b.compare(P::lt, chance, 1.0));
  Value isEndless = b.compare(P::eq, count, std::numeric_limits<double>::infinity());
  Value isRandom = d.both(b.compare(P::gt, count, 0.0), d.both(isChance, b.logicalNot(isEndless)));
  Value turned = b.compare(P::gt, chance, 0.5);
  Value p = b.select(isRandom, b.select(turned, b.sub(one, chance), chance), zero),
        q = b.sub(one, p);
  Value n = b.select(isRandom, count, zero), expected = b.mul(n, p), odds = b.div(p, q);
  Value open = b.compare(P::ge, expected, kFew);
  Value fewTrials = b.select(open, zero, n);
  Value none = b.exp(b.mul(fewTrials, b.unary<prim::Log1pOp>(b.neg(p))));
  auto few = d.inverted(none, [&](Value k, Value probability) {
    Value left = b.maximum(b.sub(fewTrials, k), 0.0);
    return b.div(b.mul(b.mul(probability, left), odds), b.add(k, 1.0));
  });
  n = b.select(open, n, d.all(4 * kFew));
  p = b.select(open, p, d.all(0.5));
  Value deviation = b.sqrt(b.mul(b.mul(n, p), b.sub(one, p)));
  Value spread = b.add(b.mul(deviation, 2.53), 1.15);
  Value slope = b.add(b.sub(b.mul(spread, 0.0248), 0.0873), b.mul(p, 0.01));
  Value sure = b.sub(d.all(0.92), b.div(d.all(4.2), spread));
  Value scale = b.mul(b.add(b.div(d.all(5.1), spread), 2.83), deviation);
  Value logOdds = b.log(b.div(p, b.sub(one, p)));
  Value mode = b.unary<prim::FloorOp>(b.mul(b.add(n, 1.0), p));
  Value atMode = b.add(d.logFactorial(mode), d.logFactorial(b.sub(n, mode)));
  auto many = d.accepted(zero, open, [&]() -> Drawer::Candidate {
    Value u = b.sub(d.uniform(), 0.5), v = d.uniform(), rest = b.sub(d.all(0.5), b.abs(u));
    Value stretched = b.add(b.div(b.mul(slope, 2.0), rest), spread);
    Value k = b.unary<prim::FloorOp>(b.add(b.mul(stretched, u), b.add(b.mul(n, p), 0.5)));
    Value quick = d.both(b.compare(P::ge, rest, 0.07), b.compare(P::le, v, sure));
    Value bound = b.add(b.div(slope, b.mul(rest, rest)), spread);
    Value left = b.log(b.div(b.mul(v, scale), bound));
    Value atK = b.add(d.logFactorial(k), d.logFactorial(b.sub(n, k)));
    Value right = b.add(b.sub(atMode, atK), b.mul(b.sub(k, mode), logOdds));
    Value possible = d.both(b.compare(P::ge, k, 0.0), b.compare(P::le, k, n));
    return {k, d.both(possible, d.either(quick, b.compare(P::le, left, right)))};
  });
  if (failed(few) || failed(many))
    return failure();
  Value events = b.select(open, *many, *few);
  events = b.select(turned, b.sub(count, events), events);
  Value certain = b.select(b.compare(P::ge, chance, 1.0), b.maximum(count, 0.0), zero);
  Value unknown =
      d.either(b.predicate<prim::IsNanOp>(b.add(count, chance)), d.both(isEndless, isChance));
  certain = b.select(unknown, d.all(std::numeric_limits<double>::quiet_NaN()), certain);
  return a.give(b.select(isRandom, events, certain));
}

/// Of rate 1. Below a shape of 1, those of one more times u^(1 / shape).
FailureOr<Value> gammaNumbers(AtenNode &a, Value form) {
  PrimBuilder &b = a.b;
  Drawer d(a, b.dims(form));
  Value isSmall = b.compare(P::lt, form, 1.0);
  Value open = d.both(b.compare(P::gt, form, 0.0),
                      b.compare(P::lt, form, std::numeric_limits<double>::infinity()));
  Value large = b.select(open, b.select(isSmall, b.add(form, 1.0), form), d.all(1));
  Value centre = b.sub(large, 1.0 / 3), width = b.rsqrt(b.mul(centre, 9.0));
  // What has no distribution is no number; shapes of 0 and infinity are these themselves.
  Value otherwise =
      b.select(b.compare(P::ge, form, 0.0), form, d.all(std::numeric_limits<double>::quiet_NaN()));
  Value lift = b.sub(d.all(1), d.uniform());
  auto drawn = d.accepted(otherwise, open, [&]() -> Drawer::Candidate {
    Value x = d.normal(), u = b.sub(d.all(1), d.uniform()), y = b.add(b.mul(x, width), 1.0);
    Value positive = b.compare(P::gt, y, 0.0);
    Value v = b.select(positive, b.mul(b.mul(y, y), y), d.all(1)), square = b.mul(x, x);
    Value quick = b.compare(P::lt, u, b.sub(d.all(1), b.mul(b.mul(square, square), 0.0331)));
    Value exponent = b.mul(centre, b.add(b.sub(d.all(1), v), b.log(v)));
    Value slow = b.compare(P::lt, b.log(u), b.add(b.mul(square, 0.5), exponent));
    return {b.mul(centre, v), d.both(positive, d.either(quick, slow))};
  });
  if (failed(drawn))
    return failure();
  Value lowered = b.mul(*drawn, b.pow(lift, b.div(d.all(1), b.select(open, form, d.all(1)))));
  return b.select(d.both(open, isSmall), lowered, *drawn);
}

/// The smallest number above 0 whose digits all count, and the smallest of all.
double leastNormal(FloatType t) {
  return llvm::APFloat::getSmallestNormalized(t.getFloatSemantics()).convertToDouble();
}
double least(FloatType t) {
  return llvm::APFloat::getSmallest(t.getFloatSemantics()).convertToDouble();
}

LogicalResult standardGamma(AtenNode &a) {
  auto own = dyn_cast<FloatType>(a.own());
  if (!own)
    return a.fail("needs floats");
  auto drawn = gammaNumbers(a, a.cast(a.tensor("self"), a.b.builder().getF64Type()));
  return failed(drawn) ? failure() : a.give(a.b.maximum(*drawn, leastNormal(own)));
}

/// Gamma numbers over their sum.
LogicalResult dirichlet(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto own = dyn_cast<FloatType>(a.own());
  Value form = a.cast(a.tensor("self"), b.builder().getF64Type());
  if (!own || b.rank(form) == 0)
    return a.fail("needs vectors of floats");
  auto drawn = gammaNumbers(a, form);
  if (failed(drawn))
    return failure();
  Value share = b.div(*drawn, b.reduce(K::sum, *drawn, {b.rank(form) - 1}, true));
  double below = 1 - std::ldexp(1.0, -static_cast<int>(own.getFPMantissaWidth()));
  return a.give(b.minimum(b.maximum(share, least(own)), below));
}

} // namespace

void tcc::populateAtenDistributionRules(RuleSet &rules) {
  addRules(rules, {{"poisson", "default", "self", poisson},
                   {"binomial", "default", "count prob", binomial},
                   {"_standard_gamma", "default", "self", standardGamma},
                   {"_sample_dirichlet", "default", "self", dirichlet}});
}
