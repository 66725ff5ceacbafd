//===- VectorMathTrigF64.cpp - sin, cos and tan in f64 --------------------===//
//
// As in f32 (VectorMathTrig.cpp), with pi/2 in three parts of which two have 33 bits, so
// that their products with a quadrant below 2^20 are exact, and r in two parts.
//
// Above 10^6 Payne and Hanek's reduction, where x has 53 bits and comes as close as 2^-61
// to a multiple of pi/2: 192 bits of 2/pi times x, modulo 4 quadrants, leave a fraction of
// 126 bits.
//
//===----------------------------------------------------------------------===//
#include "VectorMathAngle.h"
#include "VectorMathPair.h"

using namespace mlir;
namespace tcc::codegen::vmath {
namespace {

constexpr double largeArgument = 1e6;

/// 2/pi from 64 bits before its binary point on.
constexpr uint64_t twoOverPi[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

Reduced reduceSmall(Fp x) {
  Fp shifted = mulAdd(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
  Fp n = shifted - 0x1.8p52;
  Fp first = mulAdd(n, -0x1.921fb544p+0, x);
  Fp product = n * 0x1.0b4611a6p-34;
  Fp r = first - product;
  Fp low = mulAdd(n, -0x1.3198a2e037073p-69, (first - r) - product);
  return {r, low, bits(shifted)};
}

/// The 192 bits of 2/pi whose first, times the last bit of x, weighs 2.
void window(Int exponent, Int (&words)[3]) {
  Int start = exponent - (1075 - 62);
  Int word = lshr(start, 6), shift = start & 63;
  Int parts[4] = {start, start, start, start};
  for (int i = 0; i < 4; ++i) {
    parts[i] = start.constant(static_cast<int64_t>(twoOverPi[i]));
    for (size_t w = 1; w + 3 < std::size(twoOverPi); ++w)
      parts[i] =
          select(word == static_cast<int64_t>(w), static_cast<int64_t>(twoOverPi[w + i]), parts[i]);
  }
  for (int i = 0; i < 3; ++i)
    words[i] = (parts[i] << shift) | lshr(lshr(parts[i + 1], 1), 63 - shift);
}

/// For 10^6 <= x; NaN for infinity.
Reduced reduceLarge(Fp x) {
  constexpr int64_t mantissaBits = (int64_t(1) << 52) - 1;
  Int i = bits(x);
  Int m = (i & mantissaBits) | (mantissaBits + 1);
  Int words[3] = {i, i, i};
  window(lshr(i, 52), words);
  auto [middleLow, middleHigh] = wideProduct(m, words[1]);
  Int last = wideProduct(m, words[2]).second;
  Int low = middleLow + last;
  Int carry = lshr((middleLow & last) | ((middleLow | last) & (low ^ -1)), 63);
  Int high = m * words[0] + middleHigh + carry;
  // Two bits of quadrant, 62 and 64 of fraction.
  Int quadrant = lshr(high + (int64_t(1) << 61), 62);
  high = high - (quadrant << 62);
  Fp lead = toFp(high);
  Pair fraction = fastSum(lead, toFp(high - toInt(lead)) + toFp(lshr(low, 1)) * 0x1p-63);
  Pair r = fraction * Pair{x.constant(0x1.921fb54442d18p+0 * 0x1p-62),
                           x.constant(0x1.1a62633145c07p-54 * 0x1p-62)};
  return {select(x < x.infinity(), r.hi, x.nan()), r.lo, quadrant};
}

Reduced reduce(Fp x) {
  return reduceAnySize(x, reduceSmall(x), largeArgument, "reduce_pi_2_f64", reduceLarge);
}

Pair sinPolynomial(const Reduced &a, Fp z) {
  Fp p = poly(z, {0x1.5d7e3b5b5d8d7p-33, -0x1.ae5e1f9ef4730p-26, 0x1.71de351f1f48ep-19,
                  -0x1.a01a019badb9ep-13, 0x1.111111110f574p-7});
  Fp cube = z * a.r;
  Fp tail = mulAdd(z, mulAdd(cube, p, a.low * -0.5), a.low);
  return {a.r, mulAdd(cube, -0x1.5555555555547p-3, tail)};
}

Pair cosPolynomial(const Reduced &a, Fp z) {
  Fp p = poly(z, {-0x1.8f9439c7517fap-37, 0x1.1ee9b99846a1ep-29, -0x1.27e4f7c12abd4p-22,
                  0x1.a01a019c4f650p-16, -0x1.6c16c16c14db2p-10, 0x1.555555555554ap-5});
  Fp half = z * 0.5;
  Fp lead = 1.0 - half;
  return {lead, ((1.0 - lead) - half) + mulAdd(z * z, p, -(a.r * a.low))};
}

/// Both polynomials at |x| and the quadrant.
struct Parts {
  Pair sin, cos;
  Int quadrant;
};
Parts partsOf(Fp x, bool anySize) {
  Reduced a = anySize && x.e->options.hasFma ? reduce(abs(x)) : reduceSmall(abs(x));
  Fp z = a.r * a.r;
  return {sinPolynomial(a, z), cosPolynomial(a, z), a.quadrant};
}

Fp value(Pair a) { return a.hi + a.lo; }

Fp flipSign(Fp x, Int sign) { return fromBits(bits(x) ^ (sign & INT64_MIN)); }

/// libm's value for a large x where its reduction, which needs exact products, is not done here.
Fp orLibm(Fp x, Fp y, llvm::StringRef name) {
  if (x.e->options.hasFma)
    return y;
  Mask large = abs(x) >= largeArgument;
  return {x.e, ifAnyLane(large, y.v, [&] {
                 return SmallVector<Value>{select(large, callLibm(name, {x}), y).v};
               }).front()};
}

Fp sinOf(Fp x, const Parts &a) {
  Fp y = select((a.quadrant & 1) != 0, value(a.cos), value(a.sin));
  return flipSign(y, (a.quadrant << 62) ^ bits(x));
}

Fp cosOf(Fp x, const Parts &a) {
  Fp y = select((a.quadrant & 1) != 0, value(a.sin), value(a.cos));
  return flipSign(y, (a.quadrant + 1) << 62);
}

} // namespace

Fp sinF64(Fp x) { return orLibm(x, sinOf(x, partsOf(x, true)), "sin"); }
Fp cosF64(Fp x) { return orLibm(x, cosOf(x, partsOf(x, true)), "cos"); }
std::pair<Fp, Fp> sincosF64(Fp x) {
  Parts parts = partsOf(x, true);
  return {orLibm(x, sinOf(x, parts), "sin"), orLibm(x, cosOf(x, parts), "cos")};
}

std::pair<Fp, Fp> sincosNearF64(Fp x) {
  Parts parts = partsOf(x, false);
  return {sinOf(x, parts), cosOf(x, parts)};
}

/// sin r / cos r; in odd quadrants -cos r / sin r.
Fp tanF64(Fp x) {
  Parts a = partsOf(x, true);
  Pair s = fastSum(a.sin.hi, a.sin.lo), c = fastSum(a.cos.hi, a.cos.lo);
  Mask odd = (a.quadrant & 1) != 0;
  Pair quotient = select(odd, {-c.hi, -c.lo}, s) / select(odd, s, c);
  return flipSign(value(quotient), bits(x));
}

} // namespace tcc::codegen::vmath
