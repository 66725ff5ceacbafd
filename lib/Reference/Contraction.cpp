//===- Contraction.cpp - Generalised matrix products and convolutions ----===//
//
// Both become matrix products: dot by permuting each side to [batch, free,
// contracted], convolution by gathering, for a block of output points, the
// inputs that each sees into a matrix (im2col).
//
//===----------------------------------------------------------------------===//
#include "Reference/Contraction.h"
#include "Reference/Evaluators.h"
#include "Reference/Gemm.h"
#include "Reference/SlidingWindow.h"
#include "Reference/StridedCopy.h"

namespace tcc::reference {

namespace {

using Axes = llvm::SmallVector<int64_t, 6>;

Axes freeAxes(int64_t rank, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contract) {
  Axes free;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i))
      free.push_back(i);
  return free;
}

/// x with its axes in the order of `groups`, and the extent of each group.
struct Grouped {
  Tensor values;
  llvm::SmallVector<int64_t, 3> extents;
};

llvm::Expected<Grouped> grouped(const Tensor &x, llvm::ArrayRef<Axes> groups) {
  llvm::SmallVector<int64_t> shape;
  Strides all = stridesOf(x.shape()), from;
  Grouped result;
  for (const Axes &group : groups) {
    int64_t extent = 1;
    for (int64_t axis : group) {
      extent *= x.dim(axis);
      shape.push_back(x.dim(axis));
      from.push_back(all[axis]);
    }
    result.extents.push_back(extent);
  }
  if (llvm::ArrayRef(from) == llvm::ArrayRef(all)) {
    result.values = x;
    return result;
  }
  llvm::Expected<Tensor> copy = Tensor::allocate(x.dtype(), shape);
  if (!copy)
    return copy.takeError();
  copyStrided(shape, elementBytes(x.dtype()), {x.data(), from},
              {copy->mutableData(), stridesOf(shape)});
  result.values = std::move(*copy);
  return result;
}

/// Calls `f.operator()<W>()` with the type that products for `type` are summed
/// in: integers modulo 2^64 whatever their sign, or in double where that is
/// exact, which is faster.
template <typename F> void withSum(DType type, F f) {
  if (isFloat(type) || bitWidth(type) <= 8)
    f.template operator()<double>();
  else if (isComplex(type))
    f.template operator()<Complex>();
  else
    f.template operator()<uint64_t>();
}

/// Sums as elements of `type`; integers wrap, also those summed in double.
template <typename W> void narrowSums(DType type, const W *sums, int64_t count, char *to) {
  if (isFloat(type) || isComplex(type) || !std::is_same_v<W, double>)
    return narrow(type, sums, count, to);
  int64_t whole[kRun];
  for (int64_t first = 0; first < count; first += kRun) {
    int64_t length = std::min(kRun, count - first);
    narrow(DType::I64, sums + first, length, reinterpret_cast<char *>(whole));
    narrow(type, whole, length, to + first * elementBytes(type));
  }
}

bool sameDomain(DType a, DType b) {
  return isFloat(a) == isFloat(b) && isComplex(a) == isComplex(b);
}

llvm::Error checkPairs(prim::DotOp op, const Tensor &lhs, const Tensor &rhs) {
  auto check = [&](llvm::ArrayRef<int64_t> l, llvm::ArrayRef<int64_t> r) -> llvm::Error {
    for (auto [i, j] : llvm::zip_equal(l, r))
      if (lhs.dim(i) != rhs.dim(j))
        return userError("pairs axis " + llvm::Twine(i) + " of shape " + shapeText(lhs.shape()) +
                         " with axis " + llvm::Twine(j) + " of shape " + shapeText(rhs.shape()));
    return llvm::Error::success();
  };
  if (llvm::Error error = check(op.getLhsBatch(), op.getRhsBatch()))
    return error;
  bool isByte = rhs.dtype() == DType::I8 || rhs.dtype() == DType::U8;
  bool widens = isFloat(lhs.dtype()) && isByte;
  if ((!widens && !sameDomain(lhs.dtype(), rhs.dtype())) ||
      !sameDomain(lhs.dtype(), resultDType(op)))
    return undefinedOn(rhs.dtype());
  return check(op.getLhsContract(), op.getRhsContract());
}

