//===- Linalg.cpp - ATen's factors of matrices and systems of equations ---===//
//
// Small matrices are factored in f64: they cost nothing, and what comes out is better than
// LAPACK's. Others are in their own type, as they are there, for half the time.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/Linalg.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::matrices;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

static Value operandOf(AtenNode &a, StringRef name, bool square) {
  PrimBuilder &b = a.b;
  Value x = a.tensor(name);
  if (!x || !AtenNode::isFloat(b.elem(x)) || b.rank(x) < 2) {
    (void)a.fail("needs matrices of real or complex numbers");
    return {};
  }
  auto n = b.known(b.dim(x, b.rank(x) - 2)), m = b.known(b.dim(x, b.rank(x) - 1));
  if (square && n && m && *n != *m) {
    (void)a.fail("needs square matrices");
    return {};
  }
  return x;
}

Value aten::matricesOf(AtenNode &a, StringRef name, bool square) {
  Value x = operandOf(a, name, square);
  return x ? a.b.cast(x, inDoubles(a.b.elem(x))) : x;
}

Value aten::factorsOf(AtenNode &a, StringRef name, bool square) {
  constexpr int64_t kSmall = 16;
  PrimBuilder &b = a.b;
  Value x = operandOf(a, name, square);
  if (!x)
    return x;
  auto n = b.known(b.dim(x, b.rank(x) - 2)), m = b.known(b.dim(x, b.rank(x) - 1));
  bool single = complexmath::realType(b.elem(x)).isF32();
  bool ownType = n && m && std::max(*n, *m) > kSmall && single;
  return ownType ? x : b.cast(x, inDoubles(b.elem(x)));
}

Value aten::sidesOf(AtenNode &a, StringRef name, Value t) {
  Value x = operandOf(a, name, false);
  return x ? a.cast(x, a.b.elem(t)) : x;
}

void aten::require(AtenNode &a, Value holds, StringRef message) {
  PrimBuilder &b = a.b;
  Value all =
      b.reduce(K::min, b.cast(holds, b.builder().getI64Type()), allAxes(b.rank(holds)), false);
  b.check(b.readElements(b.compare(P::ne, all, 0.0))[0], message);
}

Value aten::firstZero(AtenNode &a, Value isBad) {
  PrimBuilder &b = a.b;
  int64_t axis = b.rank(isBad) - 1;
  Type i64 = b.builder().getI64Type();
  Value length = b.fromHost({b.dim(isBad, axis)}, {}, i64);
  Value place = b.select(isBad, b.iota({b.dim(isBad, axis)}, 0, i64), length);
  Value first = b.minimum(b.reduce(K::min, place, {axis}, false), length);
  return b.select(b.compare(P::eq, first, length), b.scalar(0, i64), b.add(first, 1.0));
}

Value aten::unitLike(AtenNode &a, Value x) {
  return identity(a.b, batchOf(a.b, x), a.b.dim(x, a.b.rank(x) - 1), a.b.elem(x));
}

