//===- Fourier.cpp - Discrete Fourier transforms as products --------------===//
//
// For lengths that a target has no kernel for, and those known only at run time. A transform is
// a product with the matrix of roots of unity: the real and imaginary parts side by side are one
// row of 2n numbers, and one real matrix of 2n x 2m gives both parts of m results. A longer
// static length n = p q is split once, or again (Cooley and Tukey): with j = j1 q + j2 and
// k = k1 + k2 p,
//
//   X[k1 + k2 p] = sum over j2 of w_q^(j2 k2) w_n^(j2 k1) (sum over j1 of
//                  x[j1 q + j2] w_p^(j1 k1)),
//
// which is products with p x p and q x q matrices and a multiplication between.
// Roots come from an angle reduced exactly, so their error does not grow with n.
// The matrix of a length that is known only at run time is computed there.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Fourier.h"
#include "tcc/Analysis/FourierLength.h"
#include <cstring>
#include <numbers>

using namespace mlir;
using namespace tcc;

namespace {

class Fourier {
public:
  Fourier(PrimBuilder &b, WeightTable &weights, Type element, bool inverse)
      : b(b), weights(weights), element(element), sign(inverse ? 1 : -1) {}

  /// Along the last axis, the first `count` results, not divided.
  ComplexParts run(ComplexParts z, Dim count);
  /// The n real numbers whose n / 2 + 1 first results z are.
  Value runToReal(ComplexParts z, int64_t n);
  /// [rows, q]: the root of p q to the power of row times column.
  ComplexParts twiddles(int64_t rows, int64_t p, int64_t q);

private:
  ComplexParts direct(ComplexParts z, Dim count);
  ComplexParts split(ComplexParts z, int64_t p, int64_t q);
  ComplexParts swapped(ComplexParts z);
  ComplexParts reshaped(ComplexParts z, ArrayRef<Dim> dims);
  Value constant(StringRef hint, ArrayRef<int64_t> shape, ArrayRef<double> values) {
    return fourierConstants(b, weights, element, hint, shape, values);
  }
  Value staticMatrix(int64_t n, int64_t count, bool complex);
  Value dynamicMatrix(Dim n, Dim count, bool complex);

  PrimBuilder &b;
  WeightTable &weights;
  Type element;
  int sign;
};

} // namespace

/// Values that the compiler computed, out of the IR.
Value tcc::fourierConstants(PrimBuilder &b, WeightTable &weights, Type element, StringRef hint,
                            ArrayRef<int64_t> shape, ArrayRef<double> values) {
  bool wide = element.isF64();
  std::vector<char> bytes(values.size() * (wide ? sizeof(double) : sizeof(float)));
  for (auto [i, v] : llvm::enumerate(values)) {
    auto narrow = static_cast<float>(v);
    if (wide)
      std::memcpy(bytes.data() + i * sizeof(double), &v, sizeof(double));
    else
      std::memcpy(bytes.data() + i * sizeof(float), &narrow, sizeof(float));
  }
  std::string name = weights.addOwned(hint, wide ? DType::F64 : DType::F32, shape, bytes);
  return prim::WeightOp::create(b.builder(), b.location(), RankedTensorType::get(shape, element),
                                name);
}

/// Rows: real parts of z, then imaginary ones; columns: those of the result.
Value Fourier::staticMatrix(int64_t n, int64_t count, bool complex) {
  int64_t rows = complex ? 2 * n : n, columns = 2 * count;
  std::vector<double> m(rows * columns);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = 0; k < count; ++k) {
      auto [wr, wi] = fourierRoot(j * k % n, n);
      wi *= sign;
      m[j * columns + k] = wr;
      m[j * columns + count + k] = wi;
      if (complex) {
        m[(n + j) * columns + k] = -wi;
        m[(n + j) * columns + count + k] = wr;
      }
    }
  return constant("dft" + std::to_string(n), {rows, columns}, m);
}

/// The same from index arithmetic; angles in f64.
Value Fourier::dynamicMatrix(Dim n, Dim count, bool complex) {
  Type i64 = b.builder().getI64Type(), f64 = b.builder().getF64Type();
  auto number = [&](Dim d) { return b.fromHost({d}, {}, i64); };
  Value product = b.mul(b.iota({n, count}, 0, i64), b.iota({n, count}, 1, i64));
  Value turns = b.binary<prim::RemOp>(product, number(n));
  Value angle = b.mul(b.div(b.cast(turns, f64), b.cast(number(n), f64)), 2 * std::numbers::pi);
  Value re = b.cast(b.unary<prim::CosOp>(angle), element);
  Value im = b.cast(b.mul(b.unary<prim::SinOp>(angle), sign), element);
  Value top = b.concat({re, im}, 1);
  return complex ? b.concat({top, b.concat({b.neg(im), re}, 1)}, 0) : top;
}

