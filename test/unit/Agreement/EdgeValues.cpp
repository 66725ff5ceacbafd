//===- EdgeValues.cpp - Values at which arithmetic breaks ----------------===//
//
// Random numbers almost never meet a rounding tie or a power of two. These lists are made of such:
// for each type the ends, the steps around powers of two, and halves between neighbours.
//
//===----------------------------------------------------------------------===//
#include "EdgeValues.h"
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace tcc::test {

using reference::Tensor;

/// The element's bits, zero-extended.
static uint64_t bitsAt(const Tensor &x, int64_t position) {
  if (x.dtype() == DType::Bool) // any byte but 0 is true
    return x.integer(position) != 0;
  unsigned bytes = reference::elementBytes(x.dtype());
  uint64_t bits = 0;
  std::memcpy(&bits, x.data() + position * bytes, bytes);
  unsigned width = bitWidth(x.dtype());
  return width < 64 ? bits & ((uint64_t(1) << width) - 1) : bits;
}

static Tensor ofBits(DType type, const std::vector<uint64_t> &patterns) {
  int64_t count = static_cast<int64_t>(patterns.size());
  std::vector<char> packed(storageBytes(type, count), 0);
  unsigned width = bitWidth(type);
  for (int64_t i = 0; i < count; ++i)
    for (unsigned bit = 0; bit < width; ++bit)
      if (patterns[i] >> bit & 1) {
        uint64_t at = i * width + bit;
        packed[at / 8] = static_cast<char>(packed[at / 8] | 1 << at % 8);
      }
  return llvm::cantFail(Tensor::fromPacked(type, {count}, packed));
}

/// Powers of two and what surrounds them, and sums that lie half way between two
/// neighbours of a narrow float, or just beside that.
static std::vector<uint64_t> integerPatterns(unsigned width) {
  std::vector<uint64_t> patterns = {0, 1, 2, 3, 5, 7, 10, 100};
  for (unsigned k = 3; k < width; k += k < 8 ? 1 : 4)
    for (int64_t offset : {-1, 0, 1})
      patterns.push_back((uint64_t(1) << k) + offset);
  for (unsigned k : {7, 15, 16, 23, 24, 31, 32, 53, 63})
    if (k < width)
      for (int64_t offset : {-1, 0, 1})
        patterns.push_back((uint64_t(1) << k) + offset);
  for (unsigned k : {15, 20, 28, 40, 54})
    if (k + 9 < width)
      for (uint64_t tie : {0x101, 0x103, 0x181})
        for (int64_t offset : {-1, 0, 1})
          patterns.push_back((tie << k) + offset);
  for (size_t i = 0, e = patterns.size(); i < e; ++i)
    patterns.push_back(-patterns[i]);
  return patterns;
}

static std::vector<double> someReals() {
  const double pi = 3.14159265358979323846, inf = HUGE_VAL;
  std::vector<double> values = {
      0,           0.5,      1,        1.5,       2,          2.5,       3,         4,
      5,           7,        10,       0.1,       0.25,       0.75,      pi / 4,    pi / 2,
      pi,          2 * pi,   1e-3,     1e-10,     1e10,       100,       88.5,      89,
      104,         300,      709.5,    0.999,     1.001,      1e-5,      6,         15,
      240,         448,      127,      128,       255,        256,       32767.5,   65504,
      65519.9,     65520,    57344,    8388607.5, 1e38,       1e300,     0x1p-24,   0x1p-14,
      0x1p-126,    0x1p-133, 0x1p-149, 0x1p-127,  0x1.8p-127, 0x1p-1074, 0x1p-1022, inf,
      std::nan("")};
  for (int k : {23, 24, 31, 32, 52, 53, 63, 64, 127})
    for (double near : {1 - 0x1p-24, 1.0, 1 + 0x1p-23})
      values.push_back(std::ldexp(near, k));
  // Half way between two neighbours of a float of so many bits, and just beside that.
  for (int digits : {1, 2, 3, 4, 8, 11, 24})
    for (double factor : {0x1p0, 0x1p7, 0x1p-6, 0x1p-126})
      for (double beside : {-0x1p-45, 0.0, 0x1p-45})
        for (int odd : {1, 3})
          values.push_back(factor * (1 + odd * std::ldexp(1.0, -digits) + beside));
  for (size_t i = 0, e = values.size(); i < e; ++i)
    values.push_back(-values[i]);
  return values;
}

static std::vector<uint64_t> floatPatterns(DType type) {
  std::vector<double> values = someReals();
  Tensor rounded = Tensor::ofReals(type, {static_cast<int64_t>(values.size())}, values);
  std::vector<uint64_t> patterns;
  for (int64_t i = 0; i < rounded.elements(); ++i)
    patterns.push_back(bitsAt(rounded, i));
  // The ends of the ladder: the largest value, infinity, the smallest ones.
  uint64_t sign = uint64_t(1) << (bitWidth(type) - 1);
  for (DType kind : {DType::F16, DType::BF16, DType::F32, DType::F64})
    if (kind == type) {
      uint64_t infinity = bitsAt(Tensor::ofReals(type, {1}, HUGE_VAL), 0);
      for (uint64_t p : {uint64_t(1), uint64_t(2), infinity - 1, infinity})
        patterns.insert(patterns.end(), {p, p | sign});
    }
  return patterns;
}

Tensor edgeValues(DType type, unsigned random) {
  unsigned width = type == DType::Bool ? 1 : bitWidth(type);
  std::vector<uint64_t> patterns;
  if (width <= 8) {
    for (uint64_t i = 0; i < uint64_t(1) << width; ++i)
      patterns.push_back(i);
    return ofBits(type, patterns);
  }
  patterns = isFloat(type) ? floatPatterns(type) : integerPatterns(width);
  llvm::sort(patterns);
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  std::mt19937_64 engine(width);
  for (unsigned i = 0; i < random; ++i)
    patterns.push_back(engine());
  return ofBits(type, patterns);
}

Tensor pick(const Tensor &x, llvm::ArrayRef<int64_t> positions) {
  Tensor result =
      llvm::cantFail(Tensor::allocate(x.dtype(), {static_cast<int64_t>(positions.size())}));
  unsigned bytes = reference::elementBytes(x.dtype());
  for (auto [i, position] : llvm::enumerate(positions))
    std::memcpy(result.mutableData() + i * bytes, x.data() + position * bytes, bytes);
  return result;
}

std::pair<Tensor, Tensor> edgePairs(DType type, int64_t limit) {
  Tensor values = edgeValues(type);
  int64_t count = values.elements();
  std::vector<int64_t> left, right;
  // A step that has no factor in common with the number of pairs visits all in turn.
  int64_t pairs = count * count, wanted = std::min(limit, pairs), step = 1;
  if (pairs > limit)
    for (step = pairs / limit * 7 + 1; std::gcd(step, pairs) != 1; ++step)
      ;
  for (int64_t i = 0, at = 0; i < wanted; ++i, at = (at + step) % pairs) {
    left.push_back(at / count);
    right.push_back(at % count);
  }
  return {pick(values, left), pick(values, right)};
}

/// The place of a pattern on the ladder of values; both zeros are 0.
static int64_t rung(DType type, uint64_t bits) {
  if (!isFloat(type) || type == DType::F8E8M0FNU)
    return static_cast<int64_t>(bits);
  uint64_t sign = uint64_t(1) << (bitWidth(type) - 1);
  auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

uint64_t stepsBetween(const Tensor &x, const Tensor &y, int64_t position, bool signedZeros) {
  DType type = x.dtype();
  uint64_t a = bitsAt(x, position), b = bitsAt(y, position);
  if (isFloat(type)) {
    bool nanX = std::isnan(x.real(position)), nanY = std::isnan(y.real(position));
    if (nanX || nanY)
      return nanX && nanY ? 0 : UINT64_MAX;
  }
  if (!isFloat(type) || a == b)
    return a == b ? 0 : UINT64_MAX;
  int64_t from = rung(type, a), to = rung(type, b);
  auto steps = static_cast<uint64_t>(from > to ? from - to : to - from);
  return steps == 0 && signedZeros ? 1 : steps;
}

} // namespace tcc::test