namespace {

Dim order(AtenNode &a, Value x) { return a.b.dim(x, a.b.rank(x) - 1); }
/// `info` of the operators that tell it instead of stopping.
LogicalResult checkErrors(AtenNode &a) {
  require(
      a, a.b.compare(P::eq, a.tensor("info"), 0.0),
      (a.text("api_name", "linalg") + ": the matrix is singular or not positive definite").str());
  return success();
}
void requireRegular(AtenNode &a, const LU &lu) {
  require(a, a.b.compare(P::ne, diagonal(a.b, lu.packed), 0.0), "the matrix is singular");
}

Value singularity(AtenNode &a, const LU &lu) {
  return firstZero(a, a.b.compare(P::eq, diagonal(a.b, lu.packed), 0.0));
}

LogicalResult giveLU(AtenNode &a, size_t first, const LU &lu) {
  (void)a.give(first, lu.packed);
  return a.give(first + 1, a.b.add(lu.pivots, 1.0));
}

//===----------------------------------------------------------------------===//
// LU
//===----------------------------------------------------------------------===//

template <bool info> LogicalResult luFactor(AtenNode &a) {
  StringRef name = a.c.hasAttr("A") ? "A" : "self";
  Value x = factorsOf(a, name, false);
  if (!x)
    return failure();
  LU lu = factorLU(a.b, x, a.flag("pivot", true));
  (void)giveLU(a, 0, lu);
  return info ? a.give(2, singularity(a, lu)) : success();
}

/// L and U of the packed matrix, n x k and k x m.
void giveTriangles(AtenNode &a, Value packed) {
  PrimBuilder &b = a.b;
  int64_t rank = b.rank(packed);
  Dim least = b.minDims(b.dim(packed, rank - 2), b.dim(packed, rank - 1));
  (void)a.give(1, b.sliceAxis(lower(b, packed, true), rank - 1, b.dim(0), least));
  (void)a.give(2, b.sliceAxis(upper(b, packed), rank - 2, b.dim(0), least));
}
/// P with x = P L U: the rows of the unit matrix in that order, transposed.
Value permutation(AtenNode &a, Value rowOrder, Type element) {
  PrimBuilder &b = a.b;
  Value one = identity(b, batchOf(b, rowOrder, 1), b.dim(rowOrder, b.rank(rowOrder) - 1), element);
  return transposed(b, rowsInOrder(b, one, rowOrder));
}

LogicalResult luParts(AtenNode &a) {
  Value x = factorsOf(a, "A", false);
  if (!x)
    return failure();
  bool pivoting = a.flag("pivot", true);
  LU lu = factorLU(a.b, x, pivoting);
  giveTriangles(a, lu.packed);
  return a.give(0, pivoting ? permutation(a, lu.order, a.b.elem(x))
                            : a.b.full({a.b.dim(0)}, 0, a.b.elem(x)));
}

/// The row of `rows` that each one is exchanged with.
Value pivotsOf(AtenNode &a, StringRef name, Dim rows) {
  Value pivots = a.b.sub(a.cast(a.tensor(name), a.b.builder().getI64Type()), 1.0);
  requireInRange(a.b, pivots, rows, IndexRange::positions);
  return pivots;
}

LogicalResult luUnpack(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value packed = a.tensor("LU_data");
  if (b.rank(packed) < 2)
    return a.fail("needs matrices");
  Value none = b.full({b.dim(0)}, 0, b.elem(packed));
  if (a.flag("unpack_data", true)) {
    giveTriangles(a, packed);
  } else {
    (void)a.give(1, none);
    (void)a.give(2, none);
  }
  if (!a.flag("unpack_pivots", true))
    return a.give(0, none);
  Dim count = b.dim(packed, b.rank(packed) - 2);
  Value rows = orderOf(b, pivotsOf(a, "LU_pivots", count), count);
  return a.give(0, permutation(a, rows, b.elem(packed)));
}

/// X of A X = B, or of X A = B, from the factors of A; `turned`: of A^T.
Value solvedAs(AtenNode &a, const LU &lu, Value rhs, bool left, bool turned) {
  PrimBuilder &b = a.b;
  if (!left)
    rhs = transposed(b, rhs);
  if (left != turned) {
    Value x = solve(b, lu, rhs);
    return left ? x : transposed(b, x);
  }
  // A^T = U^T L^T P^T.
  Value factors = transposed(b, lu.packed);
  Value y = solveTriangular(b, factors, rhs, false, false);
  y = solveTriangular(b, factors, y, true, true);
  Type i64 = b.builder().getI64Type();
  // Rows back to their places: the inverse of the order.
  Value order = lu.order;
  Value back = prim::SortOp::create(b.builder(), b.location(), order.getType(),
                                    b.type(order).clone(i64), order, b.rank(order) - 1, false)
                   .getIndices();
  Value column = b.unsqueeze(back, {b.rank(back)});
  broadcastBatches(b, column, y);
  Value x = rowsInOrder(b, y, b.squeeze(column, {b.rank(column) - 1}));
  return left ? x : transposed(b, x);
}

/// The same; `ofAdjoint`: of A^H, which is A^T of conjugates.
Value solved(AtenNode &a, const LU &lu, Value rhs, bool left, bool ofAdjoint) {
  if (!ofAdjoint)
    return solvedAs(a, lu, rhs, left, false);
  return a.conjugate(solvedAs(a, lu, a.conjugate(rhs), left, true));
}

LogicalResult luSolve(AtenNode &a, StringRef factors, StringRef pivots, StringRef rhs) {
  PrimBuilder &b = a.b;
  Value packed = factorsOf(a, factors), right = packed ? sidesOf(a, rhs, packed) : Value();
  if (!right)
    return failure();
  LU lu{packed, orderOf(b, pivotsOf(a, pivots, order(a, packed)), order(a, packed)), {}, {}};
  return a.give(solved(a, lu, right, a.flag("left", true), a.flag("adjoint", false)));
}
LogicalResult linalgLuSolve(AtenNode &a) { return luSolve(a, "LU", "pivots", "B"); }
LogicalResult atenLuSolve(AtenNode &a) { return luSolve(a, "LU_data", "LU_pivots", "self"); }

//===----------------------------------------------------------------------===//
// Systems, inverses, determinants
//===----------------------------------------------------------------------===//

enum class Extra { None, Info, Factors };

/// A complex matrix A + iB as the real one that multiplies parts below each other: [A, -B; B, A].
/// The transposed multiplies parts beside each other from the right.
struct RealForm {
  AtenNode &a;
  bool below = true;

