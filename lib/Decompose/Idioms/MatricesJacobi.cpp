//===- MatricesJacobi.cpp - Eigenvalues and singular values ---------------===//
//
// Those of real matrices are primitives; of complex ones, and for targets without kernels, they
// are Jacobi's method: rotate pairs of columns until all are orthogonal (singular
// values) or the matrix is diagonal (eigenvalues). n columns make n/2 pairs that
// do not touch each other, so one step rotates all pairs of a round of a
// tournament in which every column meets every other once in a sweep. Each
// column needs its partner and two numbers: a' = c a - s a_partner, which holds
// for both of a pair when each computes s from its own side; of complex columns,
// s turns the partner into the column's own phase. Six to ten sweeps do; small
// values come out with their relative accuracy, unlike those of the QR iteration.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::matrices;
using namespace tcc::complexmath;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

constexpr int64_t kSweeps = 30;

/// Rounds of a sweep over n columns: n - 1, or n where one is idle in each.
Dim roundsOf(PrimBuilder &b, Dim n) {
  return b.subDims(b.addDims(n, b.remDims(n, b.dim(2))), b.dim(1));
}

/// Whom each of n columns meets in this round: the sum of both is 2 round modulo
/// the number of rounds; who would meet itself meets the last one, or nobody.
Value partners(PrimBuilder &b, Value round, Dim n) {
  Type i64 = b.builder().getI64Type();
  Dim rounds = b.maxDims(roundsOf(b, n), b.dim(1));
  Value i = b.iota({n}, 0, i64), count = b.fromHost({rounds}, {}, i64);
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0);
  Value other = b.binary<prim::ModOp>(b.sub(b.mul(round, 2.0), i), count);
  Value even = b.compare(P::eq, count, last);
  Value isLast = b.binary<prim::AndOp>(even, b.compare(P::eq, i, last));
  other = b.select(isLast, round, other);
  Value alone = b.binary<prim::AndOp>(b.compare(P::eq, i, round), even);
  return b.select(alone, last, other);
}

struct Rotation {
  Value c, s;    ///< [.., n], in the matrix's type
  Value largest; ///< []: the largest cosine between two partners
};

/// That makes the products `mixed` of partners vanish, from the columns' own
/// (squares, or the diagonal) and those of the partners.
Rotation rotation(PrimBuilder &b, Value own, Value others, Value mixed, Value scale, Value partner,
                  Dim n) {
  Type e = b.elem(own);
  Value i = b.iota({n}, 0, b.builder().getI64Type());
  Value one = b.scalar(1, e), zero = b.scalar(0, e);
  double eps = std::numeric_limits<double>::epsilon();
  Value size = magnitudeOf(b, mixed), limit = b.mul(scale, eps);
  Value active = b.binary<prim::AndOp>(b.compare(P::gt, size, limit), b.compare(P::ne, i, partner));
  bool complex = isComplex(mixed);
  Value divisor = b.select(active, complex ? size : mixed, one);
  Value zeta = b.div(b.sub(others, own), b.mul(divisor, 2.0));
  Value first = b.select(b.compare(P::lt, i, partner), one, b.neg(one));
  Value sign = b.select(b.compare(P::eq, zeta, 0.0), first, b.unary<prim::SignOp>(zeta));
  Value root = b.sqrt(b.add(b.mul(zeta, zeta), 1.0));
  Value t = b.select(active, b.div(sign, b.add(b.abs(zeta), root)), zero);
  Value c = b.div(one, b.sqrt(b.add(b.mul(t, t), 1.0)));
  Value cosine =
      b.select(active, b.div(size, b.maximum(scale, std::numeric_limits<double>::min())), zero);
  Value largest =
      b.reduce(K::max, cosine, llvm::to_vector(llvm::seq<int64_t>(0, b.rank(cosine))), false);
  Value s = b.mul(c, t);
  if (complex) {
    Type element = b.elem(mixed);
    Value phase = b.div(conjugate(b, mixed), b.cast(divisor, element));
    s = b.mul(b.cast(s, element), phase);
    c = b.cast(c, element);
  }
  return {c, s, largest};
}

Value rotated(PrimBuilder &b, Value x, const Rotation &r, Value partner, int64_t axis) {
  int64_t vectorAxis = b.rank(x) - (axis == b.rank(x) - 1 ? 2 : 1);
  Value c = b.unsqueeze(r.c, {vectorAxis}), s = b.unsqueeze(r.s, {vectorAxis});
  return b.sub(b.mul(x, c), b.mul(b.take(x, partner, axis), s));
}

using Turn = function_ref<SmallVector<Value>(Value round, ValueRange, Value &largest)>;

