//===- LinalgIndefinite.cpp - ATen's L D L^T of symmetric matrices --------===//
//
// Bunch and Kaufman's factors of what is its own transpose (or adjoint) and has eigenvalues of both
// signs: L is lower with ones on its diagonal, D has blocks of one or two rows. Pivots, and what
// stands where in the packed result, are LAPACK's (sytf2, hetf2): a positive pivot is a block of
// one row that row k changed places with; two negative equal ones a block of two, whose second row
// did.
//
// A turn of the loop works on the whole symmetric matrix, and each matrix of a batch has its own k,
// since blocks differ; masks leave alone what lies before it. Rows of L that are done are not
// moved when later rows change places, as in LAPACK, so that solving changes places step by step
// too.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::matrices;
using namespace tcc::complexmath;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

Value both(PrimBuilder &b, Value x, Value y) { return b.binary<prim::AndOp>(x, y); }
Value asRow(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v) - 1}); }

/// |re| + |im|.
Value sizeOf(PrimBuilder &b, Value x) {
  if (!isComplex(x))
    return b.abs(x);
  Parts z = partsOf(b, x);
  return b.add(b.abs(z.re), b.abs(z.im));
}

class Indefinite {
public:
  Indefinite(AtenNode &a, Value like)
      : a(a), b(a.b), isHermitian(a.flag("hermitian", false)), rows(b.rank(like) - 2),
        place(b.iota({b.dim(like, rows)}, 0, b.builder().getI64Type())) {}

  LogicalResult factor(Value x, bool tellsInfo);
  Value solve(Value packed, Value pivots, Value rhs);

private:
  SmallVector<Value> step(ValueRange have);
  Value turned(Value v) { return isHermitian ? a.conjugate(v) : v; }
  Value symmetric(Value x);
  /// Column k, [.., n], of each matrix; 0 beyond the last one.
  Value column(Value x, Value k) {
    Value here = b.compare(P::eq, position(b, x, 1), spread(b, spread(b, k)));
    return b.reduce(K::sum, where(b, here, x), {rows + 1}, false);
  }
  /// Element k, [.., 1], of each vector, or 0.
  Value element(Value v, Value k) {
    return b.reduce(K::sum, where(b, b.compare(P::eq, place, spread(b, k)), v), {rows}, true);
  }
  Value at(P how, Value k) { return b.compare(how, place, spread(b, k)); }
  /// The order in which rows i and j have changed places.
  Value exchange(Value i, Value j) {
    return b.select(at(P::eq, i), spread(b, j), b.select(at(P::eq, j), spread(b, i), place));
  }
  Value divided(Value x, Value by) {
    Value isZero = b.compare(P::eq, by, 0.0);
    return where(b, b.logicalNot(isZero), b.div(x, b.select(isZero, b.scalar(1, b.elem(by)), by)));
  }

  AtenNode &a;
  PrimBuilder &b;
  bool isHermitian;
  int64_t rows; ///< the axis of rows, and the last one of vectors
  Value place;  ///< 0, 1 .. n - 1
};

} // namespace

/// The matrix that the lower triangle of x stands for.
Value Indefinite::symmetric(Value x) {
  Value i = position(b, x, 2), j = position(b, x, 1);
  if (isHermitian && isComplex(x))
    x = b.select(b.compare(P::eq, i, j), b.cast(realPart(b, x), b.elem(x)), x);
  return b.select(b.compare(P::ge, i, j), x, turned(transposed(b, x)));
}

