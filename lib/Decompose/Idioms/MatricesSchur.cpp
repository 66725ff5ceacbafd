//===- MatricesSchur.cpp - Eigenvalues of matrices without symmetry -------===//
//
// The QR algorithm: a similar matrix of Hessenberg's form (zero below the first subdiagonal), then
// steps Q^H H Q with Q of a polynomial of H whose zeros are shifts near eigenvalues, until the
// subdiagonal vanishes beside the diagonal, in the precision that the result has; of real matrices
// until no two of its neighbours stand beside each other, so that blocks of two rows are pairs of
// eigenvalues. Shifts, the order of blocks and what counts as vanished are LAPACK's (dlahqr,
// zlahqr), and with them mostly the order of the eigenvalues.
//
// LAPACK chases the double shift down the diagonal, row by row. Here a step factors the polynomial
// of the lowest block that is not done, and multiplies: few kernels on whole matrices, for all
// matrices of a batch at once, in which those that are done take the unit matrix for Q. A column of
// Hessenberg's form is likewise the factor Q of a unit matrix with that column in it.
//
// Vectors are those of the triangle, solved for all eigenvalues row by row, times the product
// of all Q. Two rows of a real matrix are made triangular by a complex rotation before. Eigenvalues
// that are equal but for rounding have vectors that are equal too: the difference that divides
// is taken to be as large as the rounding error, as in LAPACK.
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

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int64_t kSteps = 30; ///< for each row, as in LAPACK

Type indexType(PrimBuilder &b) { return b.builder().getI64Type(); }
Value both(PrimBuilder &b, Value x, Value y) { return b.binary<prim::AndOp>(x, y); }
Value asRow(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v) - 1}); }
/// [..] -> [.., 1, 1].
Value spreadTwice(PrimBuilder &b, Value v) { return spread(b, spread(b, v)); }

/// The last axis of v moved by one place, 0 in the place that is free.
Value moved(PrimBuilder &b, Value v, bool up) {
  int64_t axis = b.rank(v) - 1;
  Dims low(b.rank(v), b.dim(0)), high = low;
  (up ? high : low).back() = b.dim(1);
  Value padded = b.pad(v, b.scalar(0, b.elem(v)), low, high);
  return b.sliceAxis(padded, axis, b.dim(up ? 1 : 0), b.dim(v, axis));
}

/// Element k of the first diagonal below (or above) the main one is that of row (column) k + 1;
/// the last is 0.
Value besideDiagonal(PrimBuilder &b, Value x, bool below) {
  Value i = position(b, x, 2), j = position(b, x, 1);
  Value on = below ? b.compare(P::eq, i, b.add(j, 1.0)) : b.compare(P::eq, j, b.add(i, 1.0));
  return b.reduce(K::sum, where(b, on, x), {b.rank(x) - (below ? 2 : 1)}, false);
}

Value similar(PrimBuilder &b, Value x, Value q) { return b.matmul(adjoint(b, q), b.matmul(x, q)); }

/// Zero below the first subdiagonal.
Value hessenbergPart(PrimBuilder &b, Value x) {
  Value i = position(b, x, 2), j = position(b, x, 1);
  return where(b, b.compare(P::le, i, b.add(j, 1.0)), x);
}

/// H and Q with x = Q H Q^H, of the first column that is that of the unit matrix.
std::pair<Value, Value> hessenberg(PrimBuilder &b, Value x) {
  Dim n = b.dim(x, b.rank(x) - 1);
  Value unit = identity(b, batchOf(b, x), n, b.elem(x));
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value h = have[0], i = position(b, h, 2), j = position(b, h, 1);
    Value entries = asColumn(b, b.take(h, k, b.rank(h) - 1));
    Value below = where(b, b.compare(P::gt, i, k), entries);
    Value framed = b.select(b.compare(P::eq, j, b.add(k, 1.0)), below, unit);
    Value q = factorQR(b, framed, /*complete=*/true).q;
    h = similar(b, h, q);
    Value done = both(b, b.compare(P::eq, j, k), b.compare(P::gt, i, b.add(k, 1.0)));
    return {b.select(done, b.scalar(0, b.elem(h)), h), b.matmul(have[1], q)};
  };
  Dim turns = b.maxDims(b.subDims(n, b.dim(2)), b.dim(0));
  auto found = repeat(b, turns, {x, unit}, step);
  return {hessenbergPart(b, found[0]), found[1]};
}

