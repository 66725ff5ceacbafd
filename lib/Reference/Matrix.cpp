//===- Matrix.cpp - Factors of matrices ----------------------------------===//
//
// The algorithms as textbooks have them, an element after the other, in double.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <cmath>
#include <numeric>

namespace tcc::reference {

namespace {

/// Matrix number `b` of those that the last two axes of a tensor are.
struct Matrices {
  explicit Matrices(const Tensor &x)
      : values(widened<double>(x)), rows(x.shape().drop_back().back()), columns(x.shape().back()) {}
  int64_t count() const { return rows * columns ? values.size() / (rows * columns) : 0; }
  struct One {
    double *first;
    int64_t stride;
    double &operator()(int64_t i, int64_t j) const { return first[i * stride + j]; }
  };
  One operator[](int64_t b) { return {values.data() + b * rows * columns, columns}; }
  llvm::Expected<Tensor> narrowed(DType type, llvm::ArrayRef<int64_t> shape) const {
    llvm::Expected<Tensor> result = Tensor::allocate(type, shape);
    if (result)
      narrow(type, values.data(), result->elements(), result->mutableData());
    return result;
  }

  std::vector<double> values;
  int64_t rows, columns;
};

llvm::Expected<Results> lu(prim::LuOp op, Operands operands) {
  const Tensor &x = operands[0];
  Matrices all(x);
  llvm::Expected<Tensor> pivots = Tensor::allocate(DType::I64, x.shape().drop_back());
  llvm::Expected<Tensor> order = Tensor::allocate(DType::I64, x.shape().drop_back());
  if (!pivots || !order)
    return llvm::joinErrors(pivots.takeError(), order.takeError());
  int64_t n = all.rows, m = all.columns;
  for (int64_t b = 0; b < pivots->elements(); ++b)
    pivots->mutableAs<int64_t>()[b] = order->mutableAs<int64_t>()[b] = b % n;
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One a = all[b];
    int64_t *pivot = pivots->mutableAs<int64_t>() + b * n,
            *row = order->mutableAs<int64_t>() + b * n;
    for (int64_t k = 0; k < std::min(n, m); ++k) {
      int64_t best = k;
      for (int64_t i = k + 1; i < n && op.getPivoting(); ++i)
        if (std::abs(a(i, k)) > std::abs(a(best, k)))
          best = i;
      pivot[k] = best;
      std::swap(row[k], row[best]);
      for (int64_t j = 0; j < m && best != k; ++j)
        std::swap(a(k, j), a(best, j));
      for (int64_t i = k + 1; i < n; ++i) {
        double factor = a(k, k) == 0 ? 0 : a(i, k) / a(k, k);
        a(i, k) = factor;
        for (int64_t j = k + 1; j < m; ++j)
          a(i, j) -= factor * a(k, j);
      }
    }
  }
  llvm::Expected<Tensor> packed = all.narrowed(x.dtype(), x.shape());
  if (!packed)
    return packed.takeError();
  return Results{std::move(*packed), std::move(*pivots), std::move(*order)};
}

llvm::Expected<Tensor> cholesky(prim::CholeskyOp, Operands operands) {
  Matrices all(operands[0]);
  int64_t n = all.rows;
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One a = all[b];
    for (int64_t k = 0; k < n; ++k) {
      a(k, k) = std::sqrt(a(k, k));
      for (int64_t i = k + 1; i < n; ++i) {
        a(k, i) = 0;
        a(i, k) /= a(k, k);
      }
      for (int64_t i = k + 1; i < n; ++i)
        for (int64_t j = k + 1; j <= i; ++j)
          a(i, j) -= a(i, k) * a(j, k);
    }
  }
  return all.narrowed(operands[0].dtype(), operands[0].shape());
}

llvm::Expected<Tensor> triangularSolve(prim::TriangularSolveOp op, Operands operands) {
  Matrices triangles(operands[0]), all(operands[1]);
  int64_t n = triangles.rows, m = all.columns;
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One t = triangles[b], x = all[b];
    for (int64_t step = 0; step < n; ++step) {
      int64_t i = op.getUpper() ? n - 1 - step : step;
      for (int64_t k = op.getUpper() ? i + 1 : 0; k < (op.getUpper() ? n : i); ++k)
        for (int64_t j = 0; j < m; ++j)
          x(i, j) -= t(i, k) * x(k, j);
      for (int64_t j = 0; j < m && !op.getUnit(); ++j)
        x(i, j) /= t(i, i);
    }
  }
  return all.narrowed(operands[1].dtype(), operands[1].shape());
}

/// y = H y for columns from `first` on.
void reflect(Matrices::One v, int64_t k, double tau, Matrices::One y, int64_t rows, int64_t first,
             int64_t columns) {
  for (int64_t j = first; j < columns; ++j) {
    double sum = y(k, j);
    for (int64_t i = k + 1; i < rows; ++i)
      sum += v(i, k) * y(i, j);
    y(k, j) -= tau * sum;
    for (int64_t i = k + 1; i < rows; ++i)
      y(i, j) -= tau * sum * v(i, k);
  }
}

llvm::Expected<Results> qr(prim::QrOp, Operands operands) {
  const Tensor &x = operands[0];
  Matrices all(x);
  llvm::Expected<Tensor> tau = Tensor::allocate(x.dtype(), x.shape().drop_back());
  if (!tau)
    return tau.takeError();
  int64_t n = all.rows, m = all.columns;
  std::vector<double> factors(tau->elements(), 0.0);
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One a = all[b];
    for (int64_t k = 0; k < std::min(n, m); ++k) {
      double below = 0;
      for (int64_t i = k + 1; i < n; ++i)
        below = std::hypot(below, a(i, k));
      if (below == 0)
        continue;
      double head = a(k, k), length = std::hypot(head, below), beta = head >= 0 ? -length : length;
      factors[b * n + k] = (beta - head) / beta;
      for (int64_t i = k + 1; i < n; ++i)
        a(i, k) /= head - beta;
      a(k, k) = beta;
      reflect(a, k, factors[b * n + k], a, n, k + 1, m);
    }
  }
  narrow(x.dtype(), factors.data(), tau->elements(), tau->mutableData());
  llvm::Expected<Tensor> packed = all.narrowed(x.dtype(), x.shape());
  if (!packed)
    return packed.takeError();
  return Results{std::move(*packed), std::move(*tau)};
}

llvm::Expected<Tensor> reflections(prim::ReflectOp, Operands operands) {
  Matrices packed(operands[0]), all(operands[2]);
  std::vector<double> tau = widened<double>(operands[1]);
  int64_t given = operands[1].shape().back(), count = std::min(packed.columns, given);
  for (int64_t b = 0; b < all.count(); ++b)
    for (int64_t k = count; k-- > 0;)
      reflect(packed[b], k, tau[b * given + k], all[b], all.rows, 0, all.columns);
  return all.narrowed(operands[2].dtype(), operands[2].shape());
}

} // namespace

void addMatrices(Evaluators &all) {
  using namespace prim;
  all.add<LuOp, lu>();
  all.add<CholeskyOp, cholesky>();
  all.add<TriangularSolveOp, triangularSolve>();
  all.add<QrOp, qr>();
  all.add<ReflectOp, reflections>();
}

} // namespace tcc::reference
