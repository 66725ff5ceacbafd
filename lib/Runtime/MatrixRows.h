/* What eigenvalues and singular values (SymmetricEigen.c, SingularValues.c) are computed with, in
 * double: sums and products of rows, reflections, and rotations of neighbouring rows.
 *
 * The rotations of a sweep are kept, and applied to strips of columns, whose last row stays in
 * registers from one rotation to the next.
 *
 * Who includes this is compiled for several instruction sets; TCC_SUFFIX names them, and a kernel
 * (lib/Codegen/Cpu/Matrices/SpectralKernel.cpp) calls what its CPU has.
 */
#pragma once
#pragma STDC FP_CONTRACT ON
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define TCC_JOIN_(a, b) a##b
#define TCC_JOIN(a, b) TCC_JOIN_(a, b)
#define TCC_NAMED(name) TCC_JOIN(name, TCC_SUFFIX)

enum { LANES = 8, MOST_SWEEPS = 60 };
typedef double lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

static inline lanes load(const double *p) { return *(const lanes *)p; }
static inline void store(double *p, lanes v) { *(lanes *)p = v; }

static inline double sum_of(lanes v) {
  double sum = 0;
  for (int i = 0; i < LANES; ++i)
    sum += v[i];
  return sum;
}

static inline double dot(const double *x, const double *y, int64_t n) {
  lanes first = {0}, second = {0};
  int64_t j = 0;
  for (; j + 2 * LANES <= n; j += 2 * LANES) {
    first += load(x + j) * load(y + j);
    second += load(x + j + LANES) * load(y + j + LANES);
  }
  for (; j + LANES <= n; j += LANES)
    first += load(x + j) * load(y + j);
  double sum = n >= LANES ? sum_of(first + second) : 0;
  for (; j < n; ++j)
    sum += x[j] * y[j];
  return sum;
}

/* y += a x */
static inline void add(double a, const double *x, double *y, int64_t n) {
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    store(y + j, load(y + j) + a * load(x + j));
  for (; j < n; ++j)
    y[j] += a * x[j];
}

static inline double largest(const double *x, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i)
    most = fabs(x[i]) > most || x[i] != x[i] ? fabs(x[i]) : most;
  return most;
}

/* A power of two that keeps squares of what is at most `most` from overflowing and vanishing. */
static inline double scale_for(double most) {
  return most > 0x1p+400 ? 0x1p-600 : most > 0 && most < 0x1p-400 ? 0x1p+600 : 1;
}

static inline void multiply(double *x, double factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    x[i] *= factor;
}

static inline void fill(double *x, double value, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    x[i] = value;
}

/* x becomes v, with v[0] = 1, of H = 1 - tau v v^T, which makes (beta, 0, ..) of what x was. */
static inline double reflector(double *x, int64_t n, double *beta) {
  double head = x[0], rest = dot(x + 1, x + 1, n - 1), scale = 1;
  *beta = head;
  if (rest < 0x1p-900 && fabs(head) < 0x1p-300) { /* has lost digits, which the factor needs */
    scale = 0x1p-600;
    multiply(x, 0x1p+600, n);
    head = x[0];
    rest = dot(x + 1, x + 1, n - 1);
  }
  x[0] = 1;
  if (rest < 0x1p-900)
    return 0;
  double length = -copysign(sqrt(head * head + rest), head);
  multiply(x + 1, 1 / (head - length), n - 1);
  *beta = length * scale;
  return (length - head) / length;
}

/* What turns (f, g) to (r, 0). */
static inline double rotation(double f, double g, double *c, double *s) {
  double square = f * f + g * g, scale = 1;
  if (square < 0x1p-900) { /* has lost digits */
    f *= 0x1p+600;
    g *= 0x1p+600;
    scale = 0x1p-600;
    square = f * f + g * g;
    if (!(square > 0)) {
      *c = 1;
      *s = 0;
      return 0;
    }
  }
  double r = sqrt(square), inverse = 1 / r;
  *c = f * inverse;
  *s = g * inverse;
  return r * scale;
}

/* Rotation i turns what row i has become and row i + 1, of rows that are `stride` apart: to c x + s
 * y and c y - s x. */
static inline void rotate(double *first, int64_t stride, int64_t columns, const double *c,
                          const double *s, int64_t count) {
  int64_t j = 0;
  for (; j + 2 * LANES <= columns; j += 2 * LANES) {
    double *row = first + j;
    lanes x0 = load(row), x1 = load(row + LANES);
    for (int64_t i = 0; i < count; ++i) {
      double *next = row + stride;
      lanes y0 = load(next), y1 = load(next + LANES);
      store(row, c[i] * x0 + s[i] * y0);
      store(row + LANES, c[i] * x1 + s[i] * y1);
      x0 = c[i] * y0 - s[i] * x0;
      x1 = c[i] * y1 - s[i] * x1;
      row = next;
    }
    store(row, x0);
    store(row + LANES, x1);
  }
  for (; j + LANES <= columns; j += LANES) {
    double *row = first + j;
    lanes x = load(row);
    for (int64_t i = 0; i < count; ++i) {
      double *next = row + stride;
      lanes y = load(next);
      store(row, c[i] * x + s[i] * y);
      x = c[i] * y - s[i] * x;
      row = next;
    }
    store(row, x);
  }
  for (; j < columns; ++j) {
    double *row = first + j, x = *row;
    for (int64_t i = 0; i < count; ++i) {
      double *next = row + stride, y = *next;
      *row = c[i] * x + s[i] * y;
      x = c[i] * y - s[i] * x;
      row = next;
    }
    *row = x;
  }
}

static inline void exchange(double *x, double *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double kept = x[i];
    x[i] = y[i];
    y[i] = kept;
  }
}

/* Row k has, from column k + 1 on, the vector of a reflection H_k. Gives the product .. H_1 H_0. */
static inline void accumulate(double *a, int64_t n, const double *tau) {
  if (n > 0)
    a[n * n - 1] = 1;
  for (int64_t k = n - 2; k >= 0; --k) {
    double *v = a + k * n + k + 1;
    for (int64_t i = k + 1; i < n && tau[k] != 0; ++i) {
      double *row = a + i * n + k + 1;
      add(-tau[k] * dot(row, v, n - k - 1), v, row, n - k - 1);
    }
    fill(v, 0, n - k - 1);
    a[k * n + k] = 1;
    for (int64_t i = k + 1; i < n; ++i)
      a[i * n + k] = 0;
  }
}
