//===- Matrices.cpp - LU, Cholesky and QR by loops of primitives ----------===//
//
// Step k of each algorithm works on the whole matrix and leaves by a mask what it
// must not change, so that shapes stay as they are and a loop can carry them:
// O(n) kernels of O(n m) elements, whatever the batch.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::matrices;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

Type indexType(PrimBuilder &b) { return b.builder().getI64Type(); }

/// [..] -> [.., 1], and [.., n] as a row or a column.
Value spread(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v)}); }
Value asColumn(PrimBuilder &b, Value v) { return spread(b, v); }
Value asRow(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v) - 1}); }

/// The matrix's column k as [.., n], its row k as [.., m].
Value column(PrimBuilder &b, Value x, Value k) { return b.take(x, k, b.rank(x) - 1); }
Value row(PrimBuilder &b, Value x, Value k) { return b.take(x, k, b.rank(x) - 2); }

Value where(PrimBuilder &b, Value mask, Value x) {
  return b.select(mask, x, b.scalar(0, b.elem(x)));
}
Value logicalAnd(PrimBuilder &b, Value x, Value y) { return b.binary<prim::AndOp>(x, y); }

} // namespace

Dims matrices::batchOf(PrimBuilder &b, Value x, int64_t last) {
  Dims dims = b.dims(x);
  dims.truncate(dims.size() - last);
  return dims;
}

Value matrices::transposed(PrimBuilder &b, Value x) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(x, order);
}

Value matrices::position(PrimBuilder &b, Value x, int64_t fromEnd) {
  Dims dims = b.dims(x);
  Dims shape(fromEnd, b.dim(1)); // [n, 1] or [m]: broadcasts
  shape[0] = dims[dims.size() - fromEnd];
  return b.iota(shape, 0, indexType(b));
}

Value matrices::identity(PrimBuilder &b, ArrayRef<Dim> batch, Dim n, Type elementType) {
  Type i64 = indexType(b);
  Value on = b.compare(P::eq, b.iota({n, n}, 0, i64), b.iota({n, n}, 1, i64));
  Dims dims(batch);
  dims.append({n, n});
  return b.broadcastTo(b.cast(on, elementType), dims);
}

Value matrices::diagonal(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  Value on = b.compare(P::eq, position(b, x, 2), position(b, x, 1));
  Value sum = b.reduce(K::sum, where(b, on, x), {rank - 2}, false);
  return b.sliceAxis(sum, rank - 2, b.dim(0), b.minDims(b.dim(x, rank - 2), b.dim(x, rank - 1)));
}

Value matrices::lower(PrimBuilder &b, Value x, bool unit) {
  Value i = position(b, x, 2), j = position(b, x, 1);
  Value below = where(b, b.compare(unit ? P::gt : P::ge, i, j), x);
  return unit ? b.select(b.compare(P::eq, i, j), b.scalar(1, b.elem(x)), below) : below;
}

Value matrices::upper(PrimBuilder &b, Value x) {
  return where(b, b.compare(P::le, position(b, x, 2), position(b, x, 1)), x);
}

void matrices::broadcastBatches(PrimBuilder &b, Value &x, Value &y) {
  Dims batch = b.broadcastShapes(batchOf(b, x), batchOf(b, y));
  for (Value *v : {&x, &y}) {
    Dims dims(batch);
    dims.append({b.dim(*v, b.rank(*v) - 2), b.dim(*v, b.rank(*v) - 1)});
    *v = b.broadcastTo(*v, dims);
  }
}

