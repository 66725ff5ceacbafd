//===- SpectralCheck.h - Eigenvalues and singular values ---------*- C++ -*-===//
//
// For tests of kernels for prim.symmetric_eigen and prim.svd, whose vectors have any sign, and any
// basis where values are equal: matrices that are hard, and what must hold of what was found.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace tcc::test {

/// The largest element of rows rows^T less the unit matrix.
inline double skewOf(const double *rows, int64_t count, int64_t length) {
  double worst = 0;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < count; ++j) {
      double sum = i == j ? -1 : 0;
      for (int64_t k = 0; k < length; ++k)
        sum += rows[i * length + k] * rows[j * length + k];
      worst = std::max(worst, std::abs(sum));
    }
  return worst;
}

/// The largest element of left^T diag(values) right less x, n by m.
inline double restOf(const double *left, const double *values, const double *right, int64_t count,
                     const double *x, int64_t n, int64_t m) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double sum = -x[i * m + j];
      for (int64_t k = 0; k < count; ++k)
        sum += left[k * n + i] * values[k] * right[k * m + j];
      worst = std::max(worst, std::abs(sum));
    }
  return worst;
}

/// Matrices n by m that are hard in their own ways: of any numbers, of few ranks, diagonal, with
/// numbers of many sizes, 0, and so small and so large that squares are no numbers.
inline std::vector<double> hardMatrices(int64_t n, int64_t m, bool symmetric, int64_t &count) {
  std::mt19937 engine(n * 100 + m);
  std::normal_distribution<double> normal;
  std::vector<double> all;
  count = 8;
  for (int64_t kind = 0; kind < count; ++kind) {
    std::vector<double> x(n * m), p(n), q(m);
    for (auto *numbers : {&p, &q})
      llvm::for_each(*numbers, [&](double &v) { v = normal(engine); });
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) {
        double any = normal(engine), diagonal = i == j ? any : 0;
        double size = std::pow(10.0, -static_cast<double>(i + j));
        const double kinds[] = {any, p[i] * q[j],  diagonal,     any * size,
                                0,   any * 1e-200, any * 1e+200, i == j ? 1 : 1e-9 * any};
        x[i * m + j] = kinds[kind];
      }
    for (int64_t i = 0; symmetric && i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        x[i * m + j] = x[j * m + i];
    all.insert(all.end(), x.begin(), x.end());
  }
  return all;
}

/// The operator of `count` matrices n by m, as text of its kind: the types of its operand and of
/// its results, and itself.
struct SpectralText {
  SpectralText(int64_t count, int64_t n, int64_t m, bool symmetric) : symmetric(symmetric) {
    auto type = [&](std::vector<int64_t> shape) {
      std::string text = "tensor<" + std::to_string(count);
      for (int64_t d : shape)
        text += "x" + std::to_string(d);
      return text + "xf64>";
    };
    in = type({n, m});
    types = symmetric ? in + ", " + type({m}) + ", " + type({n, 8})
                      : in + ", " + type({m, n}) + ", " + type({m}) + ", " + type({m, m}) + ", " +
                            type({n, 8});
  }
  std::string op(bool vectors) const {
    return std::string("prim.") + (symmetric ? "symmetric_eigen" : "svd") +
           " %x {vectors = " + (vectors ? "true" : "false") + "} : (" + in + ") -> (" + types + ")";
  }
  unsigned results() const { return symmetric ? 3 : 5; }

  bool symmetric;
  std::string in, types;
};

/// Fails where `outputs` of the operator are not as far as f64 allows what they should be of `x`,
/// whose values are `want`.
inline void checkSpectral(llvm::ArrayRef<reference::Tensor> outputs,
                          const std::vector<double> &want, const std::vector<double> &x,
                          int64_t count, int64_t n, int64_t m, bool symmetric, bool vectors) {
  constexpr double kUnit = 0x1p-53;
  std::vector<double> found = outputs[symmetric ? 1 : 2].reals(),
                      left = outputs[symmetric ? 0 : 1].reals(),
                      right = outputs[symmetric ? 0 : 3].reals();
  for (int64_t b = 0; b < count; ++b) {
    double most = 0;
    for (int64_t i = 0; i < m; ++i)
      most = std::max(most, std::abs(want[b * m + i]));
    INFO("matrix " << b);
    for (int64_t i = 0; i < m; ++i) {
      CHECK(std::abs(found[b * m + i] - want[b * m + i]) <= 40 * n * kUnit * most);
      double own = found[b * m + i], before = found[b * m + std::max<int64_t>(i - 1, 0)];
      CHECK((symmetric ? own >= before : own <= before && own >= 0));
    }
    if (!vectors)
      continue;
    const double *l = left.data() + b * m * n, *r = right.data() + b * m * m;
    CHECK(skewOf(l, m, n) < 40 * n * kUnit);
    CHECK(skewOf(r, m, m) < 40 * n * kUnit);
    CHECK(restOf(l, found.data() + b * m, r, m, x.data() + b * n * m, n, m) <=
          40 * n * kUnit * most);
  }
}

} // namespace tcc::test
