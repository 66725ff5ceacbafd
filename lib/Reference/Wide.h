//===- Wide.h - The four types that are computed in ------------*- C++ -*-===//
//
// Twenty-five element types times every operator would be thousands of loops.
// Evaluators work instead on short runs of elements widened to double, int64_t,
// uint64_t or complex<double>, and narrow the results: rounding a double to f32
// or less once gives the correctly rounded sum, product, quotient and root, and
// integers modulo 2^64 give those modulo any smaller power.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include <complex>
#include <cstdint>

namespace tcc::reference {

using Complex = std::complex<double>;

/// Elements that are widened at a time: a few such buffers stay in the L1 cache.
inline constexpr int64_t kRun = 512;

/// `count` elements at `from` as W. A complex element keeps its real part in a
/// real W; integers wrap into int64_t and uint64_t, which are for integers and bool only.
template <typename W> void widen(DType type, const char *from, int64_t count, W *to);

/// Back, as prim.cast defines it: a float becomes the nearest integer bound
/// when out of range, integers wrap, anything but 0 is true.
template <typename W>
void narrow(DType type, const W *from, int64_t count, char *to, bool saturate = false);

/// Calls `f.operator()<W>()` for the W that elements of `type` widen to;
/// bool counts as unsigned.
template <typename F> decltype(auto) withWide(DType type, F &&f) {
  if (isFloat(type))
    return f.template operator()<double>();
  if (isComplex(type))
    return f.template operator()<Complex>();
  if (isSignedInt(type))
    return f.template operator()<int64_t>();
  return f.template operator()<uint64_t>();
}

/// The same without complex, for operators that are not defined on it.
template <typename F> decltype(auto) withRealWide(DType type, F &&f) {
  if (isFloat(type))
    return f.template operator()<double>();
  if (isSignedInt(type))
    return f.template operator()<int64_t>();
  return f.template operator()<uint64_t>();
}

/// Calls `f.operator()<T>()` with an unsigned type of `bytes` bytes, to move
/// elements without looking at them.
struct Bytes16 {
  uint64_t low, high;
  bool operator==(const Bytes16 &) const = default;
};
template <typename F> decltype(auto) withBytes(unsigned bytes, F &&f) {
  switch (bytes) {
  case 1:
    return f.template operator()<uint8_t>();
  case 2:
    return f.template operator()<uint16_t>();
  case 4:
    return f.template operator()<uint32_t>();
  case 8:
    return f.template operator()<uint64_t>();
  default:
    return f.template operator()<Bytes16>();
  }
}

// Integer arithmetic that wraps.
template <typename W> W wrapAdd(W a, W b) { return a + b; }
template <typename W> W wrapSub(W a, W b) { return a - b; }
template <typename W> W wrapMul(W a, W b) { return a * b; }
template <> inline int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <> inline int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <> inline int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename W> bool isNan(W) { return false; }
template <> inline bool isNan(double x) { return x != x; }

} // namespace tcc::reference