/// Of what is left, the packed factors, the pivots (from 1), k, and the first zero pivot (or 0).
SmallVector<Value> Indefinite::step(ValueRange have) {
  const double kGrowth = (1 + std::sqrt(17.0)) / 8;
  Value left = have[0], packed = have[1], pivots = have[2], k = have[3], info = have[4];
  Type i64 = b.elem(k);
  // The largest element below the diagonal, and the largest beside the diagonal in its row.
  Value entries = column(left, k), size = sizeOf(b, entries);
  Value own = b.squeeze(element(size, k), {rows});
  Value below = b.select(at(P::gt, k), size, b.scalar(-1, b.elem(size)));
  Value most = b.maximum(b.reduce(K::max, below, {rows}, false), 0.0);
  Value other = b.argReduce(K::max, below, rows, false);
  Value row = sizeOf(b, column(left, other));
  Value apart = both(b, at(P::ge, k), at(P::ne, other));
  Value rowMost = b.reduce(K::max, where(b, apart, row), {rows}, false);
  Value ownOther = b.squeeze(element(row, other), {rows});
  Value bound = b.mul(most, kGrowth);
  Value isZero = b.compare(P::eq, b.maximum(own, most), 0.0);
  Value stays = b.binary<prim::OrOp>(isZero, b.compare(P::ge, own, bound));
  Value grows = b.mul(bound, divided(most, rowMost));
  stays = b.binary<prim::OrOp>(stays, b.compare(P::ge, own, grows));
  Value single = b.compare(P::ge, ownOther, b.mul(rowMost, kGrowth));
  Value pair = b.logicalNot(b.binary<prim::OrOp>(stays, single));
  Value next = b.add(k, 1.0), last = b.select(pair, next, k), from = b.select(stays, k, other);
  Value order = exchange(last, from);
  left = rowsInOrder(b, left, order);
  left = transposed(b, rowsInOrder(b, transposed(b, left), order));
  // The columns of L: x / d, or [x y] D^-1 of a block of two.
  Value x = column(left, k), y = column(left, next);
  Value d11 = element(x, k), d21 = element(x, next), d22 = element(y, next), d12 = turned(d21);
  Value isPair = spread(b, pair);
  Value det = b.sub(b.mul(d11, d22), b.mul(d21, d12));
  Value two = divided(b.sub(b.mul(x, d22), b.mul(y, d21)), det);
  Value second = divided(b.sub(b.mul(y, d11), b.mul(x, d12)), det);
  Value beyond = at(P::gt, last);
  Value first = where(b, beyond, b.select(isPair, two, divided(x, d11)));
  second = where(b, both(b, beyond, isPair), second);
  x = where(b, beyond, x);
  y = where(b, beyond, y);
  auto product = [&](Value u, Value v) { return b.mul(asColumn(b, u), asRow(b, turned(v))); };
  left = b.sub(left, b.add(product(x, first), product(y, second)));
  Value ownFirst =
      b.select(at(P::eq, k), d11, b.select(at(P::eq, next), d21, b.scalar(0, b.elem(x))));
  Value keeps = b.binary<prim::OrOp>(at(P::eq, k), both(b, at(P::eq, next), isPair));
  first = b.select(keeps, ownFirst, first);
  second = b.select(at(P::eq, next), d22, second);
  auto into = [&](Value where, Value v, Value isOn) {
    Value here = b.compare(P::eq, position(b, packed, 1), spread(b, spread(b, where)));
    return b.select(isOn ? both(b, here, spread(b, isOn)) : here, asColumn(b, v), packed);
  };
  packed = into(k, first, Value());
  packed = into(next, second, isPair);
  Value number = b.add(from, 1.0);
  number = b.select(pair, b.neg(number), number);
  pivots = b.select(keeps, spread(b, number), pivots);
  Value inside = b.compare(P::lt, k, b.fromHost({b.dim(packed, rows)}, {}, i64));
  Value isFirst = both(b, both(b, isZero, inside), b.compare(P::eq, info, 0.0));
  info = b.select(isFirst, next, info);
  return {left, packed, pivots, b.add(last, 1.0), info};
}

LogicalResult Indefinite::factor(Value x, bool tellsInfo) {
  Type i64 = b.builder().getI64Type();
  Dims batch = batchOf(b, x), vectors = batchOf(b, x, 1);
  Value none = b.full(batch, 0, i64);
  Value zero = b.full(b.dims(x), 0, b.elem(x));
  auto done = repeat(b, b.dim(x, rows), {symmetric(x), zero, b.full(vectors, 0, i64), none, none},
                     [&](Value, ValueRange have) { return step(have); });
  (void)a.give(0, done[1]);
  (void)a.give(1, done[2]);
  if (!tellsInfo || a.flag("check_errors", false))
    require(a, b.compare(P::eq, done[4], 0.0), "the matrix is singular");
  return tellsInfo ? a.give(2, done[4]) : success();
}

