//===- Reduction.cpp - Reductions and scans ------------------------------===//
//
// A reduction walks x once in memory order, in rows of its innermost axis after
// merging axes that are reduced or kept together. A row is either folded into
// one accumulator or combined point by point with a row of accumulators. The
// accumulators are wide and rounded at the end.
//
//===----------------------------------------------------------------------===//
#include "Reference/Fold.h"
#include "Reference/StridedCopy.h"

namespace tcc::reference {

namespace {

/// x as merged axes, and for each the stride in the result: 0 when reduced.
struct Plan {
  llvm::SmallVector<int64_t, 6> extents, strides;
};

Plan plan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes) {
  Plan plan;
  int64_t stride = 1;
  bool lastReduced = false;
  for (int64_t i = static_cast<int64_t>(shape.size()); i-- > 0;) {
    bool reduced = llvm::is_contained(axes, i);
    if (!plan.extents.empty() && reduced == lastReduced) {
      plan.extents.back() *= shape[i];
    } else {
      plan.extents.push_back(shape[i]);
      plan.strides.push_back(reduced ? 0 : stride);
    }
    stride *= reduced ? 1 : shape[i];
    lastReduced = reduced;
  }
  if (plan.extents.empty())
    plan = {{1}, {1}};
  std::reverse(plan.extents.begin(), plan.extents.end());
  std::reverse(plan.strides.begin(), plan.strides.end());
  return plan;
}

template <typename W, typename F>
void reduceInto(const Tensor &x, const Plan &plan, W *accumulators, F f) {
  int64_t row = plan.extents.back(), position = 0;
  bool folds = plan.strides.back() == 0;
  W run[kRun];
  forEachIndex(llvm::ArrayRef(plan.extents).drop_back(), [&](llvm::ArrayRef<int64_t> index) {
    W *to = accumulators;
    for (auto [i, at] : llvm::enumerate(index))
      to += at * plan.strides[i];
    for (int64_t first = 0; first < row; first += kRun) {
      int64_t length = std::min(kRun, row - first);
      widen(x.dtype(), at(x, position + first), length, run);
      if (folds)
        *to = f(*to, fold(run, length, f));
      else
        for (int64_t i = 0; i < length; ++i)
          to[first + i] = f(to[first + i], run[i]);
    }
    position += row;
  });
}

llvm::Expected<Tensor> reduce(prim::ReduceOp op, Operands operands) {
  const Tensor &x = operands[0];
  prim::ReduceKind kind = op.getKind();
  if (llvm::Error error = checkFoldable(kind, x.dtype()))
    return error;
  llvm::SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(x.shape()))
    if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)))
      shape.push_back(extent);
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), shape);
  if (!result)
    return result;
  withWide(x.dtype(), [&]<typename W>() {
    std::vector<W> accumulators(result->elements(), neutral<W>(kind, x.dtype()));
    if (x.elements() != 0)
      withFold<W>(kind, [&](auto f) {
        reduceInto(x, plan(x.shape(), op.getAxes()), accumulators.data(), f);
      });
    narrow(x.dtype(), accumulators.data(), result->elements(), result->mutableData());
  });
  return result;
}

