//===- VectorMathRemainder.cpp - fmod, exact multiply-add -----------------===//
#include "VectorMathEmitter.h"

using namespace mlir;
namespace tcc::codegen::vmath {

/// In f64, x / y of two f32 is never rounded up to an integer while it is below 2^28,
/// and q * y is exact, so x - trunc(x/y) * y is the remainder. Larger quotients, rare,
/// go to libm.
static Fp remainderF32(Fp x, Fp y) {
  Fp wide = toF64(x), divisor = toF64(y);
  Fp q = trunc(wide / divisor);
  Fp r = toF32(wide - q * divisor);
  r = copySign(select((abs(y) == y.infinity()) & (abs(x) < x.infinity()), x, r), x);
  Mask large = abs(q) >= 0x1p28;
  SmallVector<Value> result = ifAnyLane(
      large, r.v, [&] { return SmallVector<Value>{select(large, callLibm("fmod", {x, y}), r).v}; });
  return {x.e, result.front()};
}

Fp remainder(Fp x, Fp y) { return x.isF64() ? callLibm("fmod", {x, y}) : remainderF32(x, y); }

/// The product of two f32 is exact in f64. The sum is rounded to odd there, that is,
/// an inexact sum gets a one as its last bit, so that rounding it again to f32 is as
/// if it had happened once.
static Fp fusedMulAddF32(Fp a, Fp b, Fp c) {
  Fp product = toF64(a) * toF64(b), addend = toF64(c);
  Fp sum = product + addend;
  Fp part = sum - product;
  Fp error = (product - (sum - part)) + (addend - part);
  Mask inexact = (error > 0.0) | (error < 0.0);
  Int word = bits(sum);
  // Towards the exact value: away from zero where the error has the sum's sign.
  Int step = select((error > 0.0) ^ (sum < 0.0), word.constant(1), word.constant(-1));
  Mask even = (word & 1) == 0;
  return toF32(select(inexact & even, fromBits(word + step), sum));
}

Fp fusedMulAdd(Fp a, Fp b, Fp c) {
  return a.isF64() ? callLibm("fma", {a, b, c}) : fusedMulAddF32(a, b, c);
}

} // namespace tcc::codegen::vmath
