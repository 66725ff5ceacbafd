/* Eigenvalues of symmetric matrices, for kernels: reflections make the matrix tridiagonal,
 * rotations with implicit shifts make that diagonal (Golub and Van Loan, Matrix Computations, 8.3).
 *
 * The lower triangle is updated row by row, and multiplied by the next reflection in the same pass;
 * vectors are rows, which rotations combine in pairs.
 */
#include "MatrixRows.h"

#define tcc_symmetric_eigen TCC_NAMED(tcc_symmetric_eigen)

void tcc_symmetric_eigen(double *a, double *values, double *room, int64_t n, int64_t vectors);

/* Row i up to its diagonal: adds -x w - z v, where v[i] = x and w[i] = z, and multiplies what it is
 * then by `next` from both sides: its part of p, which it adds to, and what it gives. */
static double update_row(double *row, double x, double z, const double *v, const double *w,
                         const double *next, double own, double *p, int64_t count) {
  lanes sums = {0};
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES) {
    lanes a = load(row + j) - x * load(w + j) - z * load(v + j);
    store(row + j, a);
    sums += a * load(next + j);
    store(p + j, load(p + j) + own * a);
  }
  double sum = count >= LANES ? sum_of(sums) : 0;
  for (; j < count; ++j) {
    row[j] -= x * w[j] + z * v[j];
    sum += row[j] * next[j];
    p[j] += own * row[j];
  }
  return sum;
}

/* The diagonal d and what is beside it, e; reflections stay above the diagonal, their factors in
 * tau. `room`: 4 n. */
static void tridiagonalize(double *a, int64_t n, double *d, double *e, double *tau, double *room) {
  double *v = room, *w = v + n, *next = w + n, *p = next + n;
  fill(v, 0, 2 * n);
  for (int64_t k = 0; k < n; ++k) {
    double *diagonal = a + k * n + k;
    d[k] = *diagonal - 2 * v[k] * w[k];
    if (k + 1 == n)
      break;
    for (int64_t i = k + 1; i < n; ++i)
      next[i] = a[i * n + k] - v[i] * w[k] - w[i] * v[k];
    tau[k] = reflector(next + k + 1, n - k - 1, e + k);
    memcpy(diagonal + 1, next + k + 1, (size_t)(n - k - 1) * sizeof *a);
    fill(p + k + 1, 0, n - k - 1);
    for (int64_t i = k + 1; i < n; ++i) {
      double *row = a + i * n;
      p[i] += update_row(row + k + 1, v[i], w[i], v + k + 1, w + k + 1, next + k + 1, next[i],
                         p + k + 1, i - k - 1);
      row[i] -= 2 * v[i] * w[i];
      p[i] += row[i] * next[i];
    }
    double half = tau[k] * dot(p + k + 1, next + k + 1, n - k - 1) / 2;
    for (int64_t i = k + 1; i < n; ++i)
      w[i] = tau[k] * (p[i] - half * next[i]);
    double *old = v;
    v = next;
    next = old;
  }
}

/* Rotations that make e vanish, from the end of each block up; of `rows` too. */
static void diagonalize(double *d, double *e, double *rows, int64_t n, double *c, double *s) {
  int64_t sweeps = MOST_SWEEPS * n;
  for (int64_t low = 0; low < n;) {
    int64_t high = low;
    while (high + 1 < n && fabs(e[high]) > DBL_EPSILON * (fabs(d[high]) + fabs(d[high + 1])))
      ++high;
    if (high == low || sweeps-- == 0) {
      ++low;
      continue;
    }
    double g = (d[low + 1] - d[low]) / (2 * e[low]);
    g = d[high] - d[low] + e[low] / (g + copysign(sqrt(g * g + 1), g));
    double sine = 1, cosine = 1, p = 0;
    int64_t count = 0;
    for (int64_t i = high - 1; i >= low; --i) {
      double f = sine * e[i], b = cosine * e[i], r = rotation(g, f, &cosine, &sine);
      if (i + 1 < high)
        e[i + 1] = r;
      g = d[i + 1] - p;
      r = (d[i] - g) * sine + 2 * cosine * b;
      p = sine * r;
      d[i + 1] = g + p;
      g = cosine * r - b;
      c[count] = cosine;
      s[count++] = sine;
    }
    d[low] -= p;
    e[low] = g;
    rotate(rows + high * n, -n, n, c, s, count);
  }
}

/* The same without vectors and roots (Pal, Walker and Kahan), of squares of e. r / p in the place
 * of a division by c = p / r does not wait for c. */
static void diagonalize_alone(double *d, double *squares, int64_t n) {
  int64_t sweeps = MOST_SWEEPS * n;
  for (int64_t i = 0; i + 1 < n; ++i)
    squares[i] *= squares[i];
  for (int64_t low = 0; low < n;) {
    int64_t high = low;
    while (high + 1 < n && squares[high] > DBL_EPSILON * DBL_EPSILON * fabs(d[high] * d[high + 1]))
      ++high;
    if (high == low || sweeps-- == 0) {
      ++low;
      continue;
    }
    double root = sqrt(squares[low]), half = (d[low + 1] - d[low]) / (2 * root);
    double shift = d[low] - root / (half + copysign(sqrt(half * half + 1), half));
    double c = 1, s = 0, gamma = d[high] - shift, p = gamma * gamma;
    for (int64_t i = high - 1; i >= low; --i) {
      double square = squares[i], r = p + square, old = gamma, before = c, back = r / p;
      if (i + 1 < high)
        squares[i + 1] = s * r;
      c = p / r;
      s = square / r;
      gamma = c * (d[i] - shift) - s * old;
      d[i + 1] = old + (d[i] - gamma);
      p = c != 0 ? gamma * gamma * back : before * square;
    }
    squares[low] = s * p;
    d[low] = shift + gamma;
  }
}

/* Values ascend and replace nothing; row i of a becomes the vector of value i, if `vectors`. Only
 * the lower triangle is read. `room`: 8 n. */
void tcc_symmetric_eigen(double *a, double *values, double *room, int64_t n, int64_t vectors) {
  double *e = room, *tau = e + n, *rest = tau + n;
  double most = 0;
  for (int64_t i = 0; i < n && most == most; ++i) {
    double row = largest(a + i * n, i + 1);
    most = row > most || row != row ? row : most;
  }
  if (!(most <= DBL_MAX)) {
    fill(values, NAN, n);
    fill(a, NAN, vectors ? n * n : 0);
    return;
  }
  double scale = scale_for(most);
  if (scale != 1)
    multiply(a, scale, n * n);
  tridiagonalize(a, n, values, e, tau, rest);
  if (vectors) {
    accumulate(a, n, tau);
    diagonalize(values, e, a, n, rest, rest + n);
  } else {
    diagonalize_alone(values, e, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; ++j)
      least = values[j] < values[least] ? j : least;
    if (least != i) {
      exchange(values + i, values + least, 1);
      exchange(a + i * n, a + least * n, vectors ? n : 0);
    }
  }
  if (scale != 1)
    multiply(values, 1 / scale, n);
}