/// X of L D L^T X = B.
Value Indefinite::solve(Value packed, Value pivots, Value rhs) {
  broadcastBatches(b, packed, rhs);
  Dims vectors = batchOf(b, packed, 1);
  pivots = b.broadcastTo(pivots, vectors);
  Type i64 = b.builder().getI64Type();
  // Of two negative pivots beside each other the first begins a block.
  Value isPaired = b.compare(P::lt, pivots, 0.0), number = b.cast(isPaired, i64);
  Value count = prim::CumulativeOp::create(b.builder(), b.location(), number.getType(), K::sum,
                                           number, rows, false, false);
  Value odd = b.compare(P::eq, b.binary<prim::RemOp>(count, b.scalar(2, i64)), 1.0);
  Value isFirst = both(b, isPaired, odd), isSecond = both(b, isPaired, b.logicalNot(odd));
  Value partner = b.sub(b.abs(pivots), 1.0);
  Dim n = b.dim(packed, rows);
  requireInRange(b, partner, n, IndexRange::positions);
  // The last row begins no block.
  requireInRange(b, b.add(b.cast(isFirst, i64), b.iota({n}, 0, i64)), n, IndexRange::positions);
  // L without the element of D below the diagonal.
  Value i = position(b, packed, 2), j = position(b, packed, 1);
  Value ofBlock = both(b, b.compare(P::eq, i, b.add(j, 1.0)), asRow(b, isFirst));
  Value l = where(b, both(b, b.compare(P::gt, i, j), b.logicalNot(ofBlock)), packed);
  auto entry = [&](Value v, Value k) { return b.take(v, k, rows); };
  auto exchanged = [&](Value x, Value k) {
    Value own = b.add(b.cast(entry(isFirst, k), i64), k);
    Value with = b.select(entry(isSecond, k), own, entry(partner, k));
    return rowsInOrder(b, x, exchange(own, with));
  };
  auto forward = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value x = exchanged(have[0], k);
    Value known = asRow(b, b.take(x, k, rows));
    return {b.sub(x, b.mul(asColumn(b, b.take(l, k, rows + 1)), known))};
  };
  Value x = repeat(b, n, {rhs}, forward)[0];
  // Blocks of D: of one row x / d, of two by Cramer's rule.
  Value d = diagonal(b, packed);
  Value under = where(b, asRow(b, isFirst), where(b, b.compare(P::eq, i, b.add(j, 1.0)), packed));
  Value across = b.add(under, turned(transposed(b, under)));
  Value off = b.reduce(K::sum, across, {rows + 1}, false);
  Value order = b.select(isFirst, b.add(place, 1.0), b.select(isSecond, b.sub(place, 1.0), place));
  Value dOther = b.takeAlong(d, order, rows), offOther = b.takeAlong(off, order, rows);
  Value det = b.sub(b.mul(d, dOther), b.mul(off, offOther));
  Value two =
      b.sub(b.mul(asColumn(b, dOther), x), b.mul(asColumn(b, off), rowsInOrder(b, x, order)));
  x = b.select(asColumn(b, isPaired), b.div(two, asColumn(b, det)), b.div(x, asColumn(b, d)));
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0);
  auto backward = [&](Value turn, ValueRange have) -> SmallVector<Value> {
    Value k = b.sub(last, turn), x = have[0];
    Value entries = asColumn(b, turned(b.take(l, k, rows + 1)));
    Value sums = b.reduce(K::sum, b.mul(entries, x), {rows}, true);
    Value isRow = b.compare(P::eq, position(b, x, 2), k);
    return {exchanged(b.select(isRow, b.sub(x, sums), x), k)};
  };
  return repeat(b, n, {x}, backward)[0];
}

namespace {

template <bool info> LogicalResult factorIndefinite(AtenNode &a) {
  Value x = factorsOf(a, "self");
  return x ? Indefinite(a, x).factor(x, info) : failure();
}

LogicalResult solveIndefinite(AtenNode &a) {
  Value packed = factorsOf(a, "LD"), rhs = packed ? sidesOf(a, "B", packed) : Value();
  if (!rhs)
    return failure();
  Value pivots = a.cast(a.tensor("pivots"), a.b.builder().getI64Type());
  if (a.b.rank(pivots) != a.b.rank(packed) - 1)
    return a.fail("needs a pivot for each row");
  Value x = rhs;
  broadcastBatches(a.b, packed, x);
  return a.give(Indefinite(a, packed).solve(packed, pivots, x));
}

} // namespace

void tcc::populateAtenLinalgIndefiniteRules(RuleSet &rules) {
  addRules(rules, {{"linalg_ldl_factor", "default", "self", factorIndefinite<false>},
                   {"linalg_ldl_factor_ex", "default", "self", factorIndefinite<true>},
                   {"linalg_ldl_solve", "default", "LD pivots B", solveIndefinite}});
}