/// A matrix of Hessenberg's form without what has vanished, and its lowest block that is not done:
/// its first and last row, i64 [..]; -1 as the last where there is none.
struct Progress {
  Value h, first, last;
};
Progress progressOf(PrimBuilder &b, Value h, double epsilon) {
  Type i64 = indexType(b);
  int64_t axis = b.rank(h) - 2;
  Dim n = b.dim(h, axis);
  Value size = magnitudeOf(b, h), own = diagonal(b, size);
  Value below = besideDiagonal(b, size, true), near = b.add(own, moved(b, own, true));
  Value all = spread(b, b.reduce(K::max, size, {axis, axis + 1}, false));
  near = b.select(b.compare(P::eq, near, 0.0), all, near);
  Value vanished = b.compare(P::le, below, b.mul(near, epsilon));
  Value i = position(b, h, 2), j = position(b, h, 1);
  Value gone = both(b, b.compare(P::eq, i, b.add(j, 1.0)), asRow(b, vanished));
  h = b.select(gone, b.scalar(0, b.elem(h)), h);
  // Row k begins a block where what is before it has vanished, and ends one where what follows has.
  Value k = b.iota({n}, 0, i64), zero = b.scalar(0, i64);
  Value last = b.compare(P::eq, k, b.sub(b.fromHost({n}, {}, i64), 1.0));
  Value ends = b.binary<prim::OrOp>(vanished, last);
  Value begins = b.select(moved(b, ends, false), k, zero);
  begins = b.broadcastTo(begins, batchOf(b, h, 1));
  Value start = prim::CumulativeOp::create(b.builder(), b.location(), begins.getType(), K::max,
                                           begins, axis, false, false);
  double most = isComplex(h) ? 0 : 1; // rows after the first in a block that is done
  Value open = both(b, ends, b.compare(P::gt, b.sub(k, start), most));
  Value lowest = b.reduce(K::max, b.select(open, k, b.scalar(-1, i64)), {axis}, false);
  Value at = b.compare(P::eq, k, spread(b, lowest));
  return {h, b.reduce(K::sum, where(b, at, start), {axis}, false), lowest};
}

Value entry(PrimBuilder &b, Value x, Value row, Value column) {
  int64_t rank = b.rank(x);
  Value here = both(b, b.compare(P::eq, position(b, x, 2), spreadTwice(b, row)),
                    b.compare(P::eq, position(b, x, 1), spreadTwice(b, column)));
  return b.reduce(K::sum, where(b, here, x), {rank - 2, rank - 1}, false);
}

/// Half the trace of [a, b; c, d], and how far from it the squares of its eigenvalues are.
struct Pair {
  Value middle, square;
};
Pair pairOf(PrimBuilder &b, Value a, Value upper, Value lower, Value d) {
  Value p = b.mul(b.sub(a, d), 0.5);
  return {b.mul(b.add(a, d), 0.5), b.add(b.mul(p, p), b.mul(upper, lower))};
}

/// The polynomial of the open block whose zeros are the shifts, a unit matrix around it: of a
/// complex matrix (H - s), of a real one (H - s)^2 - q. Every tenth step of a block takes others.
Value shifted(PrimBuilder &b, const Progress &p, Value turn) {
  Value h = p.h, i = p.last, above = b.sub(i, 1.0);
  Type e = b.elem(h);
  Value a = entry(b, h, above, above), c = entry(b, h, i, above), d = entry(b, h, i, i);
  Pair pair = pairOf(b, a, entry(b, h, above, i), c, d);
  Value phase = b.binary<prim::RemOp>(turn, b.scalar(20, indexType(b)));
  Value isTenth = b.compare(P::eq, phase, 10.0), isOdd = b.compare(P::eq, phase, 0.0);
  // Steps that do not converge: shifts around an end of the block, at the distance of its entries.
  Value first = p.first, second = b.add(first, 1.0), third = b.add(first, 2.0);
  Value top = entry(b, h, first, first), size = magnitudeOf(b, h);
  auto beside = [&](Value x, Value y) { return isComplex(h) ? x : b.add(x, y); };
  Value sizeAtTop = beside(entry(b, size, second, first), entry(b, size, third, second));
  Value sizeAtEnd = beside(entry(b, size, i, above), entry(b, size, above, b.sub(i, 2.0)));
  Value odd = b.binary<prim::OrOp>(isTenth, isOdd);
  Value far = b.select(isTenth, sizeAtTop, sizeAtEnd);
  Value other = b.add(b.select(isTenth, top, d), b.cast(b.mul(far, 0.75), e));
  Value j = position(b, h, 1), rows = position(b, h, 2);
  auto inside = [&](Value at) {
    return both(b, b.compare(P::ge, at, spreadTwice(b, first)),
                b.compare(P::le, at, spreadTwice(b, i)));
  };
  Value block = both(b, inside(rows), inside(j)), isDiagonal = b.compare(P::eq, rows, j);
  Value unit = b.cast(isDiagonal, e);
  Value root = isComplex(h) ? b.sqrt(pair.square) : b.sqrt(b.maximum(pair.square, 0.0));
  Value more = b.add(pair.middle, root), less = b.sub(pair.middle, root);
  Value nearer = b.compare(P::le, magnitudeOf(b, b.sub(more, d)), magnitudeOf(b, b.sub(less, d)));
  Value shift = b.select(nearer, more, less);
  if (isComplex(h)) {
    shift = b.select(odd, other, shift);
    Value low = b.sub(h, b.mul(spreadTwice(b, shift), unit));
    return b.select(block, low, unit);
  }
  // A pair of complex shifts is one square below zero, a real one is taken twice.
  Value square = b.select(odd, b.mul(b.mul(far, far), -0.4375), b.minimum(pair.square, 0.0));
  shift = b.select(b.compare(P::lt, pair.square, 0.0), pair.middle, shift);
  shift = b.select(odd, other, shift);
  Value low = b.sub(h, b.mul(spreadTwice(b, shift), unit));
  low = where(b, block, low);
  Value polynomial = b.sub(b.matmul(low, low), b.mul(spreadTwice(b, square), unit));
  return b.select(block, polynomial, unit);
}

