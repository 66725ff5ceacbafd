//===- LinalgSpectral.cpp - ATen's QR, eigenvalues and singular values ----===//
//
// All but QR in f64. Eigenvectors and singular vectors have a sign (or, of
// equal values, a basis) that no definition fixes; it is not LAPACK's here.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Matrices.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::matrices;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// Column j times the real number j.
Value scaledColumns(PrimBuilder &b, Value x, Value by) {
  return b.mul(x, b.cast(b.unsqueeze(by, {b.rank(by) - 1}), b.elem(x)));
}

LogicalResult qr(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = factorMatrices(a, false);
  if (!x)
    return failure();
  StringRef mode = a.text("mode", "reduced");
  QR factors = factorQR(b, x, mode == "complete");
  (void)a.give(1, factors.r);
  return a.give(0, mode == "r" ? b.full({b.dim(0)}, 0, b.elem(x)) : factors.q);
}

/// The matrix that is its own adjoint, of one triangle.
Value hermitian(AtenNode &a, Value x) {
  PrimBuilder &b = a.b;
  StringRef triangle = a.text("UPLO", "L");
  bool isUpper = triangle == "U" || triangle == "u";
  P inside = isUpper ? P::le : P::ge;
  Value i = position(b, x, 2), j = position(b, x, 1);
  if (complexmath::isComplex(x))
    x = b.select(b.compare(P::eq, i, j), b.cast(complexmath::realPart(b, x), b.elem(x)), x);
  return b.select(b.compare(inside, i, j), x, adjoint(b, x));
}

template <bool vectors> LogicalResult eigen(AtenNode &a) {
  Value x = operandMatrices(a);
  if (!x)
    return failure();
  bool asked = vectors && a.c.wants(1);
  Eigen e = eigenSymmetric(a.b, hermitian(a, x), asked);
  (void)a.give(0, e.values);
  return asked ? a.give(1, e.vectors) : success();
}

/// What rounds away beside 1 in this type.
double epsilonOf(Type real) {
  return real.isF64() ? std::numeric_limits<double>::epsilon()
                      : std::numeric_limits<float>::epsilon();
}

/// Of matrices without symmetry: complex ones.
template <bool vectors> LogicalResult generalEigen(AtenNode &a) {
  Value x = operandMatrices(a);
  if (!x)
    return failure();
  GeneralEigen e = eigenGeneral(a.b, x, vectors, epsilonOf(complexmath::realType(a.own())));
  require(a, e.holds, "the eigenvalues do not converge");
  (void)a.give(0, e.values);
  return vectors ? a.give(1, e.vectors) : success();
}

std::optional<SVD> singularOf(AtenNode &a, Singular asked) {
  Value x = operandMatrices(a, false);
  return x ? std::optional(factorSVD(a.b, x, asked)) : std::nullopt;
}

/// `vh`: the last result is V^H.
LogicalResult giveSVD(AtenNode &a, bool full, bool vh) {
  PrimBuilder &b = a.b;
  Value x = operandMatrices(a, false);
  if (!x)
    return failure();
  bool vectors = a.c.wants(0) || a.c.wants(2);
  SVD s = factorSVD(b, x,
                    !vectors ? Singular::Values
                    : full   ? Singular::AllVectors
                             : Singular::Vectors);
  (void)a.give(1, s.values);
  if (!vectors)
    return success();
  (void)a.give(0, s.u);
  return a.give(2, vh ? adjoint(b, s.v) : s.v);
}
LogicalResult svd(AtenNode &a) { return giveSVD(a, a.flag("full_matrices", true), true); }
LogicalResult coreSvd(AtenNode &a) {
  if (a.flag("compute_uv", true))
    return giveSVD(a, a.flag("full_matrices", false), true);
  auto s = singularOf(a, Singular::Values);
  Value none = a.b.full({a.b.dim(0)}, 0, a.own());
  (void)a.give(0, none);
  (void)a.give(2, none);
  return s ? a.give(1, s->values) : failure();
}
LogicalResult oldSvd(AtenNode &a) {
  return a.flag("compute_uv", true) ? giveSVD(a, !a.flag("some", true), false)
                                    : a.fail("needs compute_uv");
}
LogicalResult singularValuesAlone(AtenNode &a) {
  auto s = singularOf(a, Singular::Values);
  return s ? a.give(s->values) : failure();
}