SmallVector<Value> matrices::repeat(PrimBuilder &b, Dim count, ValueRange inits, Step step) {
  constexpr int64_t kWrittenOut = 4;
  Type i64 = indexType(b);
  SmallVector<Value> carried(inits);
  if (auto known = b.known(count); known && *known <= kWrittenOut) {
    for (int64_t k = 0; k < *known; ++k)
      carried = step(b.scalar(static_cast<double>(k), i64), carried);
    return carried;
  }
  carried.push_back(b.scalar(0, i64));
  auto more = [&](ValueRange values) {
    return b.compareDims(arith::CmpIPredicate::slt, b.readElements(values.back())[0], count);
  };
  auto turn = [&](ValueRange values) -> std::optional<SmallVector<Value>> {
    SmallVector<Value> next = step(values.back(), values.drop_back());
    next.push_back(b.add(values.back(), 1.0));
    return next;
  };
  auto results = b.loop(carried, more, turn);
  if (!results) {
    b.fault("the loop's values change their types");
    return SmallVector<Value>(inits);
  }
  results->pop_back();
  return *results;
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

Value matrices::rowsInOrder(PrimBuilder &b, Value x, Value order) {
  return b.takeAlong(x, b.broadcastTo(asColumn(b, order), b.dims(x)), b.rank(x) - 2);
}

LU matrices::factorLU(PrimBuilder &b, Value x, bool pivoting) {
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dims batch = batchOf(b, x), rows(batch);
  Dim n = b.dim(x, rank - 2), least = b.minDims(n, b.dim(x, rank - 1));
  rows.push_back(n);
  Value start = b.broadcastTo(b.iota({n}, 0, i64), rows);
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value a = have[0], order = have[1], pivots = have[2], sign = have[3];
    Value i = b.iota({n}, 0, i64);
    if (pivoting) {
      Value size = b.select(b.compare(P::ge, i, k), b.abs(column(b, a, k)), b.scalar(-1, element));
      Value best = prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(batch, i64),
                                             K::max, size, rank - 2)
                       .getResult();
      Value at = spread(b, best);
      Value from = b.select(b.compare(P::eq, i, k), at, b.select(b.compare(P::eq, i, at), k, i));
      a = rowsInOrder(b, a, from);
      order = b.takeAlong(order, from, rank - 2);
      pivots = b.select(b.compare(P::eq, i, k), at, pivots);
      Value stays = b.compare(P::eq, best, k);
      sign = b.select(stays, sign, b.neg(sign));
    }
    Value pivotColumn = column(b, a, k), pivot = spread(b, b.take(pivotColumn, k, rank - 2));
    Value below = logicalAnd(b, b.compare(P::gt, i, k), b.compare(P::ne, pivot, 0.0));
    Value factor = where(b, below, b.div(pivotColumn, pivot));
    Value r = position(b, a, 2), c = position(b, a, 1);
    Value right = where(b, b.compare(P::gt, b.iota({b.dim(a, rank - 1)}, 0, i64), k), row(b, a, k));
    Value reduced = b.sub(a, b.mul(asColumn(b, factor), asRow(b, right)));
    Value isFactor = logicalAnd(b, b.compare(P::gt, r, k), b.compare(P::eq, c, k));
    a = b.select(isFactor, asColumn(b, factor), reduced);
    return {a, order, pivots, sign};
  };
  auto done = repeat(b, least, {x, start, start, b.full(batch, 1, element)}, step);
  return {done[0], done[1], b.sliceAxis(done[2], rank - 2, b.dim(0), least), done[3]};
}

Value matrices::orderOf(PrimBuilder &b, Value pivots, Dim rows) {
  Type i64 = indexType(b);
  int64_t axis = b.rank(pivots) - 1;
  Dims dims = batchOf(b, pivots, 1);
  dims.push_back(rows);
  Value start = b.broadcastTo(b.iota({rows}, 0, i64), dims);
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value i = b.iota({rows}, 0, i64), at = spread(b, b.take(pivots, k, axis));
    Value from = b.select(b.compare(P::eq, i, k), at, b.select(b.compare(P::eq, i, at), k, i));
    return {b.takeAlong(have[0], from, axis)};
  };
  return repeat(b, b.dim(pivots, axis), {start}, step)[0];
}

Value matrices::determinant(PrimBuilder &b, const LU &lu) {
  Value d = diagonal(b, lu.packed);
  return b.mul(lu.sign, b.reduce(K::prod, d, {b.rank(d) - 1}, false));
}

Value matrices::solveTriangular(PrimBuilder &b, Value t, Value rhs, bool isUpper, bool unit) {
  broadcastBatches(b, t, rhs);
  Type i64 = indexType(b);
  int64_t rank = b.rank(t);
  Dim n = b.dim(t, rank - 1);
  Value last = b.sub(b.fromHost({n}, {}, i64), 1.0);
  auto step = [&](Value turn, ValueRange have) -> SmallVector<Value> {
    Value x = have[0], k = isUpper ? b.sub(last, turn) : turn;
    Value entries = column(b, t, k), solved = row(b, x, k);
    if (!unit)
      solved = b.div(solved, spread(b, b.take(entries, k, rank - 2)));
    Value i = position(b, x, 2), known = asRow(b, solved);
    Value left = b.sub(x, b.mul(asColumn(b, entries), known));
    x = b.select(b.compare(isUpper ? P::lt : P::gt, i, k), left, x);
    return {b.select(b.compare(P::eq, i, k), known, x)};
  };
  return repeat(b, n, {rhs}, step)[0];
}

