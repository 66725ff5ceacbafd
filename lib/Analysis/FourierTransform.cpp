//===- FourierTransform.cpp - Fourier transforms of the compiler's own ----===//
#include "tcc/Analysis/FourierTransform.h"
#include "tcc/Analysis/FourierLength.h"

using namespace tcc;

static int64_t smallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0)
      return p;
  return n;
}

FourierTransform::FourierTransform(int64_t length, bool inverse) : length(length), roots(length) {
  for (int64_t j = 0; j < length; ++j) {
    auto [re, im] = fourierRoot(j, length);
    roots[j] = {re, inverse ? im : -im};
  }
}

void FourierTransform::run(const Complex *x, int64_t stride, int64_t n, Complex *to,
                           Complex *work) const {
  if (n == 1) {
    *to = *x;
    return;
  }
  int64_t p = smallestFactor(n), m = n / p, unit = length / n;
  for (int64_t r = 0; r < p; ++r)
    run(x + r * stride, stride * p, m, work + r * m, to + r * m);
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = work[k % m];
    for (int64_t r = 1; r < p; ++r) {
      Complex root = roots[r * k % n * unit], part = work[r * m + k % m];
      sum += Complex(root.real() * part.real() - root.imag() * part.imag(),
                     root.real() * part.imag() + root.imag() * part.real());
    }
    to[k] = sum;
  }
}