  Value part(Value z, bool imaginary) const {
    complexmath::Parts parts = complexmath::partsOf(a.b, z);
    return a.b.cast(imaginary ? parts.im : parts.re, a.b.builder().getF64Type());
  }
  int64_t axis(Value v) const { return a.b.rank(v) - (below ? 2 : 1); }
  Value matrix(Value z) const {
    PrimBuilder &b = a.b;
    Value re = part(z, false), im = part(z, true), minus = b.neg(im);
    if (!below)
      std::swap(im, minus);
    int64_t rank = b.rank(z);
    return b.concat({b.concat({re, minus}, rank - 1), b.concat({im, re}, rank - 1)}, rank - 2);
  }
  Value sides(Value z) const { return a.b.concat({part(z, false), part(z, true)}, axis(z)); }
  Value complex(Value v, Type t) const {
    PrimBuilder &b = a.b;
    Dim n = b.floorDivDims(b.dim(v, axis(v)), b.dim(2));
    Type element = cast<ComplexType>(t).getElementType();
    Value re = b.cast(b.sliceAxis(v, axis(v), b.dim(0), n), element);
    Value im = b.cast(b.sliceAxis(v, axis(v), n, n), element);
    return complexmath::joined(b, {re, im});
  }
};

/// `info` from the real form's, which has two rows for one.
Value singularityOf(AtenNode &a, const LU &lu, bool ofRealForm) {
  PrimBuilder &b = a.b;
  Value first = singularity(a, lu);
  if (!ofRealForm)
    return first;
  return b.binary<prim::ShiftRightOp>(b.add(first, 1.0), b.scalar(1, b.elem(first)));
}

template <Extra extra> LogicalResult linearSystem(AtenNode &a) {
  PrimBuilder &b = a.b;
  bool left = a.flag("left", true);
  Value given = a.tensor("A"), rhs = a.tensor("B");
  // The factors asked for are those of the matrix itself.
  bool complex = extra != Extra::Factors && complexmath::isComplex(given) &&
                 complexmath::isComplex(rhs) && b.rank(given) >= 2;
  RealForm form{a, left};
  Value x = complex ? form.matrix(given) : factorsOf(a, "A");
  if (!x || !AtenNode::isFloat(b.elem(rhs)))
    return a.fail("needs matrices of real or complex numbers");
  // Vectors are told from matrices by their shape.
  bool isVector = b.rank(rhs) == 1;
  if (b.rank(rhs) == b.rank(x) - 1 && b.rank(rhs) > 1) {
    isVector = true;
    for (int64_t i = 0; i < b.rank(rhs); ++i)
      isVector = isVector && b.known(b.dim(rhs, i)) == b.known(b.dim(given, i));
  }
  if (isVector)
    rhs = b.unsqueeze(rhs, {b.rank(rhs)});
  if (b.rank(rhs) < 2)
    return a.fail("needs a right side");
  Type own = b.elem(rhs);
  rhs = complex ? form.sides(rhs) : b.cast(rhs, b.elem(x));
  LU lu = factorLU(b, x);
  if (extra == Extra::None)
    requireRegular(a, lu);
  Value result = solved(a, lu, rhs, left, false);
  if (complex)
    result = form.complex(result, own);
  (void)a.give(0, isVector ? b.squeeze(result, {b.rank(result) - 1}) : result);
  if (extra == Extra::Info)
    return a.give(1, singularityOf(a, lu, complex));
  if (extra == Extra::Factors) {
    (void)giveLU(a, 1, lu);
    return a.give(3, singularity(a, lu));
  }
  return success();
}

template <bool info> LogicalResult inverse(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value z = a.tensor(a.c.hasAttr("A") ? "A" : "self");
  bool complex = complexmath::isComplex(z) && b.rank(z) >= 2;
  RealForm form{a};
  Value x = complex ? form.matrix(z) : factorMatrices(a);
  if (!x)
    return failure();
  LU lu = factorLU(b, x);
  if (!info)
    requireRegular(a, lu);
  Value one = unitLike(a, x);
  if (complex) // the columns of the parts' own
    one = b.sliceAxis(one, b.rank(one) - 1, b.dim(0), order(a, z));
  Value result = solve(b, lu, one);
  (void)a.give(0, complex ? form.complex(result, b.elem(z)) : result);
  return info ? a.give(1, singularityOf(a, lu, complex)) : success();
}

/// What torch factors for a determinant and its gradient: real matrices that lie row by row are
/// transposed for LAPACK, and the gradient solves with what that gave.
Value asFactored(AtenNode &a, Value x) {
  bool turns = !complexmath::isComplex(x) && a.flag("by_rows", true);
  return turns ? matrices::transposed(a.b, x) : x;
}

template <bool factors> LogicalResult det(AtenNode &a) {
  Value x = factorMatrices(a);
  if (!x)
    return failure();
  LU lu = factorLU(a.b, factors ? asFactored(a, x) : x);
  (void)a.give(0, determinant(a.b, lu));
  return factors ? giveLU(a, 1, lu) : success();
}

/// z / |z|, 0 of 0.
Value unitsOf(AtenNode &a, Value z, Value sizes) {
  PrimBuilder &b = a.b;
  Value one = b.scalar(1, b.elem(sizes));
  return b.div(z, b.cast(b.select(b.compare(P::eq, sizes, 0.0), one, sizes), b.elem(z)));
}

/// 0: sign and log |det|; 1: with the factors; 2: the log, NaN of a negative one.
template <int form> LogicalResult logDet(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = factorMatrices(a);
  if (!x)
    return failure();
  LU lu = factorLU(b, form == 1 ? asFactored(a, x) : x);
  Value d = diagonal(b, lu.packed);
  int64_t axis = b.rank(d) - 1;
  Value sizes = a.magnitude(d), size = b.reduce(K::sum, b.log(sizes), {axis}, false);
  Value signs = complexmath::isComplex(d) ? unitsOf(a, d, sizes) : b.unary<prim::SignOp>(d);
  Value sign = b.mul(b.cast(lu.sign, b.elem(d)), b.reduce(K::prod, signs, {axis}, false));
  if (form == 2 && complexmath::isComplex(d))
    return a.give(b.add(b.log(sign), b.cast(size, b.elem(d))));
  if (form == 2) {
    Value nan = b.scalar(std::nan(""), b.elem(size));
    return a.give(b.select(b.compare(P::lt, sign, 0.0), nan, size));
  }
  (void)a.give(0, sign);
  (void)a.give(1, size);
  return form == 1 ? giveLU(a, 2, lu) : success();
}

LogicalResult tensorInverse(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t first = a.integer("ind", 2), rank = b.rank(x);
  if (first < 1 || first >= rank || !AtenNode::isFloat(b.elem(x)))
    return a.fail("needs an axis within the tensor");
  Dims dims = b.dims(x), top(dims.begin(), dims.begin() + first),
       rest(dims.begin() + first, dims.end());
  Dim n = b.productOf(top);
  Value m = b.cast(b.reshape(x, {n, b.productOf(rest)}), inDoubles(b.elem(x)));
  LU lu = factorLU(b, m);
  requireRegular(a, lu);
  rest.append(top);
  return a.give(b.reshape(solve(b, lu, unitLike(a, m)), rest));
}

LogicalResult tensorSolve(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), rhs = a.tensor("other");
  if (!AtenNode::isFloat(b.elem(x)))
    return a.fail("needs real or complex numbers");
  int64_t rank = b.rank(x);
  SmallVector<int64_t> order, moved = a.integers("dims").value_or(SmallVector<int64_t>());
  for (int64_t &axis : moved) {
    auto inside = a.within(axis, rank);
    if (failed(inside))
      return failure();
    axis = *inside;
  }
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(moved, i))
      order.push_back(i);
  order.append(moved);
  if (int64_t(order.size()) != rank || rank < b.rank(rhs))
    return a.fail("an axis is named twice");
  x = b.transpose(x, order);
  Dims dims = b.dims(x), rest(dims.begin() + b.rank(rhs), dims.end());
  Type wide = inDoubles(b.elem(x));
  Dim n = b.productOf(b.dims(rhs));
  LU lu = factorLU(b, b.cast(b.reshape(x, {n, b.productOf(rest)}), wide));
  requireRegular(a, lu);
  Value result = solve(b, lu, a.cast(b.reshape(rhs, {n, b.dim(1)}), wide));
  return a.give(b.reshape(result, rest));
}

} // namespace