struct Schur {
  Value t, q;  ///< x = Q T Q^H
  Value holds; ///< [..]: whether T is what it should be
};
Schur factorSchur(PrimBuilder &b, Value x, double epsilon) {
  Type i64 = indexType(b);
  auto [h, q] = hessenberg(b, x);
  Progress start = progressOf(b, h, epsilon);
  Value none = b.full(batchOf(b, x), 0, i64);
  Value most = b.mul(b.fromHost({b.dim(x, b.rank(x) - 1)}, {}, i64), double(kSteps));
  auto more = [&](ValueRange have) {
    Value last = have[3];
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(last)));
    Value isOpen = b.reduce(K::any, b.compare(P::ge, last, 0.0), axes, false);
    return b.readElements(both(b, isOpen, b.compare(P::lt, have[5], most)))[0];
  };
  auto body = [&](ValueRange have) -> std::optional<SmallVector<Value>> {
    Value turn = b.add(have[4], 1.0);
    Value factor = factorQR(b, shifted(b, {have[0], have[2], have[3]}, turn), /*complete=*/true).q;
    Progress next = progressOf(b, hessenbergPart(b, similar(b, have[0], factor)), epsilon);
    turn = where(b, b.compare(P::eq, next.last, have[3]), turn);
    return SmallVector<Value>{next.h, b.matmul(have[1], factor), next.first, next.last,
                              turn,   b.add(have[5], 1.0)};
  };
  auto done = b.loop({start.h, q, start.first, start.last, none, b.scalar(0, i64)}, more, body);
  if (!done) {
    b.fault("the loop's values change their types");
    return {h, q, b.compare(P::lt, start.last, 0.0)};
  }
  return {(*done)[0], (*done)[1], b.compare(P::lt, (*done)[3], 0.0)};
}

/// The eigenvalues on the diagonal of a real T, complex, and the rotation that makes it triangular.
struct Triangle {
  Value values, rotation;
};
Triangle triangleOf(PrimBuilder &b, Value t) {
  Type complex = ComplexType::get(b.elem(t));
  Value a = diagonal(b, t), d = moved(b, a, true), zero = b.scalar(0, b.elem(t));
  Value upper = besideDiagonal(b, t, false), lower = besideDiagonal(b, t, true);
  Value isFirst = b.compare(P::ne, lower, 0.0);
  Value isSecond = moved(b, isFirst, false);
  Pair pair = pairOf(b, a, upper, lower, d);
  Value isReal = b.compare(P::ge, pair.square, 0.0), root = b.sqrt(b.abs(pair.square));
  Value p = b.sub(a, pair.middle), low = b.compare(P::lt, p, 0.0);
  Value z = b.add(p, b.select(low, b.neg(root), root));
  Value safe = b.select(b.compare(P::eq, z, 0.0), b.scalar(1, b.elem(t)), z);
  Value one = b.add(d, z), two = b.sub(d, b.div(b.mul(upper, lower), safe));
  Parts first = {b.select(isReal, one, pair.middle), b.select(isReal, zero, root)};
  Parts second = {b.select(isReal, two, pair.middle), b.select(isReal, zero, b.neg(root))};
  Value values = b.select(isSecond, moved(b, joined(b, second), false), b.cast(a, complex));
  values = b.select(isFirst, joined(b, first), values);
  // The first vector of a block is (value - d, lower); the second is across.
  Parts x = {b.sub(first.re, d), first.im};
  Value length = b.sqrt(b.add(b.add(b.mul(x.re, x.re), b.mul(x.im, x.im)), b.mul(lower, lower)));
  length = b.select(isFirst, length, b.scalar(1, b.elem(t)));
  Value head = joined(b, {b.div(x.re, length), b.div(x.im, length)});
  Value tail = b.cast(b.div(lower, length), complex);
  Value own = b.select(isSecond, moved(b, conjugate(b, head), false), b.scalar(1, complex));
  own = b.select(isFirst, head, own);
  Value i = position(b, t, 2), j = position(b, t, 1);
  Value onDiagonal = where(b, b.compare(P::eq, i, j), asRow(b, own));
  Value under = where(b, b.compare(P::eq, i, b.add(j, 1.0)), asRow(b, tail));
  Value over = where(b, b.compare(P::eq, j, b.add(i, 1.0)), asColumn(b, b.neg(tail)));
  return {values, b.add(b.add(onDiagonal, under), over)};
}