/// Of the values' absolutes, what counts as zero: max(atol, rtol * largest).
Value threshold(AtenNode &a, Value x, Value values) {
  PrimBuilder &b = a.b;
  Type f64 = b.elem(values);
  Value largest = b.reduce(K::max, b.abs(values), {b.rank(values) - 1}, true);
  auto bound = [&](StringRef name) -> Value {
    Value v = a.number(name, f64);
    return v && b.rank(v) > 0 ? b.unsqueeze(v, {b.rank(v)}) : v;
  };
  if (Value tol = bound("tol")) // of matrix_rank alone
    return b.maximum(tol, b.mul(largest, 0.0));
  Value atol = bound("atol"), rtol = bound(a.has("rcond") ? "rcond" : "rtol");
  if (!rtol) {
    Type own = complexmath::realType(b.elem(a.tensor(a.c.hasAttr("input") ? "input" : "self")));
    double eps = epsilonOf(own);
    Dim n = b.maxDims(b.dim(x, b.rank(x) - 2), b.dim(x, b.rank(x) - 1));
    rtol = b.mul(b.cast(b.fromHost({n}, {}, b.builder().getI64Type()), f64), eps);
    if (atol) // then the default is 0 where atol is not
      rtol = b.select(b.compare(P::gt, atol, 0.0), b.scalar(0, f64), rtol);
  }
  Value bounded = b.mul(largest, rtol);
  return atol ? b.maximum(bounded, atol) : bounded;
}

struct Counted {
  SVD svd;
  Value counts; ///< which singular values are not taken as zero
};
std::optional<Counted> countedSingular(AtenNode &a, Singular asked) {
  Value x = operandMatrices(a, false);
  if (x && a.flag("hermitian", false))
    x = hermitian(a, x);
  if (!x)
    return std::nullopt;
  SVD s = factorSVD(a.b, x, asked);
  return Counted{s, a.b.compare(P::gt, s.values, threshold(a, x, s.values))};
}

/// V (1 / s where s is not zero) U^H.
LogicalResult pseudoInverse(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto found = countedSingular(a, Singular::Vectors);
  if (!found)
    return failure();
  const SVD s = found->svd;
  const Value counts = found->counts;
  Type type = b.elem(s.values);
  Value one = b.scalar(1, type);
  Value inverse = b.select(counts, b.div(one, b.select(counts, s.values, one)), b.scalar(0, type));
  return a.give(b.matmul(scaledColumns(b, s.v, inverse), adjoint(b, s.u)));
}

LogicalResult rank(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto found = countedSingular(a, Singular::Values);
  if (!found)
    return failure();
  Value counts = b.cast(found->counts, b.builder().getI64Type());
  return a.give(b.reduce(K::sum, counts, {b.rank(counts) - 1}, false));
}

/// s_max / s_min (or its inverse); of other norms |x| |x^-1|, infinite where there is no inverse.
LogicalResult condition(AtenNode &a) {
  PrimBuilder &b = a.b;
  StringRef name = a.text("p");
  double p = a.has("p") && name.empty() ? a.real("p", 2) : 2;
  if (!name.empty() || std::abs(p) != 2) {
    Value x = operandMatrices(a);
    if (!x)
      return failure();
    LU lu = factorLU(b, x);
    int64_t rank = b.rank(x);
    Value one = identity(b, batchOf(b, x), b.dim(x, rank - 1), b.elem(x));
    auto norms = [&](Value v) { return matrixNormOf(a, v, name, p, {rank - 2, rank - 1}, false); };
    auto size = norms(x), inverse = norms(solve(b, lu, one));
    if (failed(size) || failed(inverse))
      return failure();
    Value singular = b.compare(P::eq, a.magnitude(determinant(b, lu)), 0.0);
    Value inf = b.scalar(std::numeric_limits<double>::infinity(), b.elem(*size));
    return a.give(b.select(singular, inf, b.mul(*size, *inverse)));
  }
  auto s = singularOf(a, Singular::Values);
  if (!s)
    return failure();
  int64_t axis = b.rank(s->values) - 1;
  Value most = b.reduce(K::max, s->values, {axis}, false),
        least = b.reduce(K::min, s->values, {axis}, false);
  return a.give(p > 0 ? b.div(most, least) : b.div(least, most));
}

/// x = U H, U with orthonormal columns and H its own adjoint: W V^H and V S V^H of x = W S V^H.
LogicalResult polar(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto found = singularOf(a, Singular::Vectors);
  if (!found)
    return failure();
  const SVD s = *found;
  Value turned = adjoint(b, s.v);
  (void)a.give(0, b.matmul(s.u, turned));
  return a.give(1, b.matmul(scaledColumns(b, s.v, s.values), turned));
}

/// The root of a matrix that is its own adjoint: those of its eigenvalues, of negative ones 0.
LogicalResult squareRoot(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = operandMatrices(a);
  if (!x)
    return failure();
  Eigen e = eigenSymmetric(b, hermitian(a, x), /*vectors=*/true);
  Value roots = b.sqrt(b.maximum(e.values, 0.0));
  return a.give(b.matmul(scaledColumns(b, e.vectors, roots), adjoint(b, e.vectors)));
}

