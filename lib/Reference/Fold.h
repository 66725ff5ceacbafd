//===- Fold.h - The operators of reductions, scans and windows -*- C++ -*-===//
#pragma once
#include "Reference/Evaluators.h"
#include <cmath>

namespace tcc::reference {

/// An error where `kind` is not defined on `type`.
llvm::Error checkFoldable(prim::ReduceKind kind, DType type);

/// The lowest and highest value of `type`, infinite where it has infinities.
template <typename W> W lowest(DType type);
template <typename W> W highest(DType type);
template <> double lowest<double>(DType type);
template <> double highest<double>(DType type);
template <> int64_t lowest<int64_t>(DType type);
template <> int64_t highest<int64_t>(DType type);
template <> uint64_t lowest<uint64_t>(DType type);
template <> uint64_t highest<uint64_t>(DType type);

/// What a reduction of nothing gives.
template <typename W> W neutral(prim::ReduceKind kind, DType type) {
  using enum prim::ReduceKind;
  if constexpr (!std::is_same_v<W, Complex>) {
    if (kind == max)
      return lowest<W>(type);
    if (kind == min)
      return highest<W>(type);
  }
  return kind == prod || kind == all ? W(1) : W(0);
}

/// Calls `use(f)` with the associative function of `kind` on W.
template <typename W, typename Use> void withFold(prim::ReduceKind kind, Use use) {
  using enum prim::ReduceKind;
  if (kind == sum)
    return use([](W a, W b) { return wrapAdd(a, b); });
  if (kind == prod)
    return use([](W a, W b) { return wrapMul(a, b); });
  if constexpr (!std::is_same_v<W, Complex>) {
    if (kind == max)
      return use([](W a, W b) { return isNan(a) || a > b ? a : b; });
    if (kind == min)
      return use([](W a, W b) { return isNan(a) || a < b ? a : b; });
  }
  if constexpr (std::is_same_v<W, uint64_t>) {
    if (kind == any)
      return use([](W a, W b) { return a | b; });
    if (kind == all)
      return use([](W a, W b) { return a & b; });
  }
}

/// `f` over `count` >= 1 elements, in eight interleaved chains that a processor
/// can run at once.
template <typename W, typename F> W fold(const W *x, int64_t count, F f) {
  constexpr int64_t lanes = 8;
  if (count < 2 * lanes) {
    W result = x[0];
    for (int64_t i = 1; i < count; ++i)
      result = f(result, x[i]);
    return result;
  }
  W lane[lanes];
  std::copy_n(x, lanes, lane);
  int64_t i = lanes;
  for (; i + lanes <= count; i += lanes)
    for (int64_t k = 0; k < lanes; ++k)
      lane[k] = f(lane[k], x[i + k]);
  W result = fold(lane, lanes, f);
  for (; i < count; ++i)
    result = f(result, x[i]);
  return result;
}

} // namespace tcc::reference