/// The columns v with T v = value v of an upper triangle.
Value trianglesVectors(PrimBuilder &b, Value t, Value values) {
  constexpr double kLarge = 1e100, kSmall = 1e-140; // squares of which are there
  Type i64 = indexType(b), e = b.elem(t), real = realType(e);
  int64_t rank = b.rank(t);
  Dim n = b.dim(t, rank - 1);
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0), j = b.iota({n}, 0, i64);
  Value size = b.reduce(K::max, magnitudeOf(b, t), {rank - 2, rank - 1}, false);
  Value least = spread(b, b.maximum(b.mul(size, kEpsilon), kSmall));
  auto step = [&](Value turn, ValueRange have) -> SmallVector<Value> {
    Value r = b.sub(last, turn), v = have[0];
    Value sums = b.squeeze(b.matmul(asRow(b, b.take(t, r, rank - 2)), v), {rank - 2});
    Value apart = b.sub(spread(b, b.take(values, r, rank - 2)), values);
    Value close = b.compare(P::lt, magnitudeOf(b, apart), least);
    apart = b.select(close, b.cast(least, e), apart);
    Value row = where(b, b.compare(P::gt, j, r), b.neg(b.div(sums, apart)));
    row = b.select(b.compare(P::eq, j, r), b.scalar(1, e), row);
    v = b.select(b.compare(P::eq, position(b, v, 2), r), asRow(b, row), v);
    Value grown = magnitudeOf(b, row);
    Value by = b.select(b.compare(P::gt, grown, kLarge), b.div(b.scalar(1, real), grown),
                        b.scalar(1, real));
    return {b.mul(v, asRow(b, b.cast(by, e)))};
  };
  return repeat(b, n, {b.mul(t, b.scalar(0, e))}, step)[0];
}

/// Each column of length 1 and, where `turns` says so, with a largest element that is positive.
Value normalized(PrimBuilder &b, Value v, Value turns) {
  int64_t rows = b.rank(v) - 2;
  Type e = b.elem(v);
  Value size = magnitudeOf(b, v), most = b.reduce(K::max, size, {rows}, true);
  Value scaled = b.div(v, b.cast(most, e));
  size = b.div(size, most);
  Value length = b.sqrt(b.reduce(K::sum, b.mul(size, size), {rows}, true));
  scaled = b.div(scaled, b.cast(length, e));
  Value at = b.argReduce(K::max, size, rows, true);
  Value largest = b.takeAlong(scaled, at, rows);
  Value phase = b.div(conjugate(b, largest), b.cast(magnitudeOf(b, largest), e));
  return b.mul(scaled, b.select(asRow(b, turns), phase, b.scalar(1, e)));
}

} // namespace

GeneralEigen matrices::eigenGeneral(PrimBuilder &b, Value x, bool vectors, double epsilon) {
  bool complex = complexmath::isComplex(x);
  Type e = complex ? b.elem(x) : Type(ComplexType::get(b.elem(x)));
  Schur s = factorSchur(b, x, epsilon);
  Value values = diagonal(b, s.t), t = s.t, q = s.q;
  if (!complex) {
    Triangle triangle = triangleOf(b, t);
    values = triangle.values;
    t = similar(b, b.cast(t, e), triangle.rotation);
    q = b.matmul(b.cast(q, e), triangle.rotation);
  }
  if (!vectors)
    return {values, Value(), s.holds};
  Value turns = b.compare(P::ne, partsOf(b, values).im, 0.0);
  if (complex)
    turns = b.compare(P::eq, turns, turns);
  Value found = b.matmul(q, trianglesVectors(b, upper(b, t), values));
  return {values, normalized(b, found, turns), s.holds};
}