/// Turns until a whole sweep has met nothing above the rounding error.
SmallVector<Value> sweep(PrimBuilder &b, Dim n, ValueRange inits, Turn turn) {
  Type i64 = b.builder().getI64Type(), e = realType(b.elem(inits[0]));
  Dim rounds = b.maxDims(roundsOf(b, n), b.dim(1));
  Value count = b.fromHost({rounds}, {}, i64);
  Value most = b.mul(count, static_cast<double>(kSweeps));
  SmallVector<Value> carried(inits);
  carried.push_back(b.scalar(0, e));
  carried.push_back(b.scalar(0, i64));
  auto atStart = [&](Value k) { return b.compare(P::eq, b.binary<prim::RemOp>(k, count), 0.0); };
  auto more = [&](ValueRange have) {
    Value largest = have[have.size() - 2], k = have.back();
    Value fine = b.compare(P::le, largest, 1e-14);
    Value over =
        b.binary<prim::AndOp>(b.binary<prim::AndOp>(atStart(k), fine), b.compare(P::gt, k, 0.0));
    Value goesOn = b.binary<prim::AndOp>(b.logicalNot(over), b.compare(P::lt, k, most));
    return b.readElements(goesOn)[0];
  };
  auto body = [&](ValueRange have) -> std::optional<SmallVector<Value>> {
    Value met = have[have.size() - 2], k = have.back(), largest;
    SmallVector<Value> next = turn(b.binary<prim::RemOp>(k, count), have.drop_back(2), largest);
    next.push_back(b.select(atStart(k), largest, b.maximum(met, largest)));
    next.push_back(b.add(k, 1.0));
    return next;
  };
  auto results = b.loop(carried, more, body);
  if (!results) {
    b.fault("the loop's values change their types");
    return SmallVector<Value>(inits);
  }
  results->truncate(inits.size());
  return *results;
}

/// Indices that sort the last axis.
Value sortedOrder(PrimBuilder &b, Value x, bool descending) {
  return prim::SortOp::create(b.builder(), b.location(), x.getType(),
                              b.type(x).clone(b.builder().getI64Type()), x, b.rank(x) - 1,
                              descending)
      .getIndices();
}

Value columnsInOrder(PrimBuilder &b, Value x, Value order) {
  return b.takeAlong(x, b.broadcastTo(b.unsqueeze(order, {b.rank(order) - 1}), b.dims(x)),
                     b.rank(x) - 1);
}

/// What spans the same as the columns of x, which are orthogonal, in their directions; `complete`:
/// and all other columns there are.
Value orthonormal(PrimBuilder &b, Value x, bool complete) {
  int64_t rank = b.rank(x);
  QR qr = factorQR(b, x, complete);
  Value d = realPart(b, diagonal(b, qr.r)), one = b.scalar(1, b.elem(d));
  Value signs = b.select(b.compare(P::lt, d, 0.0), b.neg(one), one);
  Dims low(b.rank(signs), b.dim(0)), high = low;
  high.back() = b.subDims(b.dim(qr.q, rank - 1), b.dim(x, rank - 1));
  signs = b.cast(b.pad(signs, one, low, high), b.elem(x));
  return b.mul(qr.q, b.unsqueeze(signs, {rank - 2}));
}

/// Of matrices with at least as many rows (n) as columns (m), of which U has as many.
SVD jacobiSVD(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  Dim m = b.dim(x, rank - 1);
  auto products = [&](Value y, Value z) {
    return b.reduce(K::sum, b.mul(conjugate(b, y), z), {rank - 2}, false);
  };
  auto squares = [&](Value y) { return realPart(b, products(y, y)); };
  auto turn = [&](Value round, ValueRange have, Value &largest) -> SmallVector<Value> {
    Value a = have[0], partner = partners(b, round, m);
    Value own = squares(a), others = b.take(own, partner, rank - 2);
    Value mixed = products(a, b.take(a, partner, rank - 1));
    Value scale = b.sqrt(b.mul(own, others));
    // Columns that are rounding errors beside the largest have no direction.
    Value most = b.reduce(K::max, own, {rank - 2}, true);
    double eps = std::numeric_limits<double>::epsilon();
    scale = b.maximum(scale, b.mul(most, eps));
    Rotation r = rotation(b, own, others, mixed, scale, partner, m);
    largest = r.largest;
    return {rotated(b, a, r, partner, rank - 1), rotated(b, have[1], r, partner, rank - 1)};
  };
  auto done = sweep(b, m, {x, identity(b, batchOf(b, x), m, b.elem(x))}, turn);
  Value values = b.sqrt(squares(done[0])), order = sortedOrder(b, values, true);
  values = b.takeAlong(values, order, rank - 2);
  // The columns are u_j times s_j.
  Value u = orthonormal(b, columnsInOrder(b, done[0], order), /*complete=*/false);
  return {u, values, columnsInOrder(b, done[1], order)};
}

