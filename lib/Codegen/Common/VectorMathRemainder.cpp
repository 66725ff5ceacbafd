//===- VectorMathRemainder.cpp - fmod, exact multiply-add -----------------===//
#include "VectorMathEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
namespace tcc::codegen::vmath {

/// The exponent of x >= 0 as a normal number would have it.
static Int exponent(Fp x) {
  constexpr int64_t kSteps = 54; // brings every subnormal up to the normal numbers
  Int small = lshr(bits(x * 0x1p54), 52) - kSteps;
  return select(x < 0x1p-1022, small, lshr(bits(x), 52));
}

/// Division by hand, for f64: the largest y * 2^n that fits is subtracted until what is left is
/// less than y. Every step is exact, and takes a bit of x at least.
static Fp longDivision(Fp x, Fp y) {
  ImplicitLocOpBuilder &outside = x.e->builder;
  ExpandMathOptions options = x.e->options;
  auto divisorIn = [&](Emitter &e) { return abs(Fp{&e, y.v}); };
  auto goesOn = [&](OpBuilder &nested, Location loc, ValueRange carried) {
    ImplicitLocOpBuilder b(loc, nested);
    Emitter e{b, options};
    Fp left{&e, carried[0]}, d = divisorIn(e);
    Mask more = (d <= left) & (d > 0.0) & (left < left.infinity());
    scf::ConditionOp::create(b, anyLane(more), carried);
  };
  auto subtract = [&](OpBuilder &nested, Location loc, ValueRange carried) {
    ImplicitLocOpBuilder b(loc, nested);
    Emitter e{b, options};
    Fp left{&e, carried[0]}, d = divisorIn(e);
    Mask active = (d <= left) & (d > 0.0) & (left < left.infinity());
    Int n = select(active, exponent(left) - exponent(d), 0);
    // 2^n may be no number where y * 2^n is one.
    Int third = lshr(n * n.constant(0x5556), 16);
    Fp part =
        scaleByPowerOfTwo(scaleByPowerOfTwo(scaleByPowerOfTwo(d, third), third), n - third - third);
    part = select(left < part, part * 0.5, part);
    scf::YieldOp::create(b, select(active, left - part, left).v);
  };
  auto loop =
      scf::WhileOp::create(outside, TypeRange(x.type()), ValueRange(abs(x).v), goesOn, subtract);
  return {x.e, loop.getResult(0)};
}

static Fp helper(Fp x, Fp y) {
  auto body = [](Emitter &e, ValueRange arguments) {
    return SmallVector<Value>{longDivision({&e, arguments[0]}, {&e, arguments[1]}).v};
  };
  return {x.e, callHelper(*x.e, helperName("remainder", x.type()), {x.v, y.v}, x.type(), body)[0]};
}

/// What the quotient rounds up to an integer overshoots by one at most, and x - q * y is exact.
/// Quotients with more bits than a number has, rare, are divided by hand.
static Fp remainderF64(Fp x, Fp y) {
  Fp q = trunc(x / y), d = abs(y), left = abs(x);
  Fp r = mulAdd(-abs(q), d, left);
  r = select(r < 0.0, r + d, r);
  r = select((d == d.infinity()) & (left < left.infinity()), left, r);
  // An infinite quotient of numbers is large as well.
  Mask large = (abs(q) >= 0x1p53) & (left < left.infinity()) & (d > 0.0);
  SmallVector<Value> result =
      ifAnyLane(large, r.v, [&] { return SmallVector<Value>{select(large, helper(x, y), r).v}; });
  return copySign({x.e, result.front()}, x);
}

/// In f64, x / y of two f32 is never rounded up to an integer while it is below 2^28, and q * y
/// is exact, so x - trunc(x/y) * y is the remainder.
static Fp remainderF32(Fp x, Fp y) {
  Fp wide = toF64(x), divisor = toF64(y);
  Fp q = trunc(wide / divisor);
  Fp r = toF32(wide - q * divisor);
  r = copySign(select((abs(y) == y.infinity()) & (abs(x) < x.infinity()), x, r), x);
  Mask large = (abs(q) >= 0x1p28) & (abs(x) < x.infinity()) & (abs(y) > 0.0);
  SmallVector<Value> result = ifAnyLane(large, r.v, [&] {
    return SmallVector<Value>{select(large, copySign(toF32(helper(wide, divisor)), x), r).v};
  });
  return {x.e, result.front()};
}

Fp remainder(Fp x, Fp y) {
  if (!x.isF64())
    return remainderF32(x, y);
  return x.e->options.hasFma ? remainderF64(x, y) : callLibm("fmod", {x, y});
}

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
