//===- VectorMathTrig.cpp - sin, cos, tan ---------------------------------===//
//
// x = q * pi/2 + r with |r| <= pi/4; the last two bits of q choose between the
// polynomials of sin r and cos r, and the sign.
//
// Below 10^5, r = x - q * pi/2 with pi/2 in three floats (Cody and Waite): the first
// product cancels exactly in a fused multiply-add. Without one, r comes from f64.
// Above, 2/pi would be needed to 128 bits and more. That path (Payne and Hanek) is a
// function of its own behind a branch that is taken when any lane needs it, so that
// ordinary arguments do not pay for it.
//
// Payne and Hanek: x = m * 2^s with an integer m < 2^24. In x * 2/pi only the bits of
// 2/pi that weigh less than 4 after scaling by 2^s matter, because multiples of 4
// quadrants change nothing. 96 bits from there on times m, modulo 2^64 in the upper
// part, are quadrant and fraction as a fixed-point number with 62 fraction bits; no
// f32 comes closer to a multiple of pi/2 than 2^-31.
//
//===----------------------------------------------------------------------===//
#include "VectorMathAngle.h"
#include "VectorMathRough.h"

using namespace mlir;
namespace tcc::codegen::vmath {
namespace {

constexpr double largeArgument = 1e5;
constexpr double twoOverPi = 0x1.45f306p-1;

/// An f64 as the sum of two f32.
Reduced splitF64(Fp r, Int quadrant) {
  Fp high = toF32(r);
  return {high, toF32(r - toF64(high)), quadrant};
}

/// For 0 <= x < 10^5; harmless elsewhere.
Reduced reduceSmall(Fp x, bool wantLow) {
  if (!x.e->options.hasFma) {
    Fp wide = toF64(x);
    Fp shifted = wide * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    Fp n = shifted - 0x1.8p52;
    return splitF64(wide - n * 0x1.921fb544p+0 - n * 0x1.0b4611a626331p-34, toI32(bits(shifted)));
  }
  constexpr double high = -0x1.921fb6p+0, middle = 0x1.777a5cp-25, last = 0x1.ee59dap-50;
  Fp shifted = mulAdd(x, twoOverPi, 0x1.8p23);
  Fp n = shifted - 0x1.8p23;
  Fp first = mulAdd(n, high, x);
  if (!wantLow)
    return {mulAdd(n, last, mulAdd(n, middle, first)), x.constant(0.0), bits(shifted)};
  Fp product = n * middle;
  Fp r = first + product;
  Fp low = (first - r) + product + mulAdd(n, middle, -product);
  return {r, mulAdd(n, last, low), bits(shifted)};
}

/// The 64 bits of 2/pi from word `first` on, words being 32 bits and the first of
/// them the integer part.
int64_t twoOverPiBits(int first) {
  static constexpr uint64_t words[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  return static_cast<int64_t>(words[first] << 32 | words[first + 1]);
}

/// For finite x >= 2^16; NaN for infinity.
Reduced reduceLarge(Fp x) {
  Int i = bits(x);
  Int m = toI64((i & 0x7fffff) | 0x800000);
  // The window starts at the bit of 2/pi that weighs 2: 31 + (exponent - 23) - 1 bits
  // into the words above.
  Int start = toI64(lshr(i, 23) - (127 + 23) + 30);
  Int word = lshr(start, 5);
  Int shift = start & 31;
  Int high = word.constant(twoOverPiBits(0)), low = word.constant(twoOverPiBits(2));
  for (int w = 1; w <= 4; ++w) {
    Mask here = word == w;
    high = select(here, twoOverPiBits(w), high);
    low = select(here, twoOverPiBits(w + 2), low);
  }
  Int window = (high << shift) | lshr(lshr(low, 1), 63 - shift);
  Int next = lshr(low << shift, 32);
  Int product = m * window + lshr(m * next, 32);
  Int quadrant = lshr(product + (int64_t(1) << 61), 62);
  Fp r = toFp(product - (quadrant << 62)) * (0x1.921fb54442d18p+0 * 0x1p-62);
  return splitF64(select(x < x.infinity(), r, r.nan()), toI32(quadrant));
}

Fp sinPolynomial(Fp r, Fp z) {
  Fp p = poly(z, {-0x1.990d64p-13, 0x1.1106aap-7, -0x1.555544p-3});
  return mulAdd(r * z, p, r);
}

Fp cosPolynomial(Fp z) {
  return poly(z, {0x1.9996eap-16, -0x1.6c0b00p-10, 0x1.555548p-5, -0.5, 1.0});
}

Fp flipSign(Fp x, Int sign) { return fromBits(bits(x) ^ sign); }

constexpr int64_t signBit = -0x80000000ll;

/// sin and cos of an f32.
struct Both {
  Fp sin, cos;
};

/// By the quadrant of |x|.
Both ofReduced(Fp x, const Reduced &a) {
  Fp z = a.r * a.r;
  Fp s = sinPolynomial(a.r, z), c = cosPolynomial(z);
  Mask odd = (a.quadrant & 1) != 0;
  return {flipSign(select(odd, c, s), ((a.quadrant << 30) ^ bits(x)) & signBit),
          flipSign(select(odd, s, c), ((a.quadrant + 1) << 30) & signBit)};
}

/// `usual`, of |x| below 10^5; the lanes of larger ones by a function of their own, `name`. The
/// branch comes last, so that those of several vectors overlap.
SmallVector<Value> unlessLarge(Fp x, ArrayRef<Value> usual, StringRef name,
                               llvm::function_ref<SmallVector<Value>(Fp)> ofLarge) {
  Mask isLarge = abs(x) >= largeArgument;
  auto emitHelper = [&](Emitter &inner, ValueRange arguments) {
    return ofLarge({&inner, arguments.front()});
  };
  return ifAnyLane(isLarge, usual, [&] {
    SmallVector<Value> far =
        callHelper(*x.e, helperName(name, x.type()), x.v, TypeRange(ValueRange(usual)), emitHelper);
    for (auto [value, there] : llvm::zip(far, usual))
      value = select(isLarge, Fp{x.e, value}, Fp{x.e, there}).v;
    return far;
  });
}

/// `usual` of those that are wanted.
Both unlessLarge(Fp x, const Both &usual, bool wantSin, bool wantCos) {
  auto values = [&](const Both &both) {
    SmallVector<Value> wanted;
    if (wantSin)
      wanted.push_back(both.sin.v);
    if (wantCos)
      wanted.push_back(both.cos.v);
    return wanted;
  };
  std::string name = std::string(wantSin ? "sin" : "") + (wantCos ? "cos" : "") + "_large";
  SmallVector<Value> results = unlessLarge(x, values(usual), name, [&](Fp given) {
    return values(ofReduced(given, reduceLarge(abs(given))));
  });
  return {{x.e, results.front()}, {x.e, results.back()}};
}

Both sinCosF32(Fp x, bool wantSin, bool wantCos) {
  return unlessLarge(x, ofReduced(x, reduceSmall(abs(x), /*wantLow=*/false)), wantSin, wantCos);
}

/// -1 / (t + low), not rounded twice.
Fp negativeReciprocal(Fp t, Fp low) {
  if (!t.e->options.hasFma)
    return toF32(-1.0 / (toF64(t) + toF64(low)));
  Fp y = -1.0 / t;
  Fp error = mulAdd(low, y, mulAdd(t, y, 1.0));
  return mulAdd(y, error, y);
}

/// tan r = r + r^3 P(r^2); in odd quadrants -1 / tan r.
Fp tanOfReduced(Fp x, const Reduced &a) {
  Fp z = a.r * a.r;
  Fp p = poly(z, {0x1.25b986p-8, -0x1.f47204p-14, 0x1.685026p-7, 0x1.5bb5b6p-6, 0x1.baf314p-5,
                  0x1.110d12p-3, 0x1.555562p-2});
  Fp tail = mulAdd(a.r * z, p, mulAdd(a.low, z, a.low));
  Fp t = a.r + tail;
  Mask odd = (a.quadrant & 1) != 0;
  return flipSign(select(odd, negativeReciprocal(t, tail - (t - a.r)), t), bits(x) & signBit);
}

/// `usual`, of |x| below 10^5, or of larger ones the tangent.
Fp tanUnlessLarge(Fp x, Fp usual) {
  return {x.e, unlessLarge(x, usual.v, "tan_large", [](Fp given) {
            return SmallVector<Value>{tanOfReduced(given, reduceLarge(abs(given))).v};
          })[0]};
}

Fp tanF32(Fp x) {
  return tanUnlessLarge(x, tanOfReduced(x, reduceSmall(abs(x), /*wantLow=*/true)));
}

} // namespace

std::pair<Fp, Fp> sincos(Fp x) {
  if (x.isF64())
    return sincosF64(x);
  Both both = sinCosF32(x, true, true);
  return {both.sin, both.cos};
}
Fp sin(Fp x) { return x.isF64() ? sinF64(x) : sinCosF32(x, true, false).sin; }
Fp cos(Fp x) { return x.isF64() ? cosF64(x) : sinCosF32(x, false, true).cos; }
bool isWidened(Value v) {
  auto extended = v.getDefiningOp<arith::ExtFOp>();
  return extended && getElementTypeOrSelf(extended.getIn()).getIntOrFloatBitWidth() == 16;
}

Fp roughSin(Fp x, bool cosine) {
  // x = n pi + r with |r| <= pi/2, n amid two integers for cos: one polynomial, and r itself tells
  // small results. The parts of pi are rounded towards 0, so that r keeps the sign of a zero.
  constexpr double high = -0x1.921fb4p+1, middle = -0x1.4442dp-23, last = -0x1.84698ap-47;
  constexpr double overPi = 0x1.45f306p-2, round = 0x1.8p23;
  Fp shifted = cosine ? mulAdd(x, overPi, -0.5) + round : mulAdd(x, overPi, round);
  Fp n = cosine ? shifted - round + 0.5 : shifted - round;
  Fp r = mulAdd(n, middle, mulAdd(n, high, x));
  // Of numbers of 16 bits below 10^5 none comes closer to a zero of sin or cos than 1.5e-5.
  if (!isWidened(x.v))
    r = mulAdd(n, last, r);
  Fp s = r * poly(r * r, {-0x1.83c4c2p-13, 0x1.105e1ap-7, -0x1.554f92p-3, 0x1.ffffe2p-1});
  Int odd = bits(shifted) << 31;
  s = flipSign(s, cosine ? odd ^ signBit : odd);
  Both exact = unlessLarge(x, {s, s}, !cosine, cosine);
  return exact.sin;
}
Fp roughTan(Fp x) {
  Reduced a = reduceSmall(abs(x), /*wantLow=*/false);
  Fp z = a.r * a.r;
  Fp t = mulAdd(a.r * z, poly(z, {0x1.6109cp-5, 0x1.531686p-5, 0x1.16aa08p-3, 0x1.552664p-2}), a.r);
  Mask odd = (a.quadrant & 1) != 0;
  Fp y = select(odd, roughDivide(t.constant(-1.0), t), t);
  return tanUnlessLarge(x, flipSign(y, bits(x) & signBit));
}
Fp sinOfUnit(Fp x, bool cosine, bool rough) {
  Fp z = x * x;
  if (cosine)
    return poly(z, {0x1.93e15p-16, -0x1.6be952p-10, 0x1.5554cep-5, -0x1.fffffep-2, 1.0});
  if (rough)
    return x * poly(z, {0x1.075704p-7, -0x1.5519f6p-3, 0x1.ffff24p-1});
  Fp p = poly(z, {0x1.6db458p-19, -0x1.a01ea8p-13, 0x1.11113cp-7, -0x1.555556p-3});
  return mulAdd(x * z, p, x);
}
Fp tan(Fp x) { return x.isF64() ? exactF64(tanF64, "tan", x) : tanF32(x); }

} // namespace tcc::codegen::vmath
