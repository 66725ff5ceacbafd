//===- Sort.cpp - sort, kth and top_k ------------------------------------===//
//
// All order a line of elements through a vector of their indices. NaN is
// the largest value and equal to itself.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include <numeric>

namespace tcc::reference {

namespace {

template <typename W> bool less(W a, W b) { return isNan(b) ? !isNan(a) : a < b; }

/// The first `k` of the indices that sort `count` elements `stride` apart,
/// ties by lower index.
template <typename W>
void sortedIndices(const W *x, int64_t count, int64_t stride, int64_t k, bool descending,
                   std::vector<int64_t> &indices) {
  indices.resize(count);
  std::iota(indices.begin(), indices.end(), 0);
  auto before = [&](int64_t i, int64_t j) {
    W a = x[i * stride], b = x[j * stride];
    bool first = descending ? less(b, a) : less(a, b);
    bool second = descending ? less(a, b) : less(b, a);
    return first || (!second && i < j);
  };
  std::partial_sort(indices.begin(), indices.begin() + k, indices.end(), before);
}

/// Values and indices of the first `k` elements along `axis` in order, but for the first `from` of
/// them.
llvm::Expected<Results> sorted(const Tensor &x, int64_t axis, int64_t k, bool descending,
                               int64_t from = 0) {
  if (isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  llvm::SmallVector<int64_t> shape(x.shape());
  shape[axis] = k - from;
  llvm::Expected<Tensor> values = Tensor::allocate(x.dtype(), shape);
  llvm::Expected<Tensor> indices = Tensor::allocate(DType::I64, shape);
  if (!values || !indices)
    return llvm::joinErrors(values.takeError(), indices.takeError());
  if (values->elements() == 0)
    return Results{std::move(*values), std::move(*indices)};
  AroundAxis around(x.shape(), axis);
  withRealWide(x.dtype(), [&]<typename W>() {
    std::vector<W> wide = widened<W>(x);
    std::vector<int64_t> order;
    for (int64_t outer = 0; outer < around.outer; ++outer)
      for (int64_t inner = 0; inner < around.inner; ++inner) {
        const W *line = wide.data() + outer * around.extent * around.inner + inner;
        sortedIndices(line, around.extent, around.inner, k, descending, order);
        for (int64_t i = from; i < k; ++i) {
          int64_t to = (outer * (k - from) + i - from) * around.inner + inner;
          indices->mutableAs<int64_t>()[to] = order[i];
        }
      }
  });
  // The elements themselves: bits survive that widening would not keep.
  withBytes(elementBytes(x.dtype()), [&]<typename T>() {
    const int64_t *order = indices->as<int64_t>();
    for (int64_t i = 0, e = values->elements(); i < e; ++i) {
      int64_t inner = i % around.inner, outer = i / around.inner / (k - from);
      values->mutableAs<T>()[i] =
          x.as<T>()[(outer * around.extent + order[i]) * around.inner + inner];
    }
  });
  return Results{std::move(*values), std::move(*indices)};
}

llvm::Expected<Results> sort(prim::SortOp op, Operands operands) {
  int64_t axis = op.getAxis();
  return sorted(operands[0], axis, operands[0].dim(axis), op.getDescending());
}

llvm::Expected<Results> kth(prim::KthOp op, Operands operands) {
  const Tensor &x = operands[0];
  int64_t axis = tensorType(op.getX()).getRank() - 1, k = operands[1].integer(0);
  if (k < 0 || k >= x.dim(axis))
    return userError("takes element " + llvm::Twine(k) + " of the order of axis " +
                     llvm::Twine(axis) + " of a tensor of shape " + shapeText(x.shape()));
  return sorted(x, axis, k + 1, op.getDescending(), k);
}

llvm::Expected<Results> topK(prim::TopKOp op, Operands operands) {
  const Tensor &x = operands[0];
  int64_t axis = op.getAxis();
  int64_t k = op.getK() ? operands[1].integer(0) : tensorType(op.getValues()).getDimSize(axis);
  if (k < 0 || k > x.dim(axis))
    return userError("takes " + llvm::Twine(k) + " elements of axis " + llvm::Twine(axis) +
                     " of a tensor of shape " + shapeText(x.shape()));
  return sorted(x, axis, k, op.getLargest());
}

} // namespace

void addSort(Evaluators &all) {
  using namespace prim;
  all.add<SortOp, sort>();
  all.add<KthOp, kth>();
  all.add<TopKOp, topK>();
}

} // namespace tcc::reference
