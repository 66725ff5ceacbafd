//===- Matrix.cpp - Factors of matrices ----------------------------------===//
//
// The algorithms as textbooks have them, an element after the other, in double.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <algorithm>
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

/// Columns p and q of x, turned by an angle whose tangent is t.
void turn(Matrices::One x, int64_t rows, int64_t p, int64_t q, double t) {
  double c = 1 / std::sqrt(1 + t * t), s = c * t;
  for (int64_t i = 0; i < rows; ++i) {
    double first = x(i, p), second = x(i, q);
    x(i, p) = c * first - s * second;
    x(i, q) = s * first + c * second;
  }
}

double tangent(double own, double other, double mixed) {
  double zeta = (other - own) / (2 * mixed);
  return (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
}

constexpr int kSweeps = 60;

/// Unit matrices, as many as `all` has, of `n` rows.
Matrices unitMatrices(const Matrices &all, int64_t n) {
  Matrices unit(all);
  unit.rows = unit.columns = n;
  unit.values.assign(all.count() * n * n, 0);
  for (int64_t b = 0; b < all.count(); ++b)
    for (int64_t i = 0; i < n; ++i)
      unit[b](i, i) = 1;
  return unit;
}

/// 0 .. n - 1, so that the values at these places rise or fall.
std::vector<int64_t> orderOf(const double *values, int64_t n, bool falls) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return falls ? values[i] > values[j] : values[i] < values[j];
  });
  return order;
}

llvm::Expected<Tensor> filled(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  llvm::Expected<Tensor> result = Tensor::allocate(DType::F64, shape);
  if (result)
    llvm::copy(values, result->mutableAs<double>());
  return result;
}

/// What kernels compute in has nothing here.
llvm::Expected<Tensor> emptyRoom(const Tensor &x) {
  llvm::SmallVector<int64_t> shape(x.shape().drop_back());
  shape.push_back(8);
  return Tensor::allocate(DType::F64, shape);
}

bool isFinite(Matrices::One x, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (!std::isfinite(x(i, j)))
        return false;
  return true;
}

/// By Jacobi's rotations.
llvm::Expected<Results> symmetricEigen(prim::SymmetricEigenOp, Operands operands) {
  const Tensor &x = operands[0];
  Matrices all(x);
  int64_t n = all.rows;
  Matrices vectors = unitMatrices(all, n);
  std::vector<double> values(all.count() * n), rows(all.count() * n * n);
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One a = all[b], v = vectors[b];
    bool finite = isFinite(a, n, n);
    for (int sweep = 0; sweep < kSweeps && finite; ++sweep)
      for (int64_t p = 0; p < n; ++p)
        for (int64_t q = p + 1; q < n; ++q) {
          if (a(p, q) == 0)
            continue;
          double t = tangent(a(p, p), a(q, q), a(p, q));
          turn(a, n, p, q, t);
          turn(v, n, p, q, t);
          double c = 1 / std::sqrt(1 + t * t), s = c * t;
          for (int64_t j = 0; j < n; ++j) {
            double first = a(p, j), second = a(q, j);
            a(p, j) = c * first - s * second;
            a(q, j) = s * first + c * second;
          }
          a(p, q) = a(q, p) = 0;
        }
    std::vector<double> diagonal(n);
    for (int64_t i = 0; i < n; ++i)
      diagonal[i] = finite ? a(i, i) : std::nan("");
    std::vector<int64_t> order = orderOf(diagonal.data(), n, /*falls=*/false);
    for (int64_t i = 0; i < n; ++i) {
      values[b * n + i] = diagonal[order[i]];
      for (int64_t j = 0; j < n; ++j)
        rows[(b * n + i) * n + j] = finite ? v(j, order[i]) : std::nan("");
    }
  }
  llvm::Expected<Tensor> vectorRows = filled(x.shape(), rows),
                         ascending = filled(x.shape().drop_back(), values), room = emptyRoom(x);
  if (!vectorRows || !ascending || !room)
    return llvm::joinErrors(llvm::joinErrors(vectorRows.takeError(), ascending.takeError()),
                            room.takeError());
  return Results{std::move(*vectorRows), std::move(*ascending), std::move(*room)};
}

