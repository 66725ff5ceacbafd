//===- VectorMathSpecial.cpp - Gamma functions and the inverse of erf -----===//
//
// Functions that the math dialect lacks. They are emitted when a kernel is built, not
// by the pass, so they hold for every target. In f64, also for f32, whose erfinv needs fewer
// terms; narrower types in f32 (VectorMathNarrow.cpp).
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"

using namespace mlir;
namespace tcc::codegen {
namespace vmath {

Value viaF64(ImplicitLocOpBuilder &b, Value x, Fp (*function)(Fp)) {
  Emitter e{b, anyTarget};
  Type wide = withElementType(x.getType(), b.getF64Type());
  if (x.getType() == wide)
    return function({&e, x}).v;
  Fp y = function({&e, arith::ExtFOp::create(b, wide, x)});
  return arith::TruncFOp::create(b, x.getType(), y.v);
}

namespace {

/// Below 10, psi(x) = psi(x + 1) - 1/x, whose sum of reciprocals is kept as one
/// fraction; from there on the asymptotic series. Below 0, psi(x) = psi(1 - x) -
/// pi / tan(pi x).
Fp digamma(Fp x) {
  Mask reflected = x <= 0.0;
  Fp y = select(reflected, 1.0 - x, x);
  Fp numerator = x.constant(0.0), denominator = x.constant(1.0);
  for (int step = 0; step < 10; ++step) {
    Mask small = y < 10.0;
    numerator = select(small, mulAdd(numerator, y, denominator), numerator);
    denominator = select(small, denominator * y, denominator);
    y = select(small, y + 1.0, y);
  }
  Fp z = 1.0 / (y * y);
  Fp series = z * poly(z, {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120,
                           1.0 / 12});
  Fp result = log(y) - 0.5 / y - series - numerator / denominator;

  Fp fraction = x - roundEven(x);
  auto [s, c] = sincosNearF64(fraction * 0x1.921fb54442d18p+1);
  Fp mirror = result - 0x1.921fb54442d18p+1 * c / s;
  // Poles: at 0 the side that x comes from decides, at negative integers nothing does.
  mirror = select(fraction == 0.0, x.nan(), mirror);
  mirror = select(x == 0.0, copySign(x.infinity(), -x), mirror);
  return select(reflected, mirror, result);
}

/// erfinv(x) / x is smooth in w = -log(1 - x^2); for larger w in its square root.
Fp erfinv(Fp x) {
  Fp w = -log((1.0 - x) * (1.0 + x));
  Fp centre =
      poly(w - 3.125, {-0x1.7c13ddad7cc30p-63, 0x1.448f46931ae0ep-60,  0x1.8dcaec153c9bcp-57,
                       -0x1.29fd91ad6eebfp-53, 0x1.0b3c681826f22p-55,  0x1.daab29db06a62p-48,
                       -0x1.6e0f0556b94c7p-45, -0x1.6d69b56d50a16p-44, 0x1.72bafbd974ae0p-39,
                       -0x1.c8962fbf84566p-37, -0x1.dc5f4b831524ep-35, 0x1.20f4e26851308p-30,
                       -0x1.1a9e10e8bba02p-28, -0x1.f36ce2cf8345ep-26, 0x1.c6b4f4c319d2dp-22,
                       -0x1.6e8a54007cb82p-20, -0x1.d1d1f7b0ca254p-17, 0x1.879c2a20f49a7p-13,
                       -0x1.845769485c36ap-11, -0x1.8b6c33114f230p-8,  0x1.ebd80d9b13e3ep-3,
                       0x1.a755e7c99ae86p+0});
  Fp root = sqrt(w);
  Fp tail = poly(root - 3.25, {0x1.812419e664d67p-24, -0x1.21dde8ca7a973p-22, 0x1.6348a90fb06cap-26,
                               0x1.9206ae0effe77p-20, -0x1.0d842f60bca85p-18, 0x1.88bb9550320d0p-19,
                               0x1.a2a3468043756p-17, -0x1.8cf0d491f6ee2p-15, 0x1.1e67fe23d4399p-14,
                               0x1.932d6f40dd5b3p-16, -0x1.7448a5bccef89p-12, 0x1.f3cc5531eb8c6p-11,
                               -0x1.ba924140409aep-10, 0x1.468eeca6d9bd4p-9, -0x1.ebadabb864cf7p-9,
                               0x1.5ffcfe5b7135ep-8, 0x1.0158a6d641d39p+0, 0x1.8abcc380d5a48p+1});
  Fp farTail =
      poly(root - 5.125, {0x1.04c74cfb44dc2p-36, -0x1.f47e8051a90d5p-33, 0x1.e2d92e11232cep-31,
                          -0x1.fed5a4dc5d7afp-30, 0x1.d835165d5f961p-29, -0x1.d62f1ce135e27p-28,
                          0x1.f7a21bfde2635p-27, -0x1.65cb92463266dp-25, 0x1.6b7f71c915b11p-23,
                          -0x1.ab74e846a5f4cp-21, 0x1.f6fea20aabef7p-19, -0x1.16551785ffc26p-16,
                          0x1.0f552b294ec4cp-14, -0x1.795c0db9708d0p-13, -0x1.bdda7d45b05e1p-13,
                          0x1.02a027c1f3319p+0, 0x1.3e79eb73b06f2p+2});
  Fp y = x * select(w < 6.25, centre, select(w < 16.0, tail, farTail));
  y = select(abs(x) == 1.0, copySign(x.infinity(), x), y);
  return select(abs(x) > 1.0, x.nan(), y);
}

/// The same to 2^-32 for x that was a narrower number: w is below 16. The tail is rare.
Fp erfinvRough(Fp x) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  Fp w = log2Rough((1.0 - x) * (1.0 + x)) * -ln2;
  Fp centre =
      poly(w - 3.125, {0x1.4253c2a71c6f7p-40, -0x1.b7667b42b676fp-37, -0x1.0fc2dc2b132c6p-35,
                       0x1.1c388730ec09ap-30, -0x1.27ad1f0d0fe59p-28, -0x1.f10fb0c9b68f5p-26,
                       0x1.c79cf12577b25p-22, -0x1.6eab9725ada20p-20, -0x1.d1e2ac31c6c79p-17,
                       0x1.879c912ff83dfp-13, -0x1.845724c792d47p-11, -0x1.8b6c34cf0af67p-8,
                       0x1.ebd80d869775dp-3, 0x1.a755e7c9be521p+0});
  auto tail = [&]() -> llvm::SmallVector<Value> {
    Fp far =
        poly(sqrt(w) - 3.25, {0x1.21b6e276d2cf3p-18, -0x1.5131b43100f61p-15, 0x1.39cd671ac6388p-14,
                              0x1.416dd86496ac1p-16, -0x1.76f3c9572bfdap-12, 0x1.f48fa58239534p-11,
                              -0x1.ba7180d711540p-10, 0x1.46887b410898dp-9, -0x1.ebaf091927642p-9,
                              0x1.5ffd258605e53p-8, 0x1.0158a6da7d3bep+0, 0x1.8abcc380afba6p+1});
    return {select(w < 6.25, centre, far).v};
  };
  Fp y = x * Fp{x.e, ifAnyLane(w >= 6.25, centre.v, tail)[0]};
  y = select(abs(x) == 1.0, copySign(x.infinity(), x), y);
  return select(abs(x) > 1.0, x.nan(), y);
}

} // namespace
} // namespace vmath

Value emitLgamma(ImplicitLocOpBuilder &b, Value x, bool narrow) {
  vmath::Emitter e{b, vmath::anyTarget};
  bool isF32 = getElementTypeOrSelf(x.getType()).isF32();
  return narrow && isF32 ? vmath::roughLgamma({&e, x}).v : vmath::viaF64(b, x, vmath::lgammaF64);
}
Value emitDigamma(ImplicitLocOpBuilder &b, Value x, bool narrow) {
  vmath::Emitter e{b, vmath::anyTarget};
  bool isF32 = getElementTypeOrSelf(x.getType()).isF32();
  return narrow && isF32 ? vmath::roughDigamma({&e, x}).v : vmath::viaF64(b, x, vmath::digamma);
}
Value emitErfinv(ImplicitLocOpBuilder &b, Value x, bool narrow) {
  vmath::Emitter e{b, vmath::anyTarget};
  if (narrow && getElementTypeOrSelf(x.getType()).isF32())
    return vmath::roughErfinv({&e, x}).v;
  bool isF64 = getElementTypeOrSelf(x.getType()).isF64();
  return vmath::viaF64(b, x, isF64 ? vmath::erfinv : vmath::erfinvRough);
}

} // namespace tcc::codegen
