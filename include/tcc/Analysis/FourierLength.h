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

/// The largest radix that there are stages of.
inline constexpr unsigned kLargestFourierRadix = 13;
/// Whether every stage of n numbers is of such a radix.
bool hasFourierStages(int64_t n);

/// The shortest line that is worth a matrix of its own.
inline constexpr int64_t kShortestFourierMatrix = 64;

/// A line as a matrix, row by row: its columns are transformed, turned by roots, then its rows.
struct FourierMatrix {
  int64_t rows, columns;
  int64_t numbers() const { return rows * columns; }
};
/// The cheapest one where `lanes` transforms of columns or rows run side by side: of n numbers,
/// or where they have no stages of the 2n - 1 or more that a circular convolution takes.
FourierMatrix fourierMatrix(int64_t n, int64_t lanes);

/// p of n = p q, p <= q, as near to each other as they can be; 1 for a prime.
int64_t nearestFactor(int64_t n);

} // namespace tcc