ComplexParts Fourier::direct(ComplexParts z, Dim count) {
  int64_t last = b.rank(z.re) - 1;
  Dim n = b.dim(z.re, last);
  auto length = b.known(n), wanted = b.known(count);
  Value x = z.im ? b.concat({z.re, z.im}, last) : z.re;
  bool fixed = length && wanted && *length * *wanted <= kLongestProduct * kLongestProduct;
  Value matrix =
      fixed ? staticMatrix(*length, *wanted, bool(z.im)) : dynamicMatrix(n, count, bool(z.im));
  Value both = b.dot(x, matrix, {}, {}, {last}, {0});
  return {b.sliceAxis(both, last, b.dim(0), count), b.sliceAxis(both, last, count, count)};
}

/// The last two axes in the other order.
ComplexParts Fourier::swapped(ComplexParts z) {
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < b.rank(z.re); ++i)
    order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {b.transpose(z.re, order), z.im ? b.transpose(z.im, order) : Value()};
}

ComplexParts Fourier::reshaped(ComplexParts z, ArrayRef<Dim> dims) {
  return {b.reshape(z.re, dims), z.im ? b.reshape(z.im, dims) : Value()};
}

ComplexParts Fourier::split(ComplexParts z, int64_t p, int64_t q) {
  Dims outer = b.dims(z.re);
  outer.pop_back();
  Dims square(outer);
  square.append({b.dim(p), b.dim(q)});
  ComplexParts inner = run(swapped(reshaped(z, square)), b.dim(p)); // [.., j2, k1]
  auto [wr, wi] = twiddles(q, q, p);
  ComplexParts turned{b.sub(b.mul(inner.re, wr), b.mul(inner.im, wi)),
                      b.add(b.mul(inner.re, wi), b.mul(inner.im, wr))};
  ComplexParts result = swapped(run(swapped(turned), b.dim(q))); // [.., k2, k1]
  outer.push_back(b.dim(p * q));
  return reshaped(result, outer);
}

ComplexParts Fourier::run(ComplexParts z, Dim count) {
  int64_t last = b.rank(z.re) - 1;
  auto length = b.known(b.dim(z.re, last));
  if (length && *length > kLongestFourier) {
    b.fault("a Fourier transform of " + llvm::Twine(*length) + " points is too long");
    return {z.re, z.re};
  }
  int64_t p = length && *length > kLongestProduct ? nearestFactor(*length) : 1;
  if (p == 1)
    return direct(z, count);
  ComplexParts all = split(z, p, *length / p);
  return {b.sliceAxis(all.re, last, b.dim(0), count), b.sliceAxis(all.im, last, b.dim(0), count)};
}

/// Numbers before and after the middle are conjugate: real parts count twice.
Value Fourier::runToReal(ComplexParts z, int64_t n) {
  int64_t last = b.rank(z.re) - 1, half = n / 2 + 1;
  if (n * n > kLongestProduct * kLongestProduct) {
    Dim rest = b.dim(n - half);
    auto mirrored = [&](Value part) {
      return b.reverse(b.sliceAxis(part, last, b.dim(1), rest), {last});
    };
    // What makes the first and the middle one complex does not count.
    std::vector<double> counts(half, 1);
    counts[0] = 0;
    if (n % 2 == 0)
      counts[n / 2] = 0;
    Value im = b.mul(z.im, constant("real_ends", {half}, counts));
    ComplexParts all{b.concat({z.re, mirrored(z.re)}, last),
                     b.concat({im, b.neg(mirrored(im))}, last)};
    return run(all, b.dim(n)).re;
  }
  std::vector<double> m(2 * half * n);
  for (int64_t k = 0; k < half; ++k)
    for (int64_t j = 0; j < n; ++j) {
      auto [wr, wi] = fourierRoot(j * k % n, n);
      bool once = 2 * k % n == 0;
      m[k * n + j] = once ? wr : 2 * wr;
      m[(half + k) * n + j] = once ? 0 : -2 * wi * sign;
    }
  Value matrix = constant("real_dft" + std::to_string(n), {2 * half, n}, m);
  return b.dot(b.concat({z.re, z.im}, last), matrix, {}, {}, {last}, {0});
}

ComplexParts Fourier::twiddles(int64_t rows, int64_t p, int64_t q) {
  std::vector<double> re(rows * q), im(rows * q);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < q; ++j) {
      auto [wr, wi] = fourierRoot(i * j % (p * q), p * q);
      re[i * q + j] = wr;
      im[i * q + j] = wi * sign;
    }
  return {constant("twiddle_re", {rows, q}, re), constant("twiddle_im", {rows, q}, im)};
}

ComplexParts tcc::fourierProducts(PrimBuilder &b, WeightTable &weights, ComplexParts z,
                                  bool inverse, Dim count) {
  return Fourier(b, weights, b.elem(z.re), inverse).run(z, count);
}

Value tcc::realFourierProducts(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t n,
                               bool inverse) {
  return Fourier(b, weights, b.elem(z.re), inverse).runToReal(z, n);
}

ComplexParts tcc::fourierTwiddles(PrimBuilder &b, WeightTable &weights, Type element, int64_t rows,
                                  int64_t p, int64_t q, bool inverse) {
  return Fourier(b, weights, element, inverse).twiddles(rows, p, q);
}