llvm::Expected<Tensor> dot(prim::DotOp op, Operands operands) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  if (llvm::Error error = checkPairs(op, lhs, rhs))
    return error;
  Axes lhsFree = freeAxes(lhs.rank(), op.getLhsBatch(), op.getLhsContract());
  Axes rhsFree = freeAxes(rhs.rank(), op.getRhsBatch(), op.getRhsContract());
  auto a = grouped(lhs, {Axes(op.getLhsBatch()), lhsFree, Axes(op.getLhsContract())});
  if (!a)
    return a.takeError();
  auto b = grouped(rhs, {Axes(op.getRhsBatch()), Axes(op.getRhsContract()), rhsFree});
  if (!b)
    return b.takeError();
  llvm::SmallVector<int64_t> shape;
  for (int64_t axis : op.getLhsBatch())
    shape.push_back(lhs.dim(axis));
  for (int64_t axis : lhsFree)
    shape.push_back(lhs.dim(axis));
  for (int64_t axis : rhsFree)
    shape.push_back(rhs.dim(axis));
  llvm::Expected<Tensor> result = Tensor::allocate(resultDType(op), shape);
  if (!result || result->elements() == 0)
    return result;
  int64_t m = a->extents[1], k = a->extents[2], n = b->extents[2];
  withSum(lhs.dtype(), [&]<typename W>() {
    std::vector<W> product(m * n);
    for (int64_t batch = 0; batch < a->extents[0]; ++batch) {
      Matrix left{at(a->values, batch * m * k), lhs.dtype(), k};
      Matrix right{at(b->values, batch * k * n), rhs.dtype(), n};
      gemm(m, n, k, left, right, product.data());
      narrowSums(result->dtype(), product.data(), m * n, at(*result, batch * m * n));
    }
  });
  return result;
}

/// One convolution, channels first, with everything that its loops need.
struct Loops {
  SlidingWindow window;
  int64_t batch, groups, inChannels, outChannels; ///< channels of one group
  int64_t zero;                                   ///< what x has where it is nothing
};

/// The [inChannels * taps, count] matrix of what `count` outputs see of `x`:
/// `sources` has the position seen by each tap of each output.
template <typename W>
void gather(const Loops &conv, const W *x, const int64_t *sources, int64_t count, W *columns) {
  int64_t taps = conv.window.taps(), inputs = conv.window.inputs();
  for (int64_t channel = 0; channel < conv.inChannels; ++channel, x += inputs)
    for (int64_t i = 0; i < taps * count; ++i)
      *columns++ = sources[i] < 0 ? W(0) : x[sources[i]];
}

template <typename W> constexpr DType storedAs = DType::F64;
template <> constexpr DType storedAs<uint64_t> = DType::U64;
template <> constexpr DType storedAs<Complex> = DType::C128;

template <typename W>
void convolve(const Loops &conv, const Tensor &x, const Tensor &w, Tensor &result) {
  int64_t inputs = conv.window.inputs(), outputs = conv.window.outputs();
  int64_t taps = conv.window.taps(), depth = conv.inChannels * taps;
  int64_t block = std::clamp<int64_t>((1 << 19) / std::max<int64_t>(depth, 1), 16, 512);
  std::vector<W> images = widened<W>(x), columns(depth * block), sums(conv.outChannels * block);
  std::vector<int64_t> sources(taps * block);
  if (conv.zero != 0)
    for (W &value : images)
      value -= W(static_cast<double>(conv.zero));
  for (int64_t begin = 0; begin < outputs; begin += block) {
    int64_t count = std::min(block, outputs - begin);
    for (int64_t tap = 0; tap < taps; ++tap)
      conv.window.sources(tap, begin, begin + count, sources.data() + tap * count);
    for (int64_t slice = 0; slice < conv.batch * conv.groups; ++slice) {
      gather(conv, images.data() + slice * conv.inChannels * inputs, sources.data(), count,
             columns.data());
      int64_t filter = slice % conv.groups * conv.outChannels * depth;
      gemm(conv.outChannels, count, depth, Matrix{at(w, filter), w.dtype(), depth},
           Matrix{reinterpret_cast<const char *>(columns.data()), storedAs<W>, count}, sums.data());
      for (int64_t o = 0; o < conv.outChannels; ++o)
        narrowSums(result.dtype(), sums.data() + o * count, count,
                   at(result, (slice * conv.outChannels + o) * outputs + begin));
    }
  }
}