/// Row k of `to` becomes column `from` of x, divided by `size`; of what is 0, a unit vector without
/// what is along the rows before.
void takeColumn(Matrices::One x, int64_t from, double size, double *to, int64_t k, int64_t n) {
  double *row = to + k * n;
  for (int64_t i = 0; i < n && size > 0; ++i)
    row[i] = x(i, from) / size;
  for (int64_t unit = 0; unit < n && !(size > 0); ++unit) {
    for (int64_t i = 0; i < n; ++i)
      row[i] = i == unit;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t other = 0; other < k; ++other) {
        double along = std::inner_product(row, row + n, to + other * n, 0.0);
        for (int64_t i = 0; i < n; ++i)
          row[i] -= along * to[other * n + i];
      }
    double length = std::sqrt(std::inner_product(row, row + n, row, 0.0));
    if (length < 0.5 / std::sqrt(static_cast<double>(n)))
      continue;
    for (int64_t i = 0; i < n; ++i)
      row[i] /= length;
    break;
  }
}

/// By rotations of columns until all are orthogonal.
llvm::Expected<Results> svd(prim::SvdOp, Operands operands) {
  const Tensor &x = operands[0];
  Matrices all(x);
  int64_t n = all.rows, m = all.columns;
  Matrices right = unitMatrices(all, m);
  std::vector<double> values(all.count() * m), lefts(all.count() * m * n),
      rights(all.count() * m * m);
  for (int64_t b = 0; b < all.count(); ++b) {
    Matrices::One a = all[b], v = right[b];
    bool finite = isFinite(a, n, m);
    // Of what is at most 1, squares are numbers.
    double scale = 0;
    for (int64_t i = 0; i < n * m; ++i)
      scale = std::max(scale, std::abs(a.first[i]));
    scale = finite && scale > 0 ? scale : 1;
    for (int64_t i = 0; i < n * m; ++i)
      a.first[i] /= scale;
    auto product = [&](int64_t p, int64_t q) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += a(i, p) * a(i, q);
      return sum;
    };
    for (int sweep = 0; sweep < kSweeps && finite; ++sweep)
      for (int64_t p = 0; p < m; ++p)
        for (int64_t q = p + 1; q < m; ++q) {
          double own = product(p, p), other = product(q, q), mixed = product(p, q);
          if (std::abs(mixed) <= 0x1p-54 * std::sqrt(own * other))
            continue;
          double t = tangent(own, other, mixed);
          turn(a, n, p, q, t);
          turn(v, m, p, q, t);
        }
    std::vector<double> sizes(m);
    for (int64_t j = 0; j < m; ++j)
      sizes[j] = finite ? std::sqrt(product(j, j)) : std::nan("");
    std::vector<int64_t> order = orderOf(sizes.data(), m, /*falls=*/true);
    double most = m ? sizes[order[0]] : 0;
    for (int64_t k = 0; k < m; ++k) {
      double size = sizes[order[k]];
      values[b * m + k] = size * scale;
      // What is rounding errors beside the largest has no direction.
      bool counts = !(size <= most * 0x1p-50);
      takeColumn(a, order[k], counts ? size : 0, lefts.data() + b * m * n, k, n);
      for (int64_t j = 0; j < m; ++j)
        rights[(b * m + k) * m + j] = finite ? v(j, order[k]) : std::nan("");
    }
    if (!finite)
      std::fill_n(lefts.begin() + b * m * n, m * n, std::nan(""));
  }
  llvm::SmallVector<int64_t> batch(x.shape().drop_back(2)), across(batch), column(batch),
      square(batch);
  across.append({m, n});
  column.push_back(m);
  square.append({m, m});
  llvm::Expected<Tensor> left = filled(across, lefts), descending = filled(column, values),
                         vectors = filled(square, rights), room = emptyRoom(x);
  if (!left || !descending || !vectors || !room)
    return llvm::joinErrors(llvm::joinErrors(left.takeError(), descending.takeError()),
                            llvm::joinErrors(vectors.takeError(), room.takeError()));
  return Results{x, std::move(*left), std::move(*descending), std::move(*vectors),
                 std::move(*room)};
}

} // namespace

void addMatrices(Evaluators &all) {
  using namespace prim;
  all.add<LuOp, lu>();
  all.add<CholeskyOp, cholesky>();
  all.add<TriangularSolveOp, triangularSolve>();
  all.add<QrOp, qr>();
  all.add<ReflectOp, reflections>();
  all.add<SymmetricEigenOp, symmetricEigen>();
  all.add<SvdOp, svd>();
}

} // namespace tcc::reference
