//===- Polynomials.cpp - ATen's orthogonal polynomials ---------------------===//
//
// Each by the recurrence of its family (DLMF 18.9.1), in f64, at all points at once up to the
// largest degree that any of them asks for; a point keeps the value of its own degree. A negative
// degree gives 0.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// The polynomial of degree 1, and that of degree k + 1 from those of k and k - 1.
struct Family {
  using First = Value (*)(PrimBuilder &b, Value x);
  using Next = Value (*)(PrimBuilder &b, Value x, Value k, Value own, Value before);
  First first;
  Next next;
};

Value twice(PrimBuilder &b, Value x) { return b.mul(x, 2.0); }

/// 2 x p_k - p_(k-1): the Chebyshev polynomials of all four kinds.
Value nextChebyshev(PrimBuilder &b, Value x, Value, Value own, Value before) {
  return b.sub(b.mul(twice(b, x), own), before);
}

constexpr Family kChebyshevT = {[](PrimBuilder &, Value x) { return x; }, nextChebyshev};
constexpr Family kChebyshevU = {twice, nextChebyshev};
constexpr Family kChebyshevV = {[](PrimBuilder &b, Value x) { return b.sub(twice(b, x), 1.0); },
                                nextChebyshev};
constexpr Family kChebyshevW = {[](PrimBuilder &b, Value x) { return b.add(twice(b, x), 1.0); },
                                nextChebyshev};
constexpr Family kHermite = {twice, [](PrimBuilder &b, Value x, Value k, Value own, Value before) {
                               return twice(b, b.sub(b.mul(x, own), b.mul(k, before)));
                             }};
constexpr Family kHermiteE = {[](PrimBuilder &, Value x) { return x; },
                              [](PrimBuilder &b, Value x, Value k, Value own, Value before) {
                                return b.sub(b.mul(x, own), b.mul(k, before));
                              }};
constexpr Family kLaguerre = {
    [](PrimBuilder &b, Value x) { return b.sub(b.scalar(1, b.elem(x)), x); },
    [](PrimBuilder &b, Value x, Value k, Value own, Value before) {
      Value factor = b.sub(b.add(twice(b, k), 1.0), x);
      return b.div(b.sub(b.mul(factor, own), b.mul(k, before)), b.add(k, 1.0));
    }};
constexpr Family kLegendre = {[](PrimBuilder &, Value x) { return x; },
                              [](PrimBuilder &b, Value x, Value k, Value own, Value before) {
                                Value factor = b.mul(b.add(twice(b, k), 1.0), x);
                                Value sum = b.sub(b.mul(factor, own), b.mul(k, before));
                                return b.div(sum, b.add(k, 1.0));
                              }};

/// With `shifted`, of 2 x - 1.
LogicalResult give(AtenNode &a, const Family &family, bool shifted) {
  PrimBuilder &b = a.b;
  Type f64 = b.builder().getF64Type(), i64 = b.builder().getI64Type();
  Value x = a.number("x", f64), n = a.tensor("n");
  n = n ? b.cast(n, i64) : a.number("n", i64);
  if (!x || !n)
    return a.fail("needs points and degrees");
  Value highest = b.reduce(K::max, b.reshape(n, {b.productOf(b.dims(n))}), {0}, true);
  highest = b.maximum(highest, 1.0); // there may be none
  b.broadcastTogether(x, n);
  if (shifted)
    x = b.sub(twice(b, x), 1.0);
  Value one = b.full(b.dims(x), 1, f64), first = family.first(b, x), zero = b.scalar(0, f64);
  Value result =
      b.select(b.compare(P::eq, n, 0.0), one, b.select(b.compare(P::eq, n, 1.0), first, zero));
  auto step = [&](Value turn, ValueRange have) -> SmallVector<Value> {
    Value k = b.add(b.cast(turn, f64), 1.0);
    Value next = family.next(b, x, k, have[1], have[0]);
    Value reached = b.compare(P::eq, n, b.add(turn, 2.0));
    return {have[1], next, b.select(reached, next, have[2])};
  };
  Dim turns = b.subDims(b.readElements(highest)[0], b.dim(1));
  return a.give(matrices::repeat(b, turns, {one, first, result}, step)[2]);
}

template <const Family &family, bool shifted = false> LogicalResult polynomial(AtenNode &a) {
  return give(a, family, shifted);
}

} // namespace

void tcc::populateAtenPolynomialRules(RuleSet &rules) {
  constexpr StringRef kOverloads = "default x_scalar n_scalar";
  addRules(
      rules,
      {{"special_chebyshev_polynomial_t", kOverloads, "", polynomial<kChebyshevT>},
       {"special_chebyshev_polynomial_u", kOverloads, "", polynomial<kChebyshevU>},
       {"special_chebyshev_polynomial_v", kOverloads, "", polynomial<kChebyshevV>},
       {"special_chebyshev_polynomial_w", kOverloads, "", polynomial<kChebyshevW>},
       {"special_shifted_chebyshev_polynomial_t", kOverloads, "", polynomial<kChebyshevT, true>},
       {"special_shifted_chebyshev_polynomial_u", kOverloads, "", polynomial<kChebyshevU, true>},
       {"special_shifted_chebyshev_polynomial_v", kOverloads, "", polynomial<kChebyshevV, true>},
       {"special_shifted_chebyshev_polynomial_w", kOverloads, "", polynomial<kChebyshevW, true>},
       {"special_hermite_polynomial_h", kOverloads, "", polynomial<kHermite>},
       {"special_hermite_polynomial_he", kOverloads, "", polynomial<kHermiteE>},
       {"special_laguerre_polynomial_l", kOverloads, "", polynomial<kLaguerre>},
       {"special_legendre_polynomial_p", kOverloads, "", polynomial<kLegendre>}});
}
