//===- VectorMathTrigF64.cpp - sin and cos in f64 -------------------------===//
//
// As in f32 (VectorMathTrig.cpp), with pi/2 in three parts of which two have 33 bits, so
// that their products with a quadrant below 2^20 are exact, and r in two parts. Above
// 10^6 libm is called, behind a branch.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

using namespace mlir;
namespace tcc::codegen::vmath {
namespace {

constexpr double largeArgument = 1e6;

struct Reduced {
  Fp r, low;
  Int quadrant;
};

Reduced reduce(Fp x) {
  Fp shifted = mulAdd(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
  Fp n = shifted - 0x1.8p52;
  Fp first = mulAdd(n, -0x1.921fb544p+0, x);
  Fp product = n * 0x1.0b4611a6p-34;
  Fp r = first - product;
  Fp low = mulAdd(n, -0x1.3198a2e037073p-69, (first - r) - product);
  return {r, low, bits(shifted)};
}

Fp sinPolynomial(Fp r, Fp low, Fp z) {
  Fp p = poly(z, {0x1.5d7e3b5b5d8d7p-33, -0x1.ae5e1f9ef4730p-26, 0x1.71de351f1f48ep-19,
                  -0x1.a01a019badb9ep-13, 0x1.111111110f574p-7});
  Fp cube = z * r;
  Fp tail = mulAdd(z, mulAdd(cube, p, low * -0.5), low);
  return r + mulAdd(cube, -0x1.5555555555547p-3, tail);
}

Fp cosPolynomial(Fp r, Fp low, Fp z) {
  Fp p = poly(z, {-0x1.8f9439c7517fap-37, 0x1.1ee9b99846a1ep-29, -0x1.27e4f7c12abd4p-22,
                  0x1.a01a019c4f650p-16, -0x1.6c16c16c14db2p-10, 0x1.555555555554ap-5});
  Fp half = z * 0.5;
  Fp lead = 1.0 - half;
  return lead + (((1.0 - lead) - half) + mulAdd(z * z, p, -(r * low)));
}

/// Both polynomials at |x| and the quadrant.
struct Parts {
  Fp sin, cos;
  Int quadrant;
};
Parts partsOf(Fp x) {
  Reduced a = reduce(abs(x));
  Fp z = a.r * a.r;
  return {sinPolynomial(a.r, a.low, z), cosPolynomial(a.r, a.low, z), a.quadrant};
}

Fp flipSign(Fp x, Int sign) { return fromBits(bits(x) ^ (sign & INT64_MIN)); }

Fp orLibm(Fp x, Fp y, llvm::StringRef name) {
  Mask large = abs(x) >= largeArgument;
  return {x.e, ifAnyLane(large, y.v, [&] {
                 return SmallVector<Value>{select(large, callLibm(name, {x}), y).v};
               }).front()};
}

Fp sinOf(Fp x, const Parts &a) {
  Fp y = select((a.quadrant & 1) != 0, a.cos, a.sin);
  return orLibm(x, flipSign(y, (a.quadrant << 62) ^ bits(x)), "sin");
}

Fp cosOf(Fp x, const Parts &a) {
  Fp y = select((a.quadrant & 1) != 0, a.sin, a.cos);
  return orLibm(x, flipSign(y, (a.quadrant + 1) << 62), "cos");
}

} // namespace

Fp sinF64(Fp x) { return sinOf(x, partsOf(x)); }
Fp cosF64(Fp x) { return cosOf(x, partsOf(x)); }
std::pair<Fp, Fp> sincosF64(Fp x) {
  Parts parts = partsOf(x);
  return {sinOf(x, parts), cosOf(x, parts)};
}

} // namespace tcc::codegen::vmath
