//===- EdgeValues.h - Arguments where arithmetic goes wrong ----*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"

namespace tcc::test {

/// Every bit pattern of a type of at most 8 bits; of wider ones zeros, ones, the bounds
/// of this and of other types and what lies beside them, halves, infinities, NaN,
/// subnormals, and `random` bit patterns.
reference::Tensor edgeValues(DType type, unsigned random = 0);

/// Elements of `x` in the order that `positions` gives.
reference::Tensor pick(const reference::Tensor &x, llvm::ArrayRef<int64_t> positions);

/// Both operands of a binary operator: all pairs of edge values, but of no more than
/// `limit` points.
std::pair<reference::Tensor, reference::Tensor> edgePairs(DType type, int64_t limit = 4000);

/// Steps between `x` and `y` on the ladder of all values of the type, NaN to NaN being
/// none; a sign of zero counts as a step where `signedZeros`. UINT64_MAX where one alone is
/// NaN.
uint64_t stepsBetween(const reference::Tensor &x, const reference::Tensor &y, int64_t position,
                      bool signedZeros);

} // namespace tcc::test
