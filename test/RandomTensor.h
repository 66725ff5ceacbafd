//===- RandomTensor.h - Seeded inputs of C++ tests ---------------*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include <random>

namespace tcc::test {

/// Reals of [low, high), rounded to `type`: the next that `engine` gives.
inline reference::Tensor randomTensor(std::mt19937 &engine, DType type,
                                      llvm::ArrayRef<int64_t> shape, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(*reference::elementCount(shape));
  for (double &v : values)
    v = uniform(engine);
  return reference::Tensor::ofReals(type, shape, values);
}

} // namespace tcc::test
