//===- FourierTransform.h - Fourier transforms of the compiler's own ----*- C++ -*-===//
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace tcc {

/// X[k] = sum of x[j] exp(-2 pi i j k / n), or with the other sign: mixed radix, decimation in
/// time. A transform of length n is p transforms of length n / p over every p-th element, p the
/// smallest prime factor of n, combined with roots from one table, so that errors do not build up.
class FourierTransform {
public:
  using Complex = std::complex<double>;
  FourierTransform(int64_t length, bool inverse);
  /// `to` and `work` have room for `length` elements.
  void run(const Complex *x, Complex *to, Complex *work) const { run(x, 1, length, to, work); }

private:
  /// Of `n` elements of `x`, `stride` apart; n divides the length.
  void run(const Complex *x, int64_t stride, int64_t n, Complex *to, Complex *work) const;

  int64_t length;
  std::vector<Complex> roots;
};

} // namespace tcc
