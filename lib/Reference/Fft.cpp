//===- Fft.cpp - Discrete Fourier transform ------------------------------===//
//
// Mixed radix, decimation in time: a transform of length n is p transforms of
// length n / p over every p-th element, p the smallest prime factor of n,
// combined with twiddle factors. The factors come from one table of exp(-2 pi i
// j / n), indexed modulo n, so that errors do not build up.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <cmath>
#include <numbers>

namespace tcc::reference {

namespace {

int64_t smallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0)
      return p;
  return n;
}

class Transform {
public:
  Transform(int64_t length, bool inverse) : length(length), roots(length) {
    for (int64_t j = 0; j < length; ++j) {
      // Within a quadrant, so that the roots on the axes are exact.
      int64_t quadrant = 4 * j / length, rest = 4 * j % length;
      double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(length);
      Complex root(std::cos(angle), std::sin(angle));
      for (int64_t turn = 0; turn < quadrant; ++turn)
        root = {-root.imag(), root.real()};
      roots[j] = inverse ? root : std::conj(root);
    }
  }

  /// The transform of `n` elements of `x`, `stride` apart, into `to`; n divides
  /// the length. `work` has room for n elements.
  void run(const Complex *x, int64_t stride, int64_t n, Complex *to, Complex *work) const {
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

private:
  int64_t length;
  std::vector<Complex> roots;
};

llvm::Expected<Tensor> fft(prim::FftOp op, Operands operands) {
  const Tensor &x = operands[0];
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result || result->elements() == 0)
    return result;
  AroundAxis around(x.shape(), op.getAxis());
  int64_t n = around.extent;
  Transform transform(n, op.getInverse());
  std::vector<Complex> values = widened<Complex>(x), out(n), work(n);
  double scale = op.getInverse() ? 1.0 / static_cast<double>(n) : 1.0;
  for (int64_t outer = 0; outer < around.outer; ++outer)
    for (int64_t inner = 0; inner < around.inner; ++inner) {
      Complex *line = values.data() + outer * n * around.inner + inner;
      transform.run(line, around.inner, n, out.data(), work.data());
      for (int64_t i = 0; i < n; ++i)
        line[i * around.inner] = out[i] * scale;
    }
  narrow(x.dtype(), values.data(), x.elements(), result->mutableData());
  return result;
}

llvm::Expected<Results> fourier(prim::FourierOp op, Operands operands) {
  const Tensor &re = operands[0];
  int64_t axis = op.getAxis(), n = op.getLength();
  std::vector<double> xs[2] = {widened<double>(re), {}};
  if (op.getIm())
    xs[1] = widened<double>(operands[1]);
  llvm::SmallVector<int64_t> shape(re.shape());
  shape[axis] = tensorType(op.getParts()[0]).getDimSize(axis);
  Results results;
  std::vector<double> ys[2];
  for (size_t part = 0; part < op.getParts().size(); ++part) {
    llvm::Expected<Tensor> result = Tensor::allocate(re.dtype(), shape);
    if (!result)
      return result.takeError();
    ys[part].resize(result->elements());
    results.push_back(std::move(*result));
  }
  AroundAxis around(re.shape(), axis);
  Transform transform(n, op.getInverse());
  std::vector<Complex> line(n), out(n), work(n);
  int64_t have = around.extent, wanted = shape[axis];
  for (int64_t outer = 0; outer < around.outer && n; ++outer)
    for (int64_t inner = 0; inner < around.inner; ++inner) {
      auto place = [&](int64_t i, int64_t extent) {
        return (outer * extent + i) * around.inner + inner;
      };
      for (int64_t i = 0; i < n; ++i) {
        bool follows = i >= have; // of a line whose transform is real
        int64_t at = place(follows ? n - i : i, have);
        double im = xs[1].empty() ? 0 : xs[1][at];
        // What makes a real transform complex is not looked at.
        if (op.toReal() && 2 * i % n == 0)
          im = 0;
        line[i] = {xs[0][at], follows ? -im : im};
      }
      transform.run(line.data(), 1, n, out.data(), work.data());
      for (int64_t i = 0; i < wanted; ++i) {
        Complex scaled = out[i] * op.getScale().convertToDouble();
        ys[0][place(i, wanted)] = scaled.real();
        if (results.size() > 1)
          ys[1][place(i, wanted)] = scaled.imag();
      }
    }
  for (size_t part = 0; part < results.size(); ++part)
    narrow(re.dtype(), ys[part].data(), results[part].elements(), results[part].mutableData());
  return results;
}

} // namespace

void addFft(Evaluators &all) {
  all.add<prim::FftOp, fft>();
  all.add<prim::FourierOp, fourier>();
}

} // namespace tcc::reference
