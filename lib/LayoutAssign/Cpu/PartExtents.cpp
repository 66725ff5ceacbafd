//===- PartExtents.cpp - How extents are cut into parts -------------------===//
#include "PartialResults.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tcc;

int64_t tcc::nearestDivisor(int64_t extent, double wanted) {
  if (extent <= 2 * wanted && wanted <= 2 * extent)
    return extent;
  int64_t best = 1;
  auto distance = [&](int64_t d) { return std::abs(std::log(d / wanted)); };
  for (int64_t d = 1; d <= std::min(extent, kMostParts); ++d)
    if (extent % d == 0 && distance(d) < distance(best))
      best = d;
  return best;
}

int64_t tcc::endOfParts(int64_t extent, int64_t results, int64_t parts) {
  int64_t fills = kVectorLanes / std::gcd(results, kVectorLanes);
  int64_t rows = std::max<int64_t>(1, std::llround(double(kSideBySide) / results / fills)) * fills;
  return rows * results < 2 * kSideBySide ? extent / (rows * parts) * (rows * parts) : 0;
}
