//===- Scatter.cpp - Data-dependent writes -------------------------------===//
//
// Every scatter is a list of (position of an element of x, position of an
// update) in row-major order of the updates. Assignment moves bytes; the other
// kinds combine in the wide type and round to the element's after each update, as
// numpy and PyTorch do, and kernels that keep the sum in memory.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include <cstring>

namespace tcc::reference {

namespace {

template <typename W> W combine(prim::ScatterKind kind, W old, W update) {
  using enum prim::ScatterKind;
  if (kind == add)
    return wrapAdd(old, update);
  if (kind == mul)
    return wrapMul(old, update);
  if constexpr (!std::is_same_v<W, Complex>) {
    if (kind == max)
      return isNan(old) || old > update ? old : update;
    if (kind == min)
      return isNan(old) || old < update ? old : update;
  }
  return update;
}

/// Applies `updates` by `forEachTarget(apply)`, which calls `apply(position of
/// the first element, position of the first update, count)`.
template <typename ForEachTarget>
llvm::Expected<Tensor> scattered(prim::ScatterKind kind, const Tensor &x, const Tensor &updates,
                                 ForEachTarget forEachTarget) {
  using enum prim::ScatterKind;
  if (isComplex(x.dtype()) && (kind == max || kind == min))
    return undefinedOn(x.dtype());
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result)
    return result;
  if (kind == assign) {
    int64_t bytes = elementBytes(x.dtype());
    std::memcpy(result->mutableData(), x.data(), x.bytes());
    forEachTarget([&](int64_t to, int64_t from, int64_t count) {
      std::memcpy(at(*result, to), at(updates, from), count * bytes);
    });
    return result;
  }
  withWide(x.dtype(), [&]<typename W>() {
    std::vector<W> news = widened<W>(updates), values(kRun);
    std::memcpy(result->mutableData(), x.data(), x.bytes());
    forEachTarget([&](int64_t to, int64_t from, int64_t count) {
      for (int64_t first = 0; first < count; first += kRun) {
        int64_t length = std::min(kRun, count - first);
        char *target = at(*result, to + first);
        widen(x.dtype(), target, length, values.data());
        for (int64_t i = 0; i < length; ++i)
          values[i] = combine(kind, values[i], news[from + first + i]);
        narrow(x.dtype(), values.data(), length, target);
      }
    });
  });
  return result;
}

llvm::Expected<Tensor> scatterAlong(prim::ScatterAlongOp op, Operands operands) {
  const Tensor &x = operands[0], &indices = operands[1], &updates = operands[2];
  int64_t axis = op.getAxis();
  bool fits = indices.shape() == updates.shape();
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = i == axis || indices.dim(i) <= x.dim(i);
  if (!fits)
    return userError("indices of shape " + shapeText(indices.shape()) + " and updates of shape " +
                     shapeText(updates.shape()) + " do not fit a tensor of shape " +
                     shapeText(x.shape()));
  Strides strides = stridesOf(x.shape());
  std::vector<int64_t> targets = indices.integers();
  return scattered(op.getKind(), x, updates, [&](auto apply) {
    int64_t position = 0;
    forEachIndex(indices.shape(), [&](llvm::ArrayRef<int64_t> index) {
      int64_t target = targets[position], to = target * strides[axis];
      for (int64_t i = 0; i < x.rank(); ++i)
        to += i == axis ? 0 : index[i] * strides[i];
      if (target >= 0 && target < x.dim(axis))
        apply(to, position, 1);
      ++position;
    });
  });
}

llvm::Expected<Tensor> scatterNd(prim::ScatterNdOp op, Operands operands) {
  const Tensor &x = operands[0], &indices = operands[1], &updates = operands[2];
  int64_t depth = indices.shape().back();
  llvm::SmallVector<int64_t> expected(indices.shape().drop_back());
  llvm::append_range(expected, x.shape().drop_front(depth));
  if (updates.shape() != llvm::ArrayRef(expected))
    return userError("updates have shape " + shapeText(updates.shape()) + ", expected " +
                     shapeText(expected));
  Strides strides = stridesOf(x.shape());
  int64_t slice = *elementCount(x.shape().drop_front(depth));
  int64_t tuples = *elementCount(indices.shape().drop_back());
  std::vector<int64_t> values = indices.integers();
  return scattered(op.getKind(), x, updates, [&](auto apply) {
    const int64_t *tuple = values.data();
    for (int64_t t = 0; t < tuples; ++t) {
      int64_t to = 0;
      bool inside = true;
      for (int64_t k = 0; k < depth; ++k, ++tuple) {
        inside = inside && *tuple >= 0 && *tuple < x.dim(k);
        to += inside ? *tuple * strides[k] : 0;
      }
      if (inside)
        apply(to, t * slice, slice);
    }
  });
}

llvm::Expected<Tensor> scatterRuns(prim::ScatterRunsOp op, Operands operands) {
  const Tensor &x = operands[0], &begins = operands[1], &updates = operands[2];
  llvm::SmallVector<int64_t> expected(x.shape());
  expected[0] = updates.dim(0);
  if (begins.dim(0) != x.dim(0) || updates.shape() != llvm::ArrayRef(expected))
    return userError("runs that begin at " + shapeText(begins.shape()) + " of updates of shape " +
                     shapeText(updates.shape()) + " do not fit a tensor of shape " +
                     shapeText(x.shape()));
  int64_t slice = *elementCount(x.shape().drop_front()), count = updates.dim(0);
  std::vector<int64_t> first = begins.integers();
  first.push_back(count);
  for (int64_t &i : first)
    i = std::clamp<int64_t>(i, 0, count);
  return scattered(op.getKind(), x, updates, [&](auto apply) {
    for (int64_t row = 0; row < x.dim(0); ++row)
      for (int64_t update = first[row]; update < first[row + 1]; ++update)
        apply(row * slice, update * slice, slice);
  });
}

llvm::Expected<Tensor> insertSlice(prim::InsertSliceOp op, Operands operands) {
  const Tensor &x = operands[0], &update = operands[1];
  auto starts = mixedValues(op.getStaticStarts(), valuesOf(op.getStarts(), operands));
  Strides to = stridesOf(x.shape());
  int64_t offset = 0;
  for (auto [i, step] : llvm::enumerate(op.getSteps())) {
    int64_t last = 0;
    bool wraps = __builtin_mul_overflow(update.dim(i) - 1, step, &last) ||
                 __builtin_add_overflow(last, starts[i], &last);
    bool outside = wraps || std::min(starts[i], last) < 0 || std::max(starts[i], last) >= x.dim(i);
    if (outside && update.elements() != 0)
      return userError("a slice of shape " + shapeText(update.shape()) + " from " +
                       llvm::Twine(starts[i]) + " by " + llvm::Twine(step) + " on axis " +
                       llvm::Twine(i) + " leaves a tensor of shape " + shapeText(x.shape()));
    offset += update.elements() ? starts[i] * to[i] : 0;
    to[i] *= step;
  }
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result)
    return result;
  std::memcpy(result->mutableData(), x.data(), x.bytes());
  copyStrided(update.shape(), elementBytes(x.dtype()), {update.data(), stridesOf(update.shape())},
              {at(*result, offset), to});
  return result;
}

} // namespace

void addScatter(Evaluators &all) {
  using namespace prim;
  all.add<ScatterAlongOp, scatterAlong>();
  all.add<ScatterNdOp, scatterNd>();
  all.add<ScatterRunsOp, scatterRuns>();
  all.add<InsertSliceOp, insertSlice>();
}

} // namespace tcc::reference
