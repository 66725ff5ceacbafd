//===- SumBlock.h - Terms that are summed at once ----------------*- C++ -*-===//
#pragma once
#include <cstdint>

namespace tcc {

/// Terms of one block of a long sum. The error of blocks of b out of k terms grows with
/// sqrt(b + k / b), so about sqrt(k) is best; the total costs one load, addition and
/// store a block, 1 to 2 % of the time at this length.
constexpr int64_t kSumBlock = 192;

} // namespace tcc