Value matrices::solve(PrimBuilder &b, const LU &lu, Value rhs) {
  Value packed = lu.packed, order = asColumn(b, lu.order);
  broadcastBatches(b, order, rhs);
  Value x = rowsInOrder(b, rhs, b.squeeze(order, {b.rank(order) - 1}));
  x = solveTriangular(b, packed, x, false, true);
  return solveTriangular(b, packed, x, true, false);
}

Value matrices::factorCholesky(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value a = have[0], entries = column(b, a, k);
    Value i = b.iota({b.dim(a, rank - 1)}, 0, indexType(b));
    Value pivot = b.sqrt(spread(b, b.take(entries, k, rank - 2)));
    Value line = where(b, b.compare(P::ge, i, k), b.div(entries, pivot));
    Value r = position(b, a, 2), c = position(b, a, 1);
    Value rest = logicalAnd(b, b.compare(P::gt, r, k), b.compare(P::gt, c, k));
    Value reduced = b.sub(a, b.mul(asColumn(b, line), asRow(b, line)));
    a = b.select(rest, reduced, a);
    return {b.select(b.compare(P::eq, c, k), asColumn(b, line), a)};
  };
  return lower(b, repeat(b, b.dim(x, rank - 1), {x}, step)[0]);
}

//===----------------------------------------------------------------------===//
// Reflections
//===----------------------------------------------------------------------===//

QR matrices::factorQR(PrimBuilder &b, Value x) {
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dims batch = batchOf(b, x);
  Dim n = b.dim(x, rank - 2), m = b.dim(x, rank - 1);
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value r = have[0], q = have[1], entries = column(b, r, k);
    Value i = b.iota({n}, 0, i64), below = where(b, b.compare(P::gt, i, k), entries);
    // Scaled by the largest entry, squares neither overflow nor vanish.
    Value largest =
        b.reduce(K::max, b.abs(where(b, b.compare(P::ge, i, k), entries)), {rank - 2}, true);
    Value none = b.compare(P::eq, largest, 0.0), one = b.scalar(1, element);
    Value unit = b.select(none, one, largest);
    below = b.div(below, unit);
    Value head = b.div(spread(b, b.take(entries, k, rank - 2)), unit);
    Value rest = b.reduce(K::sum, b.mul(below, below), {rank - 2}, true);
    Value length = b.sqrt(b.add(rest, b.mul(head, head)));
    Value beta = b.select(b.compare(P::ge, head, 0.0), b.neg(length), length);
    // v = x - beta e_k; H = 1 - tau v v^T. Nothing below: H = 1.
    Value top = b.sub(head, beta);
    Value v = b.add(below, where(b, b.compare(P::eq, i, k), top));
    Value square = b.add(rest, b.mul(top, top));
    Value idle = b.compare(P::eq, rest, 0.0);
    Value tau = b.select(idle, b.scalar(0, element),
                         b.div(b.scalar(2, element), b.select(idle, one, square)));
    Value vr = b.reduce(K::sum, b.mul(asColumn(b, v), r), {rank - 2}, true);
    Value qv = b.reduce(K::sum, b.mul(q, asRow(b, v)), {rank - 1}, true);
    Value t = spread(b, tau);
    return {b.sub(r, b.mul(t, b.mul(asColumn(b, v), vr))),
            b.sub(q, b.mul(t, b.mul(qv, asRow(b, v))))};
  };
  auto done = repeat(b, b.minDims(n, m), {x, identity(b, batch, n, element)}, step);
  return {done[1], upper(b, done[0])};
}

Value matrices::reflections(PrimBuilder &b, Value x, Value tau) {
  Type i64 = indexType(b), element = b.elem(x);
  int64_t rank = b.rank(x);
  Dim n = b.dim(x, rank - 2);
  auto step = [&](Value k, ValueRange have) -> SmallVector<Value> {
    Value q = have[0], i = b.iota({n}, 0, i64);
    Value below = where(b, b.compare(P::gt, i, k), column(b, x, k));
    Value v = b.select(b.compare(P::eq, i, k), b.scalar(1, element), below);
    Value qv = b.reduce(K::sum, b.mul(q, asRow(b, v)), {rank - 1}, true);
    Value t = spread(b, spread(b, b.take(tau, k, b.rank(tau) - 1)));
    return {b.sub(q, b.mul(t, b.mul(qv, asRow(b, v))))};
  };
  Value unit = identity(b, batchOf(b, x), n, element);
  Value q = repeat(b, b.dim(tau, b.rank(tau) - 1), {unit}, step)[0];
  return b.sliceAxis(q, rank - 1, b.dim(0), b.dim(x, rank - 1));
}
