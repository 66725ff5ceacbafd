#include "Reference/Fold.h"
#include "Reference/SlidingWindow.h"
#include "Reference/StridedCopy.h"

namespace tcc::reference {

int64_t SlidingWindow::product(int64_t Axis::*extent) const {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product *= axis.*extent;
  return product;
}

/// The input coordinate that output coordinate `o` sees at window offset `k`.
static int64_t source(const SlidingWindow::Axis &axis, int64_t o, int64_t k) {
  int64_t at = o * axis.stride + k * axis.dilation - axis.low;
  if (at < 0 || at % axis.inputDilation != 0)
    return -1;
  at /= axis.inputDilation;
  return at < axis.input ? at : -1;
}

void SlidingWindow::sources(int64_t tap, int64_t begin, int64_t end, int64_t *to) const {
  if (axes.empty()) {
    std::fill(to, to + (end - begin), 0);
    return;
  }
  llvm::SmallVector<int64_t, 3> offset(axes.size()), at(axes.size());
  for (size_t i = axes.size(); i-- > 0; tap /= axes[i].window)
    offset[i] = tap % axes[i].window;
  const Axis &last = axes.back();
  for (int64_t first = begin; first < end;) {
    int64_t row = first / last.output, column = first % last.output, base = 0;
    for (size_t i = axes.size() - 1; i-- > 0; row /= axes[i].output)
      at[i] = source(axes[i], row % axes[i].output, offset[i]);
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      base = base < 0 || at[i] < 0 ? -1 : base * axes[i].input + at[i];
    for (; column < last.output && first < end; ++column, ++first) {
      int64_t inner = base < 0 ? -1 : source(last, column, offset.back());
      *to++ = inner < 0 ? -1 : base * last.input + inner;
    }
  }
}

/// x with axis `from` moved to `to`.
static llvm::Expected<Tensor> withAxisMoved(const Tensor &x, int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> shape(x.shape());
  Strides strides = stridesOf(shape);
  auto move = [&](auto &list) {
    auto value = list[from];
    list.erase(list.begin() + from);
    list.insert(list.begin() + to, value);
  };
  move(shape);
  move(strides);
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), shape);
  if (result)
    copyStrided(shape, elementBytes(x.dtype()), {x.data(), strides},
                {result->mutableData(), stridesOf(shape)});
  return result;
}

llvm::Expected<Tensor> channelsFirst(const Tensor &x) { return withAxisMoved(x, x.rank() - 1, 1); }
llvm::Expected<Tensor> channelsLast(const Tensor &x) { return withAxisMoved(x, 1, x.rank() - 1); }

/// x [N, C, spatial...] reduced over `window` into `result`.
static void poolInto(prim::ReduceKind kind, const Tensor &x, const SlidingWindow &window,
                     Tensor &result) {
  int64_t outputs = window.outputs(), inputs = window.inputs(), taps = window.taps();
  int64_t planes = x.dim(0) * x.dim(1);
  std::vector<int64_t> sources(outputs);
  withWide(x.dtype(), [&]<typename W>() {
    std::vector<W> values = widened<W>(x);
    std::vector<W> sums(result.elements(), neutral<W>(kind, x.dtype()));
    withFold<W>(kind, [&](auto f) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        window.sources(tap, 0, outputs, sources.data());
        for (int64_t plane = 0; plane < planes; ++plane)
          for (int64_t i = 0; i < outputs; ++i) {
            W &sum = sums[plane * outputs + i];
            sum = sources[i] < 0 ? sum : f(sum, values[plane * inputs + sources[i]]);
          }
      }
    });
    narrow(result.dtype(), sums.data(), result.elements(), result.mutableData());
  });
}

static llvm::Expected<Tensor> pool(prim::PoolOp op, Operands operands) {
  if (llvm::Error error = checkFoldable(op.getKind(), operands[0].dtype()))
    return error;
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  llvm::Expected<Tensor> x = op.getChannelsLast() ? channelsFirst(operands[0]) : operands[0];
  if (!x)
    return x;
  if (op.getChannelsLast())
    std::rotate(shape->begin() + 1, shape->end() - 1, shape->end());
  llvm::SmallVector<SlidingWindow::Axis> axes;
  for (auto [i, extent] : llvm::enumerate(op.getWindow()))
    axes.push_back({x->dim(i + 2), (*shape)[i + 2], extent, op.getStrides()[i],
                    op.getDilations()[i], 1, op.getLow()[i]});
  if ((*shape)[0] != x->dim(0) || (*shape)[1] != x->dim(1))
    return userError("result shape " + shapeText(*shape) + " does not fit " +
                     shapeText(x->shape()));
  llvm::Expected<Tensor> result = Tensor::allocate(x->dtype(), *shape);
  if (!result)
    return result;
  if (result->elements() != 0)
    poolInto(op.getKind(), *x, SlidingWindow(axes), *result);
  return op.getChannelsLast() ? channelsLast(*result) : std::move(result);
}

void addWindows(Evaluators &all) { all.add<prim::PoolOp, pool>(); }

} // namespace tcc::reference