llvm::Expected<Tensor> argReduce(prim::ArgReduceOp op, Operands operands) {
  const Tensor &x = operands[0];
  if (isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  AroundAxis around(x.shape(), op.getAxis());
  llvm::SmallVector<int64_t> shape(x.shape());
  shape.erase(shape.begin() + op.getAxis());
  llvm::Expected<Tensor> result = Tensor::allocate(resultDType(op), shape);
  if (!result || result->elements() == 0)
    return result;
  if (around.extent == 0)
    return userError("there is no largest or smallest of no elements");
  bool wantsMax = op.getKind() == prim::ReduceKind::max, wantsLast = op.getLast();
  std::vector<int64_t> best(result->elements(), 0);
  withRealWide(x.dtype(), [&]<typename W>() {
    auto beats = [&](W a, W b) {
      if (isNan(a) || isNan(b))
        return isNan(a) && (wantsLast || !isNan(b));
      return a == b ? wantsLast : (a > b) == wantsMax;
    };
    std::vector<W> values = widened<W>(x);
    for (int64_t outer = 0; outer < around.outer; ++outer)
      for (int64_t i = 1; i < around.extent; ++i)
        for (int64_t inner = 0; inner < around.inner; ++inner) {
          const W *column = values.data() + outer * around.extent * around.inner + inner;
          int64_t &at = best[outer * around.inner + inner];
          if (beats(column[i * around.inner], column[at * around.inner]))
            at = i;
        }
  });
  narrow(result->dtype(), best.data(), result->elements(), result->mutableData());
  return result;
}

llvm::Expected<Tensor> cumulative(prim::CumulativeOp op, Operands operands) {
  const Tensor &x = operands[0];
  prim::ReduceKind kind = op.getKind();
  if (llvm::Error error = checkFoldable(kind, x.dtype()))
    return error;
  llvm::Expected<Tensor> result = Tensor::allocate(x.dtype(), x.shape());
  if (!result || result->elements() == 0)
    return result;
  AroundAxis around(x.shape(), op.getAxis());
  bool exclusive = op.getExclusive(), backwards = op.getReverse();
  withWide(x.dtype(), [&]<typename W>() {
    std::vector<W> values = widened<W>(x), sums(around.inner);
    withFold<W>(kind, [&](auto f) {
      for (int64_t outer = 0; outer < around.outer; ++outer) {
        std::fill(sums.begin(), sums.end(), neutral<W>(kind, x.dtype()));
        for (int64_t i = 0; i < around.extent; ++i) {
          int64_t at = backwards ? around.extent - 1 - i : i;
          W *row = values.data() + (outer * around.extent + at) * around.inner;
          for (int64_t inner = 0; inner < around.inner; ++inner) {
            W next = f(sums[inner], row[inner]);
            row[inner] = exclusive ? sums[inner] : next;
            sums[inner] = next;
          }
        }
      }
    });
    narrow(x.dtype(), values.data(), x.elements(), result->mutableData());
  });
  return result;
}

} // namespace

llvm::Error checkFoldable(prim::ReduceKind kind, DType type) {
  using enum prim::ReduceKind;
  bool ordered = kind == max || kind == min, logical = kind == any || kind == all;
  if ((ordered && isComplex(type)) || (logical && type != DType::Bool))
    return undefinedOn(type);
  return llvm::Error::success();
}

template <> double lowest<double>(DType type) {
  if (type == DType::F8E8M0FNU)
    return 0x1p-127;
  double value = -HUGE_VAL;
  char stored[8];
  narrow(type, &value, 1, stored);
  widen(type, stored, 1, &value);
  if (std::isinf(value))
    return value;
  value = -1e300;
  narrow(type, &value, 1, stored, /*saturate=*/true);
  widen(type, stored, 1, &value);
  return value;
}
template <> double highest<double>(DType type) {
  double value = type == DType::F8E8M0FNU ? 0x1p127 : -lowest<double>(type);
  return value;
}
template <> int64_t lowest<int64_t>(DType type) { return INT64_MIN >> (64 - bitWidth(type)); }
template <> int64_t highest<int64_t>(DType type) { return INT64_MAX >> (64 - bitWidth(type)); }
template <> uint64_t lowest<uint64_t>(DType) { return 0; }
template <> uint64_t highest<uint64_t>(DType type) {
  return type == DType::Bool ? 1 : UINT64_MAX >> (64 - bitWidth(type));
}

void addReductions(Evaluators &all) {
  using namespace prim;
  all.add<ReduceOp, reduce>();
  all.add<ArgReduceOp, argReduce>();
  all.add<CumulativeOp, cumulative>();
}

} // namespace tcc::reference