void tcc::populateAtenLinalgRules(RuleSet &rules) {
  addRules(rules, {{"linalg_lu_factor", "default", "A", luFactor<false>},
                   {"linalg_lu_factor_ex", "default", "A", luFactor<true>},
                   {"_lu_with_info", "default", "self", luFactor<true>},
                   {"linalg_lu", "default", "A", luParts},
                   {"lu_unpack", "default", "LU_data LU_pivots", luUnpack},
                   {"linalg_lu_solve", "default", "LU pivots B", linalgLuSolve},
                   {"lu_solve", "default", "self LU_data LU_pivots", atenLuSolve},
                   {"linalg_solve", "default", "A B", linearSystem<Extra::None>},
                   {"linalg_solve_ex", "default", "A B", linearSystem<Extra::Info>},
                   {"_linalg_solve_ex", "default", "A B", linearSystem<Extra::Factors>},
                   {"linalg_inv", "default", "A", inverse<false>},
                   {"inverse", "default", "self", inverse<false>},
                   {"linalg_inv_ex", "default", "A", inverse<true>},
                   {"linalg_det", "default", "A", det<false>},
                   {"det", "default", "self", det<false>},
                   {"_linalg_det", "default", "A", det<true>},
                   {"linalg_slogdet", "default", "A", logDet<0>},
                   {"slogdet", "default", "self", logDet<0>},
                   {"_linalg_slogdet", "default", "A", logDet<1>},
                   {"logdet", "default", "self", logDet<2>},
                   {"_linalg_check_errors", "default", "info", checkErrors},
                   {"linalg_tensorinv", "default", "self", tensorInverse},
                   {"linalg_tensorsolve", "default", "self other", tensorSolve}});
}
