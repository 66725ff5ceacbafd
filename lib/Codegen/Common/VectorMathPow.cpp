//===- VectorMathPow.cpp - Powers ------------------------------------------===//
//
// x^y = 2^(y log2 x). An f32 result needs the product y log2 x to about 2^-32 where
// it may be as large as 150, more than f32 holds, so this is done in f64, where
// the subnormal numbers of f32 are normal ones. The exponents that models use most,
// 2, 3, 1/2 and their like, are products and roots.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace tcc::codegen::vmath {

Fp log2Rough(Fp x) {
  constexpr int64_t sqrtHalfBits = 0x3fe6a09e667f3bcd;
  Int i = bits(x) - sqrtHalfBits;
  Fp f = fromBits((i & 0xfffffffffffff) + sqrtHalfBits) - 1.0;
  Fp p = poly(f, {-0x1.1d8c2312277abp-4, 0x1.0f5befb634bf0p-3, -0x1.13bd248e670e0p-3,
                  0x1.0ad062744d0c6p-3, -0x1.23d5cb9cf292ap-3, 0x1.481f5b9ab8864p-3,
                  -0x1.7188d939ceaabp-3, 0x1.a61b827c95818p-3, -0x1.ec6f2de53eb86p-3,
                  0x1.2776b6bdbcf03p-2, -0x1.715478884906cp-2, 0x1.ec709de360653p-2,
                  -0x1.71547651b70d8p-1, 0x1.71547652b58c0p+0});
  // The exponent by way of the mantissa of 1.5 * 2^52: vectors of 64-bit integers
  // convert slowly before AVX-512.
  Fp k = fromBits((i >> 52) + 0x4338000000000000) - 0x1.8p52;
  return mulAdd(f, p, k);
}

Fp exp2RoughNormal(Fp x) {
  Fp shifted = x + 0x1.8p52;
  Fp r = x - (shifted - 0x1.8p52);
  Fp p = poly(r, {0x1.fde609f211ac5p-17, 0x1.445cd85211beap-13, 0x1.5d8a86eaa2887p-10,
                  0x1.3b29f33953dd9p-7, 0x1.c6b08abe98727p-5, 0x1.ebfbe077ee465p-3,
                  0x1.62e42ff0e2d77p-1, 1.0});
  return fromBits(bits(p) + (bits(shifted) << 52));
}

Fp exp2Rough(Fp x) { return exp2RoughNormal(atLeast(atMost(x, 1000.0), -1000.0)); }

namespace {

/// |x|^y for an f32 x and an f64 y, NaN apart.
Fp powMagnitude(Fp ax, Fp y) {
  Fp r = toF32(exp2Rough(y * log2Rough(toF64(ax))));
  // 0 and infinity, whose logarithm log2Rough does not know: y's sign decides.
  Mask zero = ax == 0.0, infinite = ax == ax.infinity();
  Fp edge = select(zero ^ (y > 0.0), ax.infinity(), ax.constant(0.0));
  return select(zero | infinite, edge, r);
}

/// What signs, numbers that are none and exact results make of `r`, which is |x|^y.
Fp withSigns(Fp x, Fp y, Fp r) {
  Fp half = y * 0.5;
  Mask integer = trunc(y) == y;
  Mask odd = integer & ~(trunc(half) == half);
  Mask negative = bits(x) < 0;
  r = select(negative & odd, -r, r);
  r = select((x < 0.0) & (x > -x.infinity()) & ~integer, r.nan(), r);
  r = select(isNaN(x) | isNaN(y), x + y, r);
  Mask one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (abs(y) == y.infinity()));
  return select(one, 1.0, r);
}

Fp powF32(Fp x, Fp y) { return withSigns(x, y, powMagnitude(abs(x), toF64(y))); }
Fp powF64(Fp x, Fp y) { return withSigns(x, y, powMagnitudeF64(abs(x), y)); }

std::optional<double> splatConstant(Value v) {
  Attribute attribute;
  if (!matchPattern(v, m_Constant(&attribute)))
    return std::nullopt;
  if (auto dense = dyn_cast<SplatElementsAttr>(attribute))
    attribute = dense.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  return std::nullopt;
}

/// x^y for the few y that are cheap to have exactly.
std::optional<Fp> powConstant(Fp x, double y) {
  auto root = [&] { return select(x == -x.infinity(), x.infinity(), sqrt(x) + 0.0); };
  Fp one = x.constant(1.0);
  if (y == 0.0)
    return one;
  if (y == 1.0)
    return x;
  if (y == 2.0)
    return x * x;
  if (y == 3.0)
    return x * x * x;
  if (y == -1.0)
    return one / x;
  if (y == 0.5)
    return root();
  if (y == -0.5)
    return one / root();
  if (y == 4.0) {
    Fp square = x * x;
    return square * square;
  }
  if (y == -2.0) {
    Fp inverse = one / x;
    return inverse * inverse;
  }
  return std::nullopt;
}

} // namespace

Fp pow(Fp x, Fp y) {
  if (std::optional<double> constant = splatConstant(y.v))
    if (std::optional<Fp> known = powConstant(x, *constant))
      return *known;
  if (!x.isF64())
    return powF32(x, y);
  return x.e->options.hasFma ? powF64(x, y) : callLibm("pow", {x, y});
}

} // namespace tcc::codegen::vmath
