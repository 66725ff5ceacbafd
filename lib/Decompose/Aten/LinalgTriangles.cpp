//===- LinalgTriangles.cpp - ATen's triangular systems and reflections ----===//
//
// Cholesky factors, systems of triangles, and QR by the reflections that make it up. Of complex
// matrices, adjoints stand where real ones have transposes.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::matrices;
using P = prim::ComparePredicate;

namespace {

/// T X = B or X T = B.
Value triangular(AtenNode &a, Value t, Value rhs, bool isUpper, bool left, bool unit) {
  PrimBuilder &b = a.b;
  if (left)
    return solveTriangular(b, t, rhs, isUpper, unit);
  return transposed(b, solveTriangular(b, transposed(b, t), transposed(b, rhs), !isUpper, unit));
}

LogicalResult solveTriangularRule(AtenNode &a) {
  Value t = factorsOf(a, "self"), rhs = t ? sidesOf(a, "B", t) : Value();
  if (!rhs)
    return failure();
  return a.give(triangular(a, t, rhs, a.flag("upper", false), a.flag("left", true),
                           a.flag("unitriangular", false)));
}

LogicalResult oldSolveTriangular(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value t = factorsOf(a, "A"), rhs = t ? sidesOf(a, "self", t) : Value();
  if (!rhs)
    return failure();
  bool isUpper = a.flag("upper", true), turned = a.flag("transpose", false);
  broadcastBatches(b, t, rhs);
  (void)a.give(1, t);
  return a.give(0, solveTriangular(b, turned ? transposed(b, t) : t, rhs, isUpper != turned,
                                   a.flag("unitriangular", false)));
}

template <bool info> LogicalResult cholesky(AtenNode &a) {
  PrimBuilder &b = a.b;
  bool isUpper = a.flag("upper", false);
  Value x = factorsOf(a, "self");
  if (!x)
    return failure();
  Value l = factorCholesky(b, isUpper ? adjoint(b, x) : x);
  Value isGood = b.compare(P::gt, complexmath::realPart(b, diagonal(b, l)), 0.0); // not of NaN
  if (!info)
    require(a, isGood, "the matrix is not positive definite");
  (void)a.give(0, isUpper ? adjoint(b, l) : l);
  return info ? a.give(1, firstZero(a, b.logicalNot(isGood))) : success();
}

/// (L L^H)^-1 B.
LogicalResult solveByCholesky(AtenNode &a, StringRef factor, Value rhs) {
  PrimBuilder &b = a.b;
  Value l = factorsOf(a, factor);
  if (!l)
    return failure();
  l = a.flag("upper", false) ? adjoint(b, upper(b, l)) : l;
  Value right = rhs ? a.cast(rhs, b.elem(l)) : unitLike(a, l);
  Value y = solveTriangular(b, l, right, false, false);
  return a.give(solveTriangular(b, adjoint(b, l), y, true, false));
}
LogicalResult choleskySolve(AtenNode &a) {
  if (a.b.rank(a.tensor("self")) < 2)
    return a.fail("needs matrices");
  return solveByCholesky(a, "input2", a.tensor("self"));
}
LogicalResult choleskyInverse(AtenNode &a) { return solveByCholesky(a, "self", {}); }

LogicalResult householderProduct(AtenNode &a) {
  Value x = factorsOf(a, a.tensor("input") ? "input" : "self", false);
  Value tau = a.tensor("tau") ? a.tensor("tau") : a.tensor("input2");
  if (!x || !tau || a.b.rank(tau) + 1 != a.b.rank(x))
    return a.fail("needs matrices and a vector of factors for each");
  Dim columns = a.b.dim(x, a.b.rank(x) - 1);
  return a.give(reflected(a.b, x, a.cast(tau, a.b.elem(x)), columns));
}

/// The reflections of QR themselves.
LogicalResult reflectionsAlone(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = factorMatrices(a, false);
  if (!x)
    return failure();
  int64_t rank = b.rank(x);
  Reflections h = reflectionsOf(b, x);
  Dim count = b.minDims(b.dim(x, rank - 2), b.dim(x, rank - 1));
  (void)a.give(0, h.packed);
  return a.give(1, b.sliceAxis(h.tau, rank - 2, b.dim(0), count));
}

/// Q or its adjoint times a matrix, from either side.
LogicalResult timesReflections(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = factorsOf(a, "self", false), other = x ? sidesOf(a, "input3", x) : Value();
  Value tau = a.tensor("input2");
  if (!other || b.rank(tau) + 1 != b.rank(x))
    return a.fail("needs matrices and a vector of factors for each");
  Value q = reflected(b, x, a.cast(tau, b.elem(x)), b.dim(x, b.rank(x) - 2));
  if (a.flag("transpose", false))
    q = adjoint(b, q);
  return a.give(a.flag("left", true) ? b.matmul(q, other) : b.matmul(other, q));
}

} // namespace

void tcc::populateAtenLinalgTrianglesRules(RuleSet &rules) {
  addRules(rules, {{"linalg_solve_triangular", "default", "self B", solveTriangularRule},
                   {"triangular_solve", "default", "self A", oldSolveTriangular},
                   {"linalg_householder_product", "default", "", householderProduct},
                   {"orgqr", "default", "self", householderProduct},
                   {"linalg_cholesky", "default", "self", cholesky<false>},
                   {"cholesky", "default", "self", cholesky<false>},
                   {"linalg_cholesky_ex", "default", "self", cholesky<true>},
                   {"cholesky_solve", "default", "self input2", choleskySolve},
                   {"cholesky_inverse", "default", "self", choleskyInverse},
                   {"geqrf", "default", "self", reflectionsAlone},
                   {"ormqr", "default", "self input2 input3", timesReflections}});
}
