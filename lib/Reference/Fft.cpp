//===- Fft.cpp - Discrete Fourier transform ------------------------------===//
#include "Reference/Evaluators.h"
#include "tcc/Analysis/FourierTransform.h"

namespace tcc::reference {

namespace {

llvm::Expected<Tensor> fft(prim::FftOp op, Operands operands) {
  const Tensor &x = operands[0];
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result || result->elements() == 0)
    return result;
  AroundAxis around(x.shape(), op.getAxis());
  int64_t n = around.extent;
  FourierTransform transform(n, op.getInverse());
  std::vector<Complex> values = widened<Complex>(x), in(n), out(n), work(n);
  double scale = op.getInverse() ? 1.0 / static_cast<double>(n) : 1.0;
  for (int64_t outer = 0; outer < around.outer; ++outer)
    for (int64_t inner = 0; inner < around.inner; ++inner) {
      Complex *line = values.data() + outer * n * around.inner + inner;
      for (int64_t i = 0; i < n; ++i)
        in[i] = line[i * around.inner];
      transform.run(in.data(), out.data(), work.data());
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
  FourierTransform transform(n, op.getInverse());
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
      transform.run(line.data(), out.data(), work.data());
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