llvm::Expected<Tensor> conv(prim::ConvOp op, Operands operands) {
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  Convolution attributes{op.getStrides(),
                         op.getDilations(),
                         op.getInputDilation(),
                         op.getLow(),
                         static_cast<int64_t>(op.getGroups()),
                         op.getChannelsLast(),
                         static_cast<int64_t>(op.getZero())};
  return convolution(operands[0], operands[1], attributes, resultDType(op), *shape);
}

} // namespace

llvm::Expected<Tensor> convolution(const Tensor &x, const Tensor &w, const Convolution &attributes,
                                   DType type, llvm::ArrayRef<int64_t> resultShape) {
  llvm::SmallVector<int64_t> shape(resultShape);
  bool last = attributes.channelsLast;
  llvm::Expected<Tensor> image = last ? channelsFirst(x) : x;
  if (!image)
    return image;
  if (last)
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  int64_t groups = attributes.groups;
  if (shape[0] != image->dim(0) || shape[1] != w.dim(0) || w.dim(0) % groups != 0 ||
      image->dim(1) != w.dim(1) * groups || !sameDomain(x.dtype(), w.dtype()))
    return userError("x of shape " + shapeText(image->shape()) + ", w of shape " +
                     shapeText(w.shape()) + " and " + llvm::Twine(groups) +
                     " groups do not give shape " + shapeText(shape));
  llvm::SmallVector<SlidingWindow::Axis> axes;
  for (size_t i = 0; i < attributes.strides.size(); ++i)
    axes.push_back({image->dim(i + 2), shape[i + 2], w.dim(i + 2), attributes.strides[i],
                    attributes.dilations[i], attributes.inputDilation[i], attributes.low[i]});
  llvm::Expected<Tensor> result = Tensor::allocate(type, shape);
  if (!result)
    return result;
  Loops loops{SlidingWindow(axes), image->dim(0),  groups, w.dim(1),
              w.dim(0) / groups,   attributes.zero};
  if (result->elements() != 0)
    withSum(x.dtype(), [&]<typename W>() { convolve<W>(loops, *image, w, *result); });
  return last ? channelsLast(*result) : std::move(result);
}

llvm::Expected<Tensor> matrixProduct(const Tensor &lhs, const Tensor &rhs, DType type,
                                     llvm::ArrayRef<int64_t> resultShape) {
  int64_t k = rhs.dim(0), n = rhs.dim(1);
  if (!sameDomain(lhs.dtype(), rhs.dtype()))
    return undefinedOn(rhs.dtype());
  llvm::Expected<Tensor> result = Tensor::allocate(type, resultShape);
  if (!result || result->elements() == 0)
    return result;
  int64_t m = result->elements() / n;
  withSum(lhs.dtype(), [&]<typename W>() {
    std::vector<W> sums(m * n);
    gemm(m, n, k, {lhs.data(), lhs.dtype(), k}, {rhs.data(), rhs.dtype(), n}, sums.data());
    narrowSums(type, sums.data(), m * n, result->mutableData());
  });
  return result;
}

void addContractions(Evaluators &all) {
  all.add<prim::DotOp, dot>();
  all.add<prim::ConvOp, conv>();
}

} // namespace tcc::reference
