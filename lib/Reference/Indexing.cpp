//===- Indexing.cpp - Data-dependent reads -------------------------------===//
#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include <cstring>

namespace tcc::reference {

namespace {

/// `indices` clamped into [0, extent).
std::vector<int64_t> clampedIndices(const Tensor &indices, int64_t extent) {
  std::vector<int64_t> values = indices.integers();
  for (int64_t &value : values)
    value = std::clamp<int64_t>(value, 0, extent - 1);
  return values;
}

llvm::Error readsNothing(const Tensor &x) {
  return userError("reads from a tensor without elements, of shape " + shapeText(x.shape()));
}

llvm::Expected<Tensor> take(prim::TakeOp op, Operands operands) {
  const Tensor &x = operands[0], &indices = operands[1];
  int64_t axis = op.getAxis();
  llvm::SmallVector<int64_t> shape(x.shape().take_front(axis));
  llvm::append_range(shape, indices.shape());
  llvm::append_range(shape, x.shape().drop_front(axis + 1));
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), shape);
  if (!result || result->elements() == 0)
    return result;
  if (x.elements() == 0)
    return readsNothing(x);
  AroundAxis around(x.shape(), axis);
  std::vector<int64_t> at = clampedIndices(indices, around.extent);
  int64_t slice = around.inner * elementBytes(x.dtype());
  const char *from = x.data();
  char *to = result->mutableData();
  for (int64_t outer = 0; outer < around.outer; ++outer, from += around.extent * slice)
    for (int64_t index : at) {
      std::memcpy(to, from + index * slice, slice);
      to += slice;
    }
  return result;
}

llvm::Expected<Tensor> takeAlong(prim::TakeAlongOp op, Operands operands) {
  const Tensor &x = operands[0], &indices = operands[1];
  int64_t axis = op.getAxis();
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != axis && indices.dim(i) > x.dim(i))
      return userError("indices of shape " + shapeText(indices.shape()) +
                       " reach past a tensor of shape " + shapeText(x.shape()));
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), indices.shape());
  if (!result || result->elements() == 0)
    return result;
  if (x.elements() == 0)
    return readsNothing(x);
  std::vector<int64_t> at = clampedIndices(indices, x.dim(axis));
  Strides strides = stridesOf(x.shape());
  int64_t along = strides[axis];
  strides[axis] = 0;
  withBytes(elementBytes(x.dtype()), [&]<typename T>() {
    int64_t position = 0;
    forEachIndex(indices.shape(), [&](llvm::ArrayRef<int64_t> index) {
      int64_t from = at[position] * along;
      for (auto [i, stride] : llvm::zip_equal(index, strides))
        from += i * stride;
      result->mutableAs<T>()[position++] = x.as<T>()[from];
    });
  });
  return result;
}

llvm::Expected<Tensor> gatherNd(prim::GatherNdOp op, Operands operands) {
  const Tensor &x = operands[0], &indices = operands[1];
  int64_t batchDims = op.getBatchDims(), depth = indices.shape().back();
  auto batch = x.shape().take_front(batchDims);
  if (batch != indices.shape().take_front(batchDims))
    return userError("shapes " + shapeText(x.shape()) + " and " + shapeText(indices.shape()) +
                     " differ on the batch axes");
  auto sliceShape = x.shape().drop_front(batchDims + depth);
  llvm::SmallVector<int64_t> shape(indices.shape().drop_back());
  llvm::append_range(shape, sliceShape);
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), shape);
  if (!result || result->elements() == 0)
    return result;
  if (x.elements() == 0)
    return readsNothing(x);
  Strides strides = stridesOf(x.shape());
  int64_t batches = *elementCount(batch), bytes = elementBytes(x.dtype());
  int64_t tuples = *elementCount(indices.shape().drop_back()) / batches;
  int64_t slice = *elementCount(sliceShape) * bytes;
  std::vector<int64_t> values = indices.integers();
  const int64_t *tuple = values.data();
  char *to = result->mutableData();
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t t = 0; t < tuples; ++t, to += slice) {
      int64_t from = b * (x.elements() / batches);
      for (int64_t k = 0; k < depth; ++k, ++tuple)
        from += std::clamp<int64_t>(*tuple, 0, x.dim(batchDims + k) - 1) * strides[batchDims + k];
      std::memcpy(to, at(x, from), slice);
    }
  return result;
}

llvm::Expected<Tensor> nonzero(prim::NonzeroOp, Operands operands) {
  const Tensor &x = operands[0];
  std::vector<int64_t> positions;
  withWide(x.dtype(), [&]<typename W>() {
    W run[kRun];
    for (int64_t first = 0; first < x.elements(); first += kRun) {
      int64_t length = std::min(kRun, x.elements() - first);
      widen(x.dtype(), at(x, first), length, run);
      for (int64_t i = 0; i < length; ++i)
        if (run[i] != W(0))
          positions.push_back(first + i);
    }
  });
  auto count = static_cast<int64_t>(positions.size());
  llvm::Expected<Tensor> result = Tensor::allocate(DType::I64, {x.rank(), count});
  if (!result)
    return result;
  int64_t *to = result->mutableAs<int64_t>();
  for (auto [stride, extent] : llvm::zip_equal(stridesOf(x.shape()), x.shape()))
    for (int64_t position : positions)
      *to++ = position / stride % extent;
  return result;
}

} // namespace

void addIndexing(Evaluators &all) {
  using namespace prim;
  all.add<TakeOp, take>();
  all.add<TakeAlongOp, takeAlong>();
  all.add<GatherNdOp, gatherNd>();
  all.add<NonzeroOp, nonzero>();
}

} // namespace tcc::reference
