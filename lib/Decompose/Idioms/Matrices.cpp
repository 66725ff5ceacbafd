//===- Matrices.cpp - What is made of LU, Cholesky and QR -----------------===//
//
// The factors themselves are primitives; targets without a kernel for them take them as
// loops (MatrixLoops.cpp).
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Matrices.h"
#include "Decompose/Idioms/ComplexMath.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::matrices;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

static Type indexType(PrimBuilder &b) { return b.builder().getI64Type(); }

Value matrices::spread(PrimBuilder &b, Value v) { return b.unsqueeze(v, {b.rank(v)}); }
Value matrices::asColumn(PrimBuilder &b, Value v) { return spread(b, v); }

Value matrices::where(PrimBuilder &b, Value mask, Value x) {
  return b.select(mask, x, b.scalar(0, b.elem(x)));
}

Dims matrices::batchOf(PrimBuilder &b, Value x, int64_t last) {
  Dims dims = b.dims(x);
  dims.truncate(dims.size() - last);
  return dims;
}

Value matrices::transposed(PrimBuilder &b, Value x) {
  if (b.rank(x) < 2) {
    b.fault("an operand of rank " + llvm::Twine(b.rank(x)) + " is no matrix");
    return x;
  }
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(x, order);
}

Value matrices::adjoint(PrimBuilder &b, Value x) {
  return complexmath::conjugate(b, transposed(b, x));
}

Type matrices::inDoubles(Type elementType) {
  Type f64 = Float64Type::get(elementType.getContext());
  return isa<ComplexType>(elementType) ? Type(ComplexType::get(f64)) : f64;
}

Value matrices::position(PrimBuilder &b, Value x, int64_t fromEnd) {
  Dims dims = b.dims(x);
  Dims shape(fromEnd, b.dim(1)); // [n, 1] or [m]: broadcasts
  shape[0] = dims[dims.size() - fromEnd];
  return b.iota(shape, 0, indexType(b));
}

Value matrices::distance(PrimBuilder &b, Dim rows, Dim columns) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  auto m = b.known(rows), n = b.known(columns);
  bool few = m && n && *m < kMost && *n < kMost;
  Type index = few ? b.builder().getI32Type() : b.builder().getI64Type();
  Dims shape = {rows, columns};
  return b.sub(b.iota(shape, 1, index), b.iota(shape, 0, index));
}

Value matrices::identity(PrimBuilder &b, ArrayRef<Dim> batch, Dim n, Type elementType) {
  Value on = b.compare(P::eq, distance(b, n, n), 0.0);
  Dims dims(batch);
  dims.append({n, n});
  return b.broadcastTo(b.cast(on, elementType), dims);
}

Value matrices::diagonal(PrimBuilder &b, Value x) {
  int64_t rank = b.rank(x);
  auto rows = b.known(b.dim(x, rank - 2)), columns = b.known(b.dim(x, rank - 1));
  if (rows && columns && *rows && *columns) { // a column and a row further each
    Dims flat = batchOf(b, x);
    flat.push_back(b.dim(*rows * *columns));
    return b.sliceAxis(b.reshape(x, flat), rank - 2, b.dim(0), b.dim(std::min(*rows, *columns)),
                       *columns + 1);
  }
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
  Type i64 = indexType(b);
  int64_t rank = b.rank(x);
  Dims rows = batchOf(b, x, 1);
  Dim least = b.minDims(b.dim(x, rank - 2), b.dim(x, rank - 1));
  auto places = b.typeOf(rows, i64);
  Value packed, pivots, rowOrder;
  if (complexmath::isComplex(x)) {
    Factors loop = luLoop(b, x, pivoting);
    packed = loop[0], pivots = loop[1], rowOrder = loop[2];
  } else {
    auto lu = prim::LuOp::create(b.builder(), b.location(), b.type(x), places, places, x, pivoting);
    packed = lu.getPacked(), pivots = lu.getPivots(), rowOrder = lu.getOrder();
  }
  // Each exchange of two rows turns the permutation's sign.
  Value stays = b.compare(P::eq, pivots, b.iota({rows.back()}, 0, i64));
  Value one = b.scalar(1, complexmath::realType(b.elem(x)));
  Value sign = b.reduce(K::prod, b.select(stays, one, b.neg(one)), {rank - 2}, false);
  return {packed, rowOrder, b.sliceAxis(pivots, rank - 2, b.dim(0), least), sign};
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
  return b.mul(b.cast(lu.sign, b.elem(d)), b.reduce(K::prod, d, {b.rank(d) - 1}, false));
}

Value matrices::solveTriangular(PrimBuilder &b, Value t, Value rhs, bool isUpper, bool unit) {
  broadcastBatches(b, t, rhs);
  if (complexmath::isComplex(t))
    return triangularLoop(b, t, rhs, isUpper, unit);
  return prim::TriangularSolveOp::create(b.builder(), b.location(), b.type(rhs), t, rhs, isUpper,
                                         unit);
}

Value matrices::solve(PrimBuilder &b, const LU &lu, Value rhs) {
  Value packed = lu.packed, order = asColumn(b, lu.order);
  broadcastBatches(b, order, rhs);
  Value x = rowsInOrder(b, rhs, b.squeeze(order, {b.rank(order) - 1}));
  x = solveTriangular(b, packed, x, false, true);
  return solveTriangular(b, packed, x, true, false);
}

Value matrices::factorCholesky(PrimBuilder &b, Value x) {
  if (complexmath::isComplex(x))
    return choleskyLoop(b, x);
  return prim::CholeskyOp::create(b.builder(), b.location(), b.type(x), x);
}

//===----------------------------------------------------------------------===//
// Reflections
//===----------------------------------------------------------------------===//

Reflections matrices::reflectionsOf(PrimBuilder &b, Value x) {
  if (complexmath::isComplex(x)) {
    Factors loop = qrLoop(b, x);
    return {loop[0], loop[1]};
  }
  auto factors = prim::QrOp::create(b.builder(), b.location(), b.type(x),
                                    b.typeOf(batchOf(b, x, 1), b.elem(x)), x);
  return {factors.getPacked(), factors.getTau()};
}

QR matrices::factorQR(PrimBuilder &b, Value x, bool complete) {
  int64_t rank = b.rank(x);
  Dim n = b.dim(x, rank - 2), least = b.minDims(n, b.dim(x, rank - 1));
  Reflections h = reflectionsOf(b, x);
  Value r = upper(b, h.packed), q = reflected(b, h.packed, h.tau, complete ? n : least);
  return {q, complete ? r : b.sliceAxis(r, rank - 2, b.dim(0), least)};
}

Value matrices::reflected(PrimBuilder &b, Value packed, Value tau, Dim columns) {
  int64_t rank = b.rank(packed);
  Value unit = identity(b, batchOf(b, packed), b.dim(packed, rank - 2), b.elem(packed));
  Value y = b.sliceAxis(unit, rank - 1, b.dim(0), columns);
  if (complexmath::isComplex(packed))
    return reflectLoop(b, packed, tau, y);
  return prim::ReflectOp::create(b.builder(), b.location(), b.type(y), packed, tau, y);
}
