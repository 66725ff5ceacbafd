//===- FourierLength.cpp - Lengths of Fourier transforms ------------------===//
//
// The decomposition and the kernel ask the same functions, so that what one leaves the other can
// do.
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/FourierLength.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace tcc;

std::pair<double, double> tcc::fourierRoot(int64_t j, int64_t n) {
  // Within a quadrant, so that the roots on the axes are exact.
  int64_t quadrant = 4 * j / n, rest = 4 * j % n;
  double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n);
  std::pair<double, double> root(std::cos(angle), std::sin(angle));
  for (int64_t turn = 0; turn < quadrant; ++turn)
    root = {-root.second, root.first};
  return root;
}

llvm::SmallVector<unsigned> tcc::fourierRadices(int64_t n) {
  llvm::SmallVector<unsigned> radices;
  unsigned twos = 0;
  for (; n % 2 == 0 && n > 0; n /= 2)
    ++twos;
  // Two fours rather than an eight and a two.
  for (; twos == 2 || twos >= 4 ? twos % 3 != 0 : false; twos -= 2)
    radices.push_back(4);
  for (; twos >= 3; twos -= 3)
    radices.push_back(8);
  if (twos == 1)
    radices.push_back(2);
  for (int64_t p = 3; n > 1; p += 2) {
    if (p * p > n)
      p = n;
    for (; n % p == 0; n /= p)
      radices.push_back(static_cast<unsigned>(p));
  }
  return radices;
}

bool tcc::hasFourierStages(int64_t n) {
  return llvm::all_of(fourierRadices(n), [](unsigned r) { return r <= kLargestFourierRadix; });
}

/// Of a number in a transform of length n, in operations on it: a stage reads and writes it.
static double fourierWork(int64_t n) {
  constexpr double kMoves = 2, kOdd = 1.5;
  double work = 0;
  for (unsigned r : fourierRadices(n))
    work += kMoves + (r % 2 ? kOdd * r : 1 + std::log2(r));
  return work;
}

tcc::FourierMatrix tcc::fourierMatrix(int64_t n, int64_t lanes) {
  constexpr double kTransposed = 2;
  bool exact = hasFourierStages(n);
  int64_t numbers = exact ? n : 2 * n - 1;
  FourierMatrix best{1, numbers};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t rows = 2; rows * rows <= 4 * numbers; ++rows) {
    if (!hasFourierStages(rows) || (exact && n % rows))
      continue;
    int64_t columns = (numbers + rows - 1) / rows;
    while (!hasFourierStages(columns))
      ++columns;
    auto vectors = [&](int64_t side) { return static_cast<double>((side + lanes - 1) / lanes); };
    double cost =
        vectors(columns) * static_cast<double>(rows) * fourierWork(rows) +
        vectors(rows) * static_cast<double>(columns) * (kTransposed + fourierWork(columns));
    if (columns > 1 && cost < least) {
      least = cost;
      best = {rows, columns};
    }
  }
  return best;
}

int64_t tcc::nearestFactor(int64_t n) {
  int64_t nearest = 1;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0)
      nearest = d;
  return nearest;
}
