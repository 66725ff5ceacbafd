//===- FourierLength.h - Lengths of Fourier transforms -----------*- C++ -*-===//
//
// What makes a length easy: its prime factors are small, so that stages of few numbers each do it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace tcc {

/// The longest static transform: its constants take 256 MB.
inline constexpr int64_t kLongestFourier = 1 << 24;

/// Real and imaginary part of exp(2 pi i j / n), 0 <= j < n: exact on the axes.
std::pair<double, double> fourierRoot(int64_t j, int64_t n);

/// Stages whose product is n: eights and fours, at most one two, then odd primes.
llvm::SmallVector<unsigned> fourierRadices(int64_t n);

/// p of n = p q, p <= q, as near to each other as they can be; 1 for a prime.
int64_t nearestFactor(int64_t n);

} // namespace tcc
