/* Singular values, for kernels: reflections from both sides make the matrix bidiagonal, rotations
 * with implicit shifts make that diagonal (Golub and Van Loan, Matrix Computations, 8.6). Vectors
 * are rows.
 */
#include "MatrixRows.h"

#define tcc_svd TCC_NAMED(tcc_svd)

void tcc_svd(double *a, double *left, double *values, double *right, double *room, int64_t n,
             int64_t m, int64_t vectors);

/* y += a x, and the product of what y becomes and z. */
static double add_and_multiply(double a, const double *x, double *y, const double *z, int64_t n) {
  lanes sums = {0};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES) {
    lanes v = load(y + j) + a * load(x + j);
    store(y + j, v);
    sums += v * load(z + j);
  }
  double sum = n >= LANES ? sum_of(sums) : 0;
  for (; j < n; ++j) {
    y[j] += a * x[j];
    sum += y[j] * z[j];
  }
  return sum;
}

/* y += the sum of a[i] times row i of `rows` rows, which are `stride` apart; a[i] is that of
 * `factors` times `scale`. */
static void add_rows(const double *factors, double scale, const double *x, int64_t stride,
                     int64_t rows, double *y, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4, x += 4 * stride) {
    double a = scale * factors[i], b = scale * factors[i + 1], c = scale * factors[i + 2],
           d = scale * factors[i + 3];
    const double *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
      store(y + j, load(y + j) + (a * load(x + j) + b * load(x1 + j)) +
                       (c * load(x2 + j) + d * load(x3 + j)));
    for (; j < n; ++j)
      y[j] += a * x[j] + b * x1[j] + (c * x2[j] + d * x3[j]);
  }
  for (; i < rows; ++i, x += stride)
    add(scale * factors[i], x, y, n);
}

/* The diagonal d and what is above it, e. Vectors of reflections from the left in rows of `left`,
 * from the right above the diagonal of `right`. `room`: n + 2 m. */
static void bidiagonalize(double *a, int64_t n, int64_t m, double *d, double *e, double *left,
                          double *left_tau, double *right, double *right_tau, double *room) {
  double *u = room, *y = u + n, *v = y + m;
  for (int64_t k = 0; k < m; ++k) {
    int64_t after = m - k - 1, from = k + 1;
    for (int64_t i = k; i < n; ++i)
      u[i] = a[i * m + k];
    double tau = reflector(u + k, n - k, d + k);
    left_tau[k] = tau;
    if (left)
      memcpy(left + k * n + k, u + k, (size_t)(n - k) * sizeof *a);
    if (!after)
      break;
    fill(y + from, 0, after);
    if (tau != 0)
      add_rows(u + k, tau, a + k * m + from, m, n - k, y + from, after);
    double *row = a + k * m + from;
    for (int64_t j = 0; j < after; ++j)
      v[from + j] = row[j] - y[from + j];
    right_tau[k] = reflector(v + from, after, e + k);
    if (right)
      memcpy(right + k * m + from, v + from, (size_t)after * sizeof *a);
    for (int64_t i = from; i < n; ++i) {
      row = a + i * m + from;
      double along = add_and_multiply(-u[i], y + from, row, v + from, after);
      add(-right_tau[k] * along, v + from, row, after);
    }
  }
}

/* The first m rows of H_m-1 .. H_0, whose vectors the rows have from the diagonal on. `u`: n. */
static void accumulate_left(double *left, int64_t n, int64_t m, const double *tau, double *u) {
  for (int64_t k = m - 1; k >= 0; --k) {
    double *row = left + k * n + k;
    memcpy(u, row, (size_t)(n - k) * sizeof *u);
    for (int64_t i = k + 1; i < m; ++i) {
      double *below = left + i * n + k;
      *below = 0;
      if (tau[k] != 0)
        add(-tau[k] * dot(below, u, n - k), u, below, n - k);
    }
    multiply(row, -tau[k], n - k);
    *row += 1;
  }
}

