//===- Sort.cpp - sort, top_k and unique ---------------------------------===//
//
// All three order a line of elements through a vector of their indices. NaN is
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

/// Values and indices of the first `k` elements along `axis` in order.
llvm::Expected<Results> sorted(const Tensor &x, int64_t axis, int64_t k, bool descending) {
  if (isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  llvm::SmallVector<int64_t> shape(x.shape());
  shape[axis] = k;
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
        for (int64_t i = 0; i < k; ++i) {
          int64_t to = (outer * k + i) * around.inner + inner;
          indices->mutableAs<int64_t>()[to] = order[i];
        }
      }
  });
  // The elements themselves: bits survive that widening would not keep.
  withBytes(elementBytes(x.dtype()), [&]<typename T>() {
    const int64_t *order = indices->as<int64_t>();
    for (int64_t i = 0, e = values->elements(); i < e; ++i) {
      int64_t inner = i % around.inner, outer = i / around.inner / k;
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

llvm::Expected<Results> topK(prim::TopKOp op, Operands operands) {
  const Tensor &x = operands[0];
  int64_t axis = op.getAxis();
  int64_t k = op.getK() ? operands[1].integer(0) : tensorType(op.getValues()).getDimSize(axis);
  if (k < 0 || k > x.dim(axis))
    return userError("takes " + llvm::Twine(k) + " elements of axis " + llvm::Twine(axis) +
                     " of a tensor of shape " + shapeText(x.shape()));
  return sorted(x, axis, k, op.getLargest());
}

/// What prim.unique gives but the values, as indices of rows of x.
struct Distinct {
  std::vector<int64_t> first, inverse, counts;
};

/// Rows of `width` elements, grouped by equality.
template <typename W> Distinct distinctRows(const W *x, int64_t rows, int64_t width, bool sorted) {
  auto compare = [&](int64_t i, int64_t j) {
    for (int64_t c = 0; c < width; ++c) {
      W a = x[i * width + c], b = x[j * width + c];
      if (less(a, b) || less(b, a))
        return less(a, b) ? -1 : 1;
    }
    return 0;
  };
  std::vector<int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    int order = compare(i, j);
    return order < 0 || (order == 0 && i < j);
  });
  // Groups in sorted order: their first rows, and the group of each row.
  std::vector<int64_t> heads, group(rows), counts;
  for (int64_t i = 0; i < rows; ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      heads.push_back(order[i]);
      counts.push_back(0);
    }
    group[order[i]] = static_cast<int64_t>(heads.size()) - 1;
    ++counts.back();
  }
  std::vector<int64_t> ranks(heads.size()), position(heads.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (!sorted)
    std::sort(ranks.begin(), ranks.end(),
              [&](int64_t a, int64_t b) { return heads[a] < heads[b]; });
  Distinct result;
  for (int64_t rank : ranks) {
    position[rank] = static_cast<int64_t>(result.first.size());
    result.first.push_back(heads[rank]);
    result.counts.push_back(counts[rank]);
  }
  for (int64_t of : group)
    result.inverse.push_back(position[of]);
  return result;
}

llvm::Expected<Results> unique(prim::UniqueOp op, Operands operands) {
  const Tensor &x = operands[0];
  if (isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  int64_t rows = x.dim(0), width = x.rank() == 2 ? x.dim(1) : 1;
  Distinct distinct = withRealWide(x.dtype(), [&]<typename W>() {
    return distinctRows(widened<W>(x).data(), rows, width, op.getSorted());
  });
  llvm::SmallVector<int64_t> shape(x.shape());
  shape[0] = static_cast<int64_t>(distinct.first.size());
  llvm::Expected<Tensor> values = Tensor::allocate(x.dtype(), shape);
  if (!values)
    return values.takeError();
  int64_t bytes = width * elementBytes(x.dtype());
  for (auto [i, row] : llvm::enumerate(distinct.first))
    std::copy_n(x.data() + row * bytes, bytes, values->mutableData() + i * bytes);
  auto list = [](const std::vector<int64_t> &entries) {
    return Tensor::ofIntegers(DType::I64, static_cast<int64_t>(entries.size()), entries);
  };
  return Results{std::move(*values), list(distinct.first), list(distinct.inverse),
                 list(distinct.counts)};
}

} // namespace

void addSort(Evaluators &all) {
  using namespace prim;
  all.add<SortOp, sort>();
  all.add<TopKOp, topK>();
  all.add<UniqueOp, unique>();
}

} // namespace tcc::reference
