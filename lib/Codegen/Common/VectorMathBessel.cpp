//===- VectorMathBessel.cpp - Modified Bessel functions I0, I1 ------------===//
//
// e^-x I(x) as Chebyshev series (Clenshaw's recurrence, which does not cancel): up to 8
// in x/4 - 1, of I1 divided by x; above, times sqrt(x), in 16/x - 1.
//
// I(x) of f32 is a polynomial of x^2 up to 8, whose terms all have one sign, and above that one
// of 1/x times e^x / sqrt(x), in f64 to 2^-31. What is rounded to 16 bits is the same in f32, of
// fewer terms.
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"

using namespace mlir;
namespace tcc::codegen {
using namespace vmath;
namespace {

// The coefficient of the highest polynomial first.
constexpr double i0Small[] = {
    -0x1.45cb72134d0efp-58, 0x1.33362977da589p-55, -0x1.184eb721ebbb4p-52, 0x1.ee6d893f65ebap-50,
    -0x1.a5022c297fbebp-47, 0x1.59b464b262627p-44, -0x1.1164c62ee1af0p-41, 0x1.9fe2fe19bd324p-39,
    -0x1.2fc957a946abcp-36, 0x1.a98becc743c10p-34, -0x1.1d4fe13ae9556p-31, 0x1.6d903a454cb34p-29,
    -0x1.beaf68c0b30abp-27, 0x1.03b769d4d6435p-24, -0x1.1ec638f227f8dp-22, 0x1.2bf24978cf4acp-20,
    -0x1.2866fcba56427p-18, 0x1.13f58be9a2859p-16, -0x1.e2b2659c41d5ap-15, 0x1.8b51b74107cabp-13,
    -0x1.2e2fd1f15eb52p-11, 0x1.adc758a12100ep-10, -0x1.1b65e201aa849p-8,  0x1.59961f3dde3ddp-7,
    -0x1.84e9ef121b6f0p-6,  0x1.93e8acea8a32dp-5,  -0x1.84b70342d06eap-4,  0x1.5f7ac77ac88c0p-3,
    -0x1.37febc057cd8dp-2,  0x1.5a84e9035a22ap-2};
constexpr double i0Large[] = {
    -0x1.0adb754ca8b19p-57, -0x1.646da66119130p-58, 0x1.9be1812d98421p-55,  0x1.3f3dd076041cdp-55,
    -0x1.4600babd21fe4p-52, -0x1.8aee7d908de38p-52, 0x1.fee7da3eafb1fp-50,  0x1.12a919094e6d7p-48,
    -0x1.583fe7e65629ap-47, -0x1.75d99cf68bb32p-45, 0x1.156ff0d5fc545p-46,  0x1.b1c8c6b83c073p-42,
    0x1.94347fa268cecp-41,  -0x1.f904303178d66p-40, -0x1.d0fd7357e7bf2p-37, -0x1.1511d08397425p-35,
    0x1.a24feabe8004fp-37,  0x1.0f9ccc0f46f75p-31,  0x1.d2c64a9225b87p-29,  0x1.8569280d6d56dp-26,
    0x1.b8007d9cd616ep-23,  0x1.8412bc101c586p-19,  0x1.20fa378999e52p-14,  0x1.b998ca2e59049p-9,
    0x1.9be62aca809cbp-2};
constexpr double i1Small[] = {
    0x1.99f2a0c3c4014p-59, -0x1.857d0c38a0576p-56, 0x1.663e3e593bfacp-53, -0x1.3eaaa7e0d1573p-50,
    0x1.11d7f0615290cp-47, -0x1.c628e1c8f0b3bp-45, 0x1.6af784779d955p-42, -0x1.173835fb70366p-39,
    0x1.9cee2b21d3154p-37, -0x1.2510397eb07dep-34, 0x1.8ea34b43fdf6cp-32, -0x1.0361b28ea67e6p-29,
    0x1.4258e02395010p-27, -0x1.7dd3e24b8c3e8p-25, 0x1.ae344b347d108p-23, -0x1.cc0798363992ap-21,
    0x1.d1c4ed511afc5p-19, -0x1.bd5f9b8debbcfp-17, 0x1.911b542c70d0bp-15, -0x1.533cad3d694fep-13,
    0x1.0c95db6c6df7dp-11, -0x1.8cc620b3cd4a4p-10, 0x1.1065349d3a1b4p-8,  -0x1.5a29f7913a26ap-7,
    0x1.951e3e7bb2349p-6,  -0x1.b1bbc537c9ebcp-5,  0x1.a46dad536f53cp-4,  -0x1.694d10469192ep-3,
    0x1.02a63724a7ffap-3};
constexpr double i1Large[] = {
    0x1.1556db352e8e6p-57,  0x1.45b8aea87b950p-58,  -0x1.acea3b2532277p-55, -0x1.2806c9c773320p-55,
    0x1.55915fceb588ap-52,  0x1.7d68e5f04a2d1p-52,  -0x1.0efcd8bc4d22ap-49, -0x1.12db5138afbc7p-48,
    0x1.776e1762d31e8p-47,  0x1.80d3c26b3281ep-45,  -0x1.7a9482e6d22a0p-46, -0x1.cbc458e73e255p-42,
    -0x1.953e1076ab493p-41, 0x1.1e7d3f6439fa3p-39,  0x1.f101f653c457bp-37,  0x1.1e1a1f1587865p-35,
    -0x1.4dcf9d4504c0cp-36, -0x1.334ca5423dd80p-31, -0x1.0790b9ad53528p-28, -0x1.c415394bb46c1p-26,
    -0x1.0dbfd2e9e5443p-22, -0x1.048df49ca0373p-18, -0x1.cfd7f804aa9a6p-14, -0x1.3fda053fcdb4cp-7,
    0x1.8ea18b55b1514p-2};

/// The sum of c_j T_j(u).
Fp chebyshev(Fp u, llvm::ArrayRef<double> coefficients) {
  Fp twice = u + u, b1 = u.constant(coefficients.front()), b2 = u.constant(0.0);
  for (double c : coefficients.drop_front().drop_back()) {
    Fp b0 = mulAdd(twice, b1, c - b2);
    b2 = b1;
    b1 = b0;
  }
  return mulAdd(u, b1, coefficients.back() - b2);
}

/// e^-x I_order(x) for x >= 0.
Fp scaledBessel(Fp x, bool first) {
  Fp small = chebyshev(x * 0.25 - 1.0, first ? llvm::ArrayRef(i1Small) : llvm::ArrayRef(i0Small));
  if (first)
    small = small * x;
  Fp large = chebyshev(16.0 / x - 1.0, first ? llvm::ArrayRef(i1Large) : llvm::ArrayRef(i0Large));
  return select(x <= 8.0, small, large / sqrt(x));
}

/// I_order(x), by e^x in two factors: e^x overflows before I does.
Fp bessel(Fp x, bool first) {
  Fp a = abs(x);
  Fp scaled = scaledBessel(a, first), root = exp(a * 0.5);
  Fp y = scaled * root * root;
  // infinity * 0 where the scaled function has vanished.
  y = select(a == a.infinity(), a, y);
  return first ? copySign(y, x) : y;
}

/// Of f32, rounded once from 2^-31.
Fp besselOfF32(Fp x, bool first) {
  constexpr double near0[] = {0x1.3f90a42dc2211p-63,
                              0x1.7111a4aae6531p-56,
                              0x1.6a61819b86d4bp-47,
                              0x1.4df4e9be2d843p-39,
                              0x1.035ba33e50787p-31,
                              0x1.2336496c4c11dp-24,
                              0x1.c71ec78f4e9e9p-18,
                              0x1.c71c3fc8ad2f0p-12,
                              0x1.000001ec30e0bp-6,
                              0x1.ffffffd046b06p-3,
                              1.0},
                   near1[] = {0x1.c1c4cc3ddf9d1p-68,
                              0x1.380b734f31e7dp-60,
                              0x1.3e30cb974b751p-51,
                              0x1.4ef5081708144p-43,
                              0x1.284200ad34faep-35,
                              0x1.844f7a5748d1cp-28,
                              0x1.6c17d9f3d3abcp-21,
                              0x1.c71c57cedffd3p-15,
                              0x1.5555567770201p-9,
                              0x1.ffffffef8033dp-5,
                              0.5};
  constexpr double far0[] = {-0x1.11252c2c0c9c2p-3, 0x1.13a94af2e970bp+3, -0x1.ee0bc9b15c0b0p+0,
                             0x1.5ce6157e877c1p-2,  0x1.e96c082d77e7ep-6, 0x1.e64e71c1fc793p-6,
                             0x1.cb77d7826a4b5p-6,  0x1.988468332a893p-5, 0x1.9884533ca50ebp-2},
                   far1[] = {-0x1.5474c0e28ce49p+1, -0x1.0b0e8723a95a6p+3, 0x1.e76470aabc04bp+0,
                             -0x1.792dbf43be69fp-2, -0x1.5808f0c36ef71p-5, -0x1.531c4d7193b8bp-5,
                             -0x1.7eec94830b148p-5, -0x1.326344132106dp-3, 0x1.9884533deff2ep-2};
  Fp wide = toF64(x), a = atMost(abs(wide), 120); // from there on the result is infinite
  Fp near = poly(a * a, first ? llvm::ArrayRef(near1) : llvm::ArrayRef(near0));
  if (first)
    near = near * wide;
  // The root of an f32, after a step of Newton's.
  Fp root =
      toF64({x.e, math::RsqrtOp::create(x.e->builder, toF32(a).v, arith::FastMathFlags::afn)});
  root = root * mulAdd(a * -0.5, root * root, 1.5);
  Fp far = poly(root * root, first ? llvm::ArrayRef(far1) : llvm::ArrayRef(far0)) * root *
           exp2RoughNormal(a * 0x1.71547652b82fep+0);
  if (first)
    far = copySign(far, wide);
  return toF32(select(a <= 8.0, near, far));
}

/// Of f32, to 17 bits.
Fp roughBessel(Fp x, bool first) {
  constexpr double near0[] = {0x1.bc66bep-31,
                              0x1.c71c60p-25,
                              0x1.dae1b4p-18,
                              0x1.c43c18p-12,
                              0x1.002d06p-6,
                              0x1.fff97ep-3,
                              1.0},
                   near1[] = {0x1.e7a7bcp-35, 0x1.3e3bbep-28, 0x1.77f6c8p-21, 0x1.c528160p-15,
                              0x1.557a34p-9,  0x1.fffc3ep-5,  0x1.00000ep-1};
  constexpr double far0[] = {0x1.fa34c8p-5, 0x1.83e1b2p-6, 0x1.99e93ep-5, 0x1.988410p-2},
                   far1[] = {-0x1.4d276ep-4, -0x1.529594p-5, -0x1.32d260p-3, 0x1.9884a8p-2};
  constexpr auto rough = arith::FastMathFlags::afn;
  ImplicitLocOpBuilder &b = x.e->builder;
  Fp a = abs(x), z = a * a;
  Fp near = poly(z, first ? llvm::ArrayRef(near1) : llvm::ArrayRef(near0));
  if (first)
    near = near * x;
  // e^x overflows before I does.
  Fp root{x.e, math::ExpOp::create(b, (a * 0.5).v)},
      inverse{x.e, math::RsqrtOp::create(b, a.v, rough)};
  Fp far = poly(inverse * inverse, first ? llvm::ArrayRef(far1) : llvm::ArrayRef(far0)) * inverse;
  far = far * root * root;
  // infinity * 0 where the reciprocal has vanished.
  far = select(a == a.infinity(), a, far);
  if (first)
    far = copySign(far, x);
  return select(a <= 6.0, near, far);
}

} // namespace

Value emitRoughBessel(ImplicitLocOpBuilder &b, Value x, bool first) {
  Emitter e{b, anyTarget};
  return roughBessel({&e, x}, first).v;
}
static Value emitBessel(ImplicitLocOpBuilder &b, Value x, bool first) {
  Emitter e{b, anyTarget};
  bool isF32 = getElementTypeOrSelf(x.getType()).isF32();
  return (isF32 ? besselOfF32({&e, x}, first) : bessel({&e, x}, first)).v;
}
Value emitBesselI0(ImplicitLocOpBuilder &b, Value x) { return emitBessel(b, x, /*first=*/false); }
Value emitBesselI1(ImplicitLocOpBuilder &b, Value x) { return emitBessel(b, x, /*first=*/true); }

} // namespace tcc::codegen