/// e^x by the series of x / 2^s, squared s times; the series in powers of x^4, each with a
/// polynomial of lower ones (Paterson and Stockmeyer): 7 products for 19 terms.
LogicalResult exponential(AtenNode &a) {
  PrimBuilder &b = a.b;
  constexpr int kTerms = 18, kGroup = 4;
  Value x = operandMatrices(a);
  if (!x)
    return failure();
  Type i64 = b.builder().getI64Type(), wide = b.elem(x);
  Value columns = b.reduce(K::sum, a.magnitude(x), {b.rank(x) - 2}, false);
  Value norm = b.reduce(K::max, columns, allAxes(b.rank(columns)), false);
  Value halvings =
      b.maximum(b.unary<prim::CeilOp>(b.unary<prim::Log2Op>(b.maximum(norm, 1.0))), 0.0);
  x = b.div(x, b.cast(b.unary<prim::Exp2Op>(halvings), wide));
  Value powers[kGroup + 1] = {identity(b, batchOf(b, x), b.dim(x, b.rank(x) - 1), wide), x};
  for (int k = 2; k <= kGroup; ++k)
    powers[k] = b.matmul(powers[k / 2], powers[k - k / 2]);
  Value sum;
  for (int low = kTerms / kGroup * kGroup; low >= 0; low -= kGroup) {
    if (sum)
      sum = b.matmul(sum, powers[kGroup]);
    for (int k = low; k < low + kGroup && k <= kTerms; ++k) {
      Value term = b.mul(powers[k - low], 1 / std::tgamma(k + 1.0));
      sum = sum ? b.add(sum, term) : term;
    }
  }
  Dim count = b.readElements(b.cast(b.minimum(halvings, 1024.0), i64))[0];
  return a.give(repeat(b, count, {sum}, [&](Value, ValueRange have) -> SmallVector<Value> {
    return {b.matmul(have[0], have[0])};
  })[0]);
}

/// x^n for integers n from 0 to `most`, by products of x squared again and again: those of the
/// exponent's bits.
Value powersOf(PrimBuilder &b, Value x, Value n, int64_t most) {
  Value one = b.scalar(1, b.elem(x)), result;
  for (int64_t bit = 1; bit <= most; bit *= 2) {
    if (bit > 1)
      x = b.mul(x, x);
    Value isSet = b.compare(
        P::ne, b.binary<prim::AndOp>(n, b.scalar(static_cast<double>(bit), b.elem(n))), 0.0);
    Value factor = b.select(isSet, x, one);
    result = result ? b.mul(result, factor) : factor;
  }
  return result;
}

/// Powers of x: [.., i, j] is x[i]^j, or where they fall x[i]^(N - 1 - j).
template <bool mayFall> LogicalResult vandermonde(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("x"), a.own());
  Dim count = a.extent("N").value_or(b.dim(x, b.rank(x) - 1));
  Type i64 = b.builder().getI64Type();
  Value power = b.iota({count}, 0, i64);
  if (mayFall && !a.flag("increasing", false))
    power = b.sub(b.fromHost({b.subDims(count, b.dim(1))}, {}, i64), power);
  x = b.unsqueeze(x, {b.rank(x)});
  auto known = b.known(count);
  if (known && *known > 1 && !isa<ComplexType>(b.elem(x)))
    return a.give(powersOf(b, x, power, *known - 1));
  return a.give(b.pow(x, b.cast(power, b.elem(x))));
}

} // namespace

void tcc::populateAtenLinalgSpectralRules(RuleSet &rules) {
  addRules(rules,
           {{"linalg_qr", "default", "A", qr},
            {"qr", "default", "self", qr},
            {"linalg_eigh", "default", "self", eigen<true>},
            {"_linalg_eigh", "default", "A", eigen<true>},
            {"linalg_eigvalsh", "default", "self", eigen<false>},
            {"linalg_eig", "default", "self", generalEigen<true>},
            {"linalg_eigvals", "default", "self", generalEigen<false>},
            {"_linalg_eigvals", "default", "self", generalEigen<false>},
            {"linalg_svd", "default", "A", svd},
            {"_linalg_svd", "default", "A", coreSvd},
            {"svd", "default", "self", oldSvd},
            {"linalg_svdvals", "default", "A", singularValuesAlone},
            {"linalg_pinv", "default atol_rtol_float atol_rtol_tensor rcond_tensor", "self",
             pseudoInverse},
            {"pinverse", "default", "self", pseudoInverse},
            {"linalg_matrix_rank", "default tol_tensor atol_rtol_tensor atol_rtol_float", "", rank},
            {"linalg_cond", "default p_str", "self", condition},
            {"linalg_polar", "default", "A", polar},
            {"linalg_matrix_sqrth", "default", "self", squareRoot},
            {"linalg_matrix_exp", "default", "self", exponential},
            {"matrix_exp", "default", "self", exponential},
            {"vander", "default", "x", vandermonde<true>, "x"},
            {"linalg_vander", "default", "x", vandermonde<false>, "x"}});
}
