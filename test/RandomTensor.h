//===- RandomTensor.h - Seeded inputs of C++ tests ---------------*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include <algorithm>
#include <random>

namespace tcc::test {

/// The next number of [0, 1) that `engine` gives: std::generate_canonical's, which takes two
/// logarithms for each.
inline double nextUniform(std::mt19937 &engine) {
  constexpr double kWord = 4294967296.0;
  double low = engine(), high = engine();
  return std::min((low + high * kWord) / (kWord * kWord), 1 - 0x1p-53);
}

/// Reals of [low, high), rounded to `type`: the next that `engine` gives.
inline reference::Tensor randomTensor(std::mt19937 &engine, DType type,
                                      llvm::ArrayRef<int64_t> shape, double low, double high) {
  std::vector<double> values(*reference::elementCount(shape));
  for (double &v : values)
    v = nextUniform(engine) * (high - low) + low;
  return reference::Tensor::ofReals(type, shape, values);
}

} // namespace tcc::test
