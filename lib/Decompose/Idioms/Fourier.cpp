//===- Fourier.cpp - Discrete Fourier transforms as products --------------===//
//
// A transform is a product with the matrix of roots of unity, and products are
// what a CPU does best: the real and imaginary parts side by side are one row of
// 2n numbers, and one real matrix of 2n x 2m gives both parts of m results. At
// the lengths that models use (STFT frames of some hundreds of samples) that is
// as fast as an FFT. A longer static length n = p q is split once, or again
// (Cooley and Tukey): with j = j1 q + j2 and k = k1 + k2 p,
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
#include <cmath>
#include <cstring>
#include <numbers>

using namespace mlir;
using namespace tcc;

namespace {

/// The direct product up to here: its matrix is at most 4 MB.
constexpr int64_t kDirect = 512;
/// Transforms up to here are computed in f64.
constexpr int64_t kExact = 64;

struct Root {
  double re, im;
};

/// exp(2 pi i j / n): within a quadrant, so that the roots on the axes are exact.
Root root(int64_t j, int64_t n) {
  int64_t quadrant = 4 * j / n, rest = 4 * j % n;
  double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n);
  Root r{std::cos(angle), std::sin(angle)};
  for (int64_t turn = 0; turn < quadrant; ++turn)
    r = {-r.im, r.re};
  return r;
}

class Fourier {
public:
  Fourier(PrimBuilder &b, WeightTable &weights, Type element, bool inverse)
      : b(b), weights(weights), element(element), sign(inverse ? 1 : -1) {}

  /// Along the last axis, the first `count` results, not divided.
  ComplexParts run(ComplexParts z, Dim count);

private:
  ComplexParts direct(ComplexParts z, Dim count);
  ComplexParts split(ComplexParts z, int64_t p, int64_t q);
  ComplexParts swapped(ComplexParts z);
  ComplexParts reshaped(ComplexParts z, ArrayRef<Dim> dims);
  Value constant(StringRef hint, ArrayRef<int64_t> shape, ArrayRef<double> values);
  Value staticMatrix(int64_t n, int64_t count, bool complex);
  Value dynamicMatrix(Dim n, Dim count, bool complex);

  PrimBuilder &b;
  WeightTable &weights;
  Type element;
  int sign;
};

} // namespace

/// Values that the compiler computed, out of the IR.
Value Fourier::constant(StringRef hint, ArrayRef<int64_t> shape, ArrayRef<double> values) {
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
      Root w = root(j * k % n, n);
      w.im *= sign;
      m[j * columns + k] = w.re;
      m[j * columns + count + k] = w.im;
      if (complex) {
        m[(n + j) * columns + k] = -w.im;
        m[(n + j) * columns + count + k] = w.re;
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
  bool fixed = length && wanted && *length * *wanted <= kDirect * kDirect;
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
  std::vector<double> re(p * q), im(p * q);
  for (int64_t j = 0; j < q; ++j)
    for (int64_t k = 0; k < p; ++k) {
      Root w = root(j * k % (p * q), p * q);
      re[j * p + k] = w.re;
      im[j * p + k] = w.im * sign;
    }
  Value wr = constant("twiddle_re", {q, p}, re), wi = constant("twiddle_im", {q, p}, im);
  ComplexParts turned{b.sub(b.mul(inner.re, wr), b.mul(inner.im, wi)),
                      b.add(b.mul(inner.re, wi), b.mul(inner.im, wr))};
  ComplexParts result = swapped(run(swapped(turned), b.dim(q))); // [.., k2, k1]
  outer.push_back(b.dim(p * q));
  return reshaped(result, outer);
}

ComplexParts Fourier::run(ComplexParts z, Dim count) {
  int64_t last = b.rank(z.re) - 1;
  auto length = b.known(b.dim(z.re, last));
  constexpr int64_t kLongest = 1 << 24; // whose constants take 256 MB
  if (length && *length > kLongest) {
    b.fault("a Fourier transform of " + llvm::Twine(*length) + " points is too long");
    return {z.re, z.re};
  }
  int64_t p = 1;
  if (length && *length > kDirect)
    for (int64_t d = 2; d * d <= *length; ++d)
      if (*length % d == 0)
        p = d;
  if (p == 1)
    return direct(z, count);
  ComplexParts all = split(z, p, *length / p);
  return {b.sliceAxis(all.re, last, b.dim(0), count), b.sliceAxis(all.im, last, b.dim(0), count)};
}

ComplexParts tcc::fourier(PrimBuilder &b, WeightTable &weights, ComplexParts z, int64_t axis,
                          bool inverse, Dim count) {
  int64_t rank = b.rank(z.re);
  Dim n = b.dim(z.re, axis);
  SmallVector<int64_t> to, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      to.push_back(i);
  to.push_back(axis);
  for (auto [i, from] : llvm::enumerate(to))
    back[from] = i;
  // Short ones in f64: they cost nothing, and sums that cancel give an exact zero.
  Type own = b.elem(z.re);
  bool isShort = b.known(n).value_or(kExact + 1) <= kExact;
  Type e = isShort ? Type(b.builder().getF64Type()) : own;
  auto turned = [&](Value v, ArrayRef<int64_t> order, Type element) {
    return v ? b.cast(b.transpose(v, order), element) : Value();
  };
  ComplexParts line{turned(z.re, to, e), turned(z.im, to, e)};
  ComplexParts result = Fourier(b, weights, e, inverse).run(line, count);
  result = {turned(result.re, back, own), turned(result.im, back, own)};
  if (inverse) {
    Value scale = b.cast(b.fromHost({n}, {}, b.builder().getI64Type()), b.elem(result.re));
    result = {b.div(result.re, scale), b.div(result.im, scale)};
  }
  return result;
}