Eigen jacobiEigen(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  Dim n = b.dim(x, rank - 1);
  auto turn = [&](Value round, ValueRange have, Value &largest) -> SmallVector<Value> {
    Value a = have[0], partner = partners(b, round, n);
    Value own = realPart(b, diagonal(b, a)), others = b.take(own, partner, rank - 2);
    Value met = b.compare(P::eq, position(b, a, 2), partner); // a[partner(j)][j]
    Value mixed = conjugate(b, b.reduce(K::sum, where(b, met, a), {rank - 2}, false));
    // What vanishes beside the largest entries of the matrix is nothing.
    Value scale = b.reduce(K::max, magnitudeOf(b, a), {rank - 2, rank - 1}, false);
    Rotation r = rotation(b, own, others, mixed, b.unsqueeze(scale, {rank - 2}), partner, n);
    largest = r.largest;
    a = rotated(b, a, r, partner, rank - 1);
    Value vectors = rotated(b, have[1], r, partner, rank - 1);
    r.s = conjugate(b, r.s);
    return {rotated(b, a, r, partner, rank - 2), vectors};
  };
  auto done = sweep(b, n, {x, identity(b, batchOf(b, x), n, b.elem(x))}, turn);
  Value values = realPart(b, diagonal(b, done[0])), order = sortedOrder(b, values, false);
  return {b.takeAlong(values, order, rank - 2), columnsInOrder(b, done[1], order)};
}

/// The extents of what kernels compute in.
Dims roomOf(PrimBuilder &b, Value x) {
  constexpr int64_t numbers = 8;
  Dims dims = batchOf(b, x, 1);
  dims.push_back(b.dim(numbers));
  return dims;
}
Value emptyRoom(PrimBuilder &b, Value x) { return b.full(roomOf(b, x), 0, b.elem(x)); }

SVD tallSVD(PrimBuilder &b, Value x, Singular asked) {
  int64_t rank = b.rank(x);
  SVD s;
  if (isComplex(x)) {
    s = jacobiSVD(b, x);
  } else {
    Dims batch = batchOf(b, x), across = batch, column = batch, square = batch;
    Dim n = b.dim(x, rank - 2), m = b.dim(x, rank - 1);
    across.append({m, n});
    column.push_back(m);
    square.append({m, m});
    Type e = b.elem(x);
    auto op = prim::SvdOp::create(b.builder(), b.location(), b.type(x), b.typeOf(across, e),
                                  b.typeOf(column, e), b.typeOf(square, e),
                                  b.typeOf(roomOf(b, x), e), x, asked != Singular::Values);
    s = {transposed(b, op.getLeft()), op.getValues(), transposed(b, op.getRight())};
  }
  if (asked == Singular::Values)
    return {{}, s.values, {}};
  if (asked == Singular::AllVectors && !b.same(b.dim(x, rank - 2), b.dim(x, rank - 1)))
    s.u = orthonormal(b, s.u, /*complete=*/true);
  return s;
}

} // namespace

Factors matrices::eigenLoop(PrimBuilder &b, Value x) {
  Eigen e = jacobiEigen(b, x);
  return {transposed(b, e.vectors), e.values, emptyRoom(b, x)};
}

Factors matrices::svdLoop(PrimBuilder &b, Value x) {
  SVD s = jacobiSVD(b, x);
  return {x, transposed(b, s.u), s.values, transposed(b, s.v), emptyRoom(b, x)};
}

Eigen matrices::eigenSymmetric(PrimBuilder &b, Value x, bool vectors) {
  if (complexmath::isComplex(x))
    return jacobiEigen(b, x);
  Type e = b.elem(x);
  auto op = prim::SymmetricEigenOp::create(b.builder(), b.location(), b.type(x),
                                           b.typeOf(batchOf(b, x, 1), e), b.typeOf(roomOf(b, x), e),
                                           x, vectors);
  return {op.getValues(), vectors ? transposed(b, op.getRows()) : Value()};
}

SVD matrices::factorSVD(PrimBuilder &b, Value x, Singular asked) {
  Dim n = b.dim(x, b.rank(x) - 2), m = b.dim(x, b.rank(x) - 1);
  Dim isTall = b.compareDims(arith::CmpIPredicate::sge, n, m);
  auto constant = b.known(isTall);
  // Thin factors of both ways have extents of different names.
  bool cuts = asked == Singular::Vectors && !b.same(n, m) && !constant;
  if (cuts)
    asked = Singular::AllVectors;
  auto tall = [&] { return tallSVD(b, x, asked); };
  auto wide = [&] {
    SVD s = tallSVD(b, adjoint(b, x), asked);
    return SVD{s.v, s.values, s.u};
  };
  if (b.same(n, m))
    return tall();
  if (constant)
    return *constant ? tall() : wide();
  bool vectors = asked != Singular::Values;
  auto all = [&](const SVD &s) {
    return vectors ? SmallVector<Value>{s.u, s.values, s.v} : SmallVector<Value>{s.values};
  };
  auto either = b.branch(isTall, [&] { return all(tall()); }, [&] { return all(wide()); });
  if (!either) {
    b.fault("the factors of matrices have no common type");
    return tall();
  }
  if (!vectors)
    return {{}, (*either)[0], {}};
  SVD s{(*either)[0], (*either)[1], (*either)[2]};
  auto cut = [&](Value v) {
    return cuts ? b.sliceAxis(v, b.rank(v) - 1, b.dim(0), b.minDims(n, m)) : v;
  };
  return {cut(s.u), s.values, cut(s.v)};
}
