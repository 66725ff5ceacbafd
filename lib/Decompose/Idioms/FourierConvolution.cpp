//===- FourierConvolution.cpp - Fourier transforms by Bluestein's way -----===//
#include "Decompose/Idioms/Fourier.h"
#include "tcc/Analysis/FourierLength.h"
#include "tcc/Analysis/FourierTransform.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;

namespace {

/// Constants along an axis: a complex number for each place.
class AlongAxis {
public:
  AlongAxis(PrimBuilder &b, WeightTable &weights, Type element, int64_t axis)
      : b(b), weights(weights), element(element), axis(axis) {}
  ComplexParts times(ComplexParts z, StringRef hint, ArrayRef<std::complex<double>> by);

private:
  Value part(Value like, StringRef hint, ArrayRef<std::complex<double>> by, bool isIm);

  PrimBuilder &b;
  WeightTable &weights;
  Type element;
  int64_t axis;
};

} // namespace

Value AlongAxis::part(Value like, StringRef hint, ArrayRef<std::complex<double>> by, bool isIm) {
  auto values =
      llvm::map_to_vector(by, [&](std::complex<double> v) { return isIm ? v.imag() : v.real(); });
  Value constants = fourierConstants(b, weights, element, (hint + (isIm ? "_im" : "_re")).str(),
                                     static_cast<int64_t>(by.size()), values);
  return b.broadcastInDim(constants, b.dims(like), {axis});
}

/// `z` may be real.
ComplexParts AlongAxis::times(ComplexParts z, StringRef hint, ArrayRef<std::complex<double>> by) {
  Value re = part(z.re, hint, by, false), im = part(z.re, hint, by, true);
  if (!z.im)
    return {b.mul(z.re, re), b.mul(z.re, im)};
  return {b.sub(b.mul(z.re, re), b.mul(z.im, im)), b.add(b.mul(z.re, im), b.mul(z.im, re))};
}

ComplexParts tcc::fourierConvolution(PrimBuilder &b, WeightTable &weights, ComplexParts z,
                                     int64_t axis, int64_t count, bool inverse, double scale) {
  int64_t n = *b.known(b.dim(z.re, axis));
  auto m = static_cast<int64_t>(llvm::PowerOf2Ceil(2 * n - 1));
  if (m > kLongestFourier) {
    b.fault("a Fourier transform of " + llvm::Twine(n) + " points is too long");
    return {z.re, z.re};
  }
  std::vector<std::complex<double>> chirp(n), x(m), response(m), work(m);
  for (int64_t j = 0; j < n; ++j) {
    auto [re, im] = fourierRoot(j * j % (2 * n), 2 * n);
    chirp[j] = {re, inverse ? im : -im};
    x[j] = x[(m - j) % m] = std::conj(chirp[j]);
  }
  FourierTransform(m, false).run(x.data(), response.data(), work.data());
  for (std::complex<double> &v : response)
    v *= scale / static_cast<double>(m);

  AlongAxis along(b, weights, b.elem(z.re), axis);
  z = along.times(z, "chirp", chirp);
  Dims low(b.rank(z.re), b.dim(0)), high = low;
  high[axis] = b.dim(m - n);
  Value zero = b.scalar(0, b.elem(z.re));
  z = {b.pad(z.re, zero, low, high), b.pad(z.im, zero, low, high)};
  z = along.times(fourierLines(b, z, axis, m, false), "response", response);
  z = fourierLines(b, z, axis, m, true);
  auto first = [&](Value v) { return b.sliceAxis(v, axis, b.dim(0), b.dim(count)); };
  return along.times({first(z.re), first(z.im)}, "chirp", ArrayRef(chirp).take_front(count));
}