/* One sweep over rows and columns low .. high: rotations of neighbouring columns, and of rows. */
static void chase(double *d, double *e, int64_t low, int64_t high, double f, double g,
                  double *rotations, int64_t m) {
  double *rc = rotations, *rs = rc + m, *lc = rs + m, *ls = lc + m;
  for (int64_t k = low; k < high; ++k) {
    double c, s, r = rotation(f, g, &c, &s);
    if (k > low)
      e[k - 1] = r;
    f = c * d[k] + s * e[k];
    e[k] = c * e[k] - s * d[k];
    g = s * d[k + 1];
    d[k + 1] *= c;
    rc[k - low] = c;
    rs[k - low] = s;
    d[k] = rotation(f, g, &c, &s);
    f = c * e[k] + s * d[k + 1];
    d[k + 1] = c * d[k + 1] - s * e[k];
    if (k + 1 < high) {
      g = s * e[k + 1];
      e[k + 1] *= c;
    }
    lc[k - low] = c;
    ls[k - low] = s;
  }
  e[high - 1] = f;
}

/* Makes e vanish, from the end up; rows of `left` and `right` go along, if there are any. */
static void diagonalize_pairs(double *d, double *e, double *left, double *right, int64_t n,
                              int64_t m, double *rotations) {
  double most = fmax(largest(d, m), largest(e, m > 0 ? m - 1 : 0)), nothing = DBL_EPSILON * most;
  int64_t sweeps = MOST_SWEEPS * m;
  for (int64_t high = m - 1; high > 0;) {
    int64_t low = high;
    double least = fabs(d[high]);
    while (low > 0 && fabs(e[low - 1]) > DBL_EPSILON * (fabs(d[low - 1]) + fabs(d[low])) &&
           fabs(e[low - 1]) > nothing) {
      --low;
      least = fmin(least, fabs(d[low]));
    }
    if (low == high || sweeps-- == 0) {
      --high;
      continue;
    }
    /* Without a shift a column that is nothing leaves at the end. */
    double f = d[low], g = e[low];
    if (least > nothing) {
      double x = d[high - 1], y = d[high], z = e[high - 1], w = high - 1 > low ? e[high - 2] : 0;
      double last = y * y + z * z, mixed = x * z, half = (x * x + w * w - last) / 2;
      double root = half + copysign(sqrt(half * half + mixed * mixed), half);
      double shift = root != 0 ? last - mixed * mixed / root : last;
      f = d[low] - shift / d[low];
    }
    chase(d, e, low, high, f, g, rotations, m);
    if (left) {
      rotate(right + low * m, m, m, rotations, rotations + m, high - low);
      rotate(left + low * n, n, n, rotations + 2 * m, rotations + 3 * m, high - low);
    }
  }
}

/* Of a, n rows of m <= n: values descend, rows of `left` (m by n) and `right` (m by m) are their
 * vectors, if `vectors`. `room`: 8 n. */
void tcc_svd(double *a, double *left, double *values, double *right, double *room, int64_t n,
             int64_t m, int64_t vectors) {
  double *e = room, *left_tau = e + m, *right_tau = left_tau + m, *rest = right_tau + m;
  double most = largest(a, n * m);
  if (!(most <= DBL_MAX)) {
    fill(values, NAN, m);
    fill(left, NAN, vectors ? m * n : 0);
    fill(right, NAN, vectors ? m * m : 0);
    return;
  }
  double scale = scale_for(most);
  if (scale != 1)
    multiply(a, scale, n * m);
  if (!vectors)
    left = right = NULL;
  bidiagonalize(a, n, m, values, e, left, left_tau, right, right_tau, rest);
  if (vectors) {
    accumulate_left(left, n, m, left_tau, rest);
    accumulate(right, m, right_tau);
  }
  diagonalize_pairs(values, e, left, right, n, m, rest);
  for (int64_t i = 0; i < m; ++i)
    if (values[i] < 0 || (values[i] == 0 && signbit(values[i]))) {
      values[i] = -values[i];
      multiply(right + i * m, -1, vectors ? m : 0);
    }
  for (int64_t i = 0; i < m; ++i) {
    int64_t first = i;
    for (int64_t j = i + 1; j < m; ++j)
      first = values[j] > values[first] ? j : first;
    if (first != i) {
      exchange(values + i, values + first, 1);
      exchange(left + i * n, left + first * n, vectors ? n : 0);
      exchange(right + i * m, right + first * m, vectors ? m : 0);
    }
  }
  if (scale != 1)
    multiply(values, 1 / scale, m);
}
