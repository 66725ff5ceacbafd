//===- VectorMathPair.h - Numbers as sums of two f64 ------------*- C++ -*-===//
//
// A result that rounds once needs what it is made of to more bits than f64 has. A Pair is
// hi + lo, not evaluated, with |lo| about 2^-53 of |hi|. All of it needs a fused
// multiply-add, whose second use gives the error of the first.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {

struct Pair {
  Fp hi, lo;
};

/// a + b, exactly, where |a| >= |b| or a is 0.
inline Pair fastSum(Fp a, Fp b) {
  Fp sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b, exactly.
inline Pair exactSum(Fp a, Fp b) {
  Fp sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a * b, exactly.
inline Pair exactProduct(Fp a, Fp b) {
  Fp product = a * b;
  return {product, mulAdd(a, b, -product)};
}

inline Pair operator*(Pair a, Pair b) {
  Pair product = exactProduct(a.hi, b.hi);
  return {product.hi, product.lo + mulAdd(a.hi, b.lo, a.lo * b.hi)};
}

inline Pair operator/(Pair a, Pair b) {
  Fp quotient = a.hi / b.hi;
  Fp rest = mulAdd(-quotient, b.hi, a.hi) + mulAdd(-quotient, b.lo, a.lo);
  return {quotient, rest / b.hi};
}

inline Pair select(Mask m, Pair a, Pair b) {
  return {select(m, a.hi, b.hi), select(m, a.lo, b.lo)};
}

} // namespace tcc::codegen::vmath
