//===- VectorMathErf.cpp - erf, erfc --------------------------------------===//
//
// erf: an odd polynomial below 1.1; above, a polynomial in |x| - 2.515625, up to 3.92
// from where on erf is 1 in f32. No exponential is needed. Where 32 entries of a table are an
// instruction away (AVX-512), each eighth has a polynomial of degree 5 around its middle
// instead. AVX2 has 8 entries: every nine sixteenths have one of degree 7. That around 0 is odd,
// and of what erf has more than x, so that the last addition rounds once.
//
// erfc(x) = e^(-x^2) q(t) / (|x| + 3) with t = (|x| - 3) / (|x| + 3), in f64: e^(-x^2)
// loses the bits that x^2 loses, and x^2 of an f32 is exact in f64. One quotient gives both: t is
// 1 - 6 / (|x| + 3).
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

/// The coefficients, of the highest power first, in the distance from i / 8. Around 0 they are of
/// what erf has more than x.
constexpr double kTable[6][32] = {
    {0x1.ce2aa6p-4,  0x1.8f24e2p-4,   0x1.38274cp-4,  0x1.665dd6p-5,  0x1.89518cp-10,
     -0x1.a4273cp-6, -0x1.c27020p-5,  -0x1.5627a6p-4, -0x1.4e8c18p-4, -0x1.082b0cp-4,
     -0x1.7b47dap-5, -0x1.f90c8ep-6,  -0x1.054d42p-6, -0x1.955694p-9, 0x1.9c3beap-9,
     0x1.5f6278p-6,  0x1.7be2bap-8,   0x1.0f5226p-6,  0x1.859bccp-7,  0x1.1e3a6cp-7,
     0x1.f9c94ep-8,  0x1.92f478p-8,   0x1.c022e2p-10, 0x1.69a82ep-9,  0x1.297ac8p-8,
     0x1.724f24p-13, -0x1.d58a22p-10, -0x1.5d8f0cp-8, -0x1.86bf8cp-8, 0x1.726690p-11,
     0x1.64924cp-10, 0x1.217ca0p-8},
    {0x0.0p+0,        0x1.151cb4p-4,  0x1.01059ep-3,  0x1.4bb490p-3,  0x1.7b91f8p-3,
     0x1.6d42bep-3,   0x1.4314e6p-3,  0x1.ec29d2p-4,  0x1.05ce0ap-4,  0x1.70f6b0p-6,
     -0x1.91b830p-10, -0x1.0d08bcp-5, -0x1.39bd78p-5, -0x1.7c4f76p-5, -0x1.5c0f9ap-5,
     -0x1.af3a3cp-5,  -0x1.b72e24p-6, -0x1.5ef052p-6, -0x1.920354p-7, -0x1.82ad28p-6,
     -0x1.396e08p-6,  -0x1.b9e3bap-7, 0x1.31e886p-13, -0x1.35d69ap-8, -0x1.36780ep-7,
     0x1.465556p-12,  0x1.faf0d0p-9,  0x1.445774p-7,  0x1.4f940ap-7,  -0x1.205c04p-10,
     -0x1.0c608ap-9,  -0x1.a04394p-8},
    {-0x1.812734p-2, -0x1.6f4ed0p-2, -0x1.3c93e6p-2, -0x1.e0fca8p-3, -0x1.2be8ccp-3, -0x1.c829dep-5,
     0x1.b6dd9ep-6,  0x1.7cdb1cp-4,  0x1.1b75aep-3,  0x1.4cb940p-3,  0x1.571b16p-3,  0x1.4374f2p-3,
     0x1.1c2b2ep-3,  0x1.d6662ep-4,  0x1.7153aap-4,  0x1.14201ap-4,  0x1.8af4a0p-5,  0x1.0e8caep-5,
     0x1.63e0e8p-6,  0x1.c1e296p-7,  0x1.11798cp-7,  0x1.402854p-8,  0x1.6a2e6cp-9,  0x1.892390p-10,
     0x1.98b960p-11, 0x1.a495aep-12, 0x1.a6911ap-13, 0x1.c2996ep-14, 0x1.ebba64p-15, 0x1.1b1402p-16,
     0x1.23ad14p-18, -0x1.211f52p-17},
    {0x0.0p+0,        -0x1.1c6106p-3,  -0x1.0f5bc0p-2,  -0x1.786fc0p-2,  -0x1.c1f290p-2,
     -0x1.e8a612p-2,  -0x1.edcd62p-2,  -0x1.d63490p-2,  -0x1.a90c1ap-2,  -0x1.6ea0a4p-2,
     -0x1.2ec44cp-2,  -0x1.dfb63ap-3,  -0x1.6d6874p-3,  -0x1.0bd6fep-3,  -0x1.7a6368p-4,
     -0x1.017378p-4,  -0x1.52e0cep-5,  -0x1.ae00b8p-6,  -0x1.07c560p-6,  -0x1.36574ap-7,
     -0x1.61f5dep-8,  -0x1.86715ap-9,  -0x1.aa7410p-10, -0x1.af20c2p-11, -0x1.906f70p-12,
     -0x1.b02d28p-13, -0x1.d810e6p-14, -0x1.67b6f4p-14, -0x1.073b24p-14, -0x1.d3fad0p-19,
     0x1.66a480p-18,  0x1.aea6e6p-16},
    {0x1.06eba8p-3,  0x1.1c62fap+0,  0x1.0f5d16p+0,  0x1.f5f0ccp-1,  0x1.c1efcap-1,  0x1.86e96ap-1,
     0x1.492e44p-1,  0x1.0cab62p-1,  0x1.a911f2p-2,  0x1.45e99cp-2,  0x1.e46530p-3,  0x1.5ce596p-3,
     0x1.e72374p-4,  0x1.499d48p-4,  0x1.b05534p-5,  0x1.12cea4p-5,  0x1.529c26p-6,  0x1.946236p-7,
     0x1.d4142cp-8,  0x1.069188p-8,  0x1.1d82ecp-9,  0x1.2ce832p-10, 0x1.33613cp-11, 0x1.3052b4p-12,
     0x1.240314p-13, 0x1.0f9f74p-14, 0x1.e9d1f2p-16, 0x1.ac7302p-17, 0x1.6b9b7ep-18, 0x1.29236ep-19,
     0x1.d6fafep-21, 0x1.5e3038p-22},
    {0x0.0p+0,      0x1.1f5e1ap-3, 0x1.1af54ep-2, 0x1.9dd0d2p-2, 0x1.0a7ef6p-1, 0x1.3f196ep-1,
     0x1.6c1c98p-1, 0x1.91724ap-1, 0x1.af767ap-1, 0x1.c6dad2p-1, 0x1.d8865ep-1, 0x1.e5768cp-1,
     0x1.eea556p-1, 0x1.f4f694p-1, 0x1.f92d08p-1, 0x1.fbe61ep-1, 0x1.fd9ae2p-1, 0x1.fea422p-1,
     0x1.ff4048p-1, 0x1.ff9960p-1, 0x1.ffcaa8p-1, 0x1.ffe514p-1, 0x1.fff2d0p-1, 0x1.fff9bap-1,
     0x1.fffd1ap-1, 0x1.fffeb4p-1, 0x1.ffff70p-1, 0x1.ffffc4p-1, 0x1.ffffe8p-1, 0x1.fffff6p-1,
     0x1.fffffcp-1, 0x1.fffffep-1}};

/// The same in the distance from i * 9 / 16.
constexpr double kShortTable[8][8] = {
    {-0x1.ab02b2p-6, 0x1.3b3f1ap-7, 0x1.35a82ap-7, -0x1.777592p-8, -0x1.50cc68p-11, 0x1.a178f6p-11,
     0x1.5a8920p-12, 0x1.74d9eep-12},
    {0x0.0p+0, -0x1.6fb2c0p-5, 0x1.ee1616p-7, 0x1.680b08p-7, -0x1.b0305ep-9, -0x1.27350ep-11,
     -0x1.080ea0p-10, -0x1.b9bb9cp-11},
    {0x1.ce0694p-4, -0x1.63ce30p-7, -0x1.f63878p-5, 0x1.604e24p-9, 0x1.5d0438p-7, 0x1.1b596ep-9,
     0x1.1fe654p-13, -0x1.2b5504p-15},
    {0x0.0p+0, 0x1.758058p-3, 0x1.ca095ep-6, -0x1.959958p-5, -0x1.379ab2p-6, -0x1.5475f8p-9,
     -0x1.fbc980p-16, 0x1.b89c60p-14},
    {-0x1.812720p-2, -0x1.9c4112p-4, 0x1.4cb37cp-3, 0x1.a36bc6p-4, 0x1.63efbcp-6, 0x1.0c35dap-9,
     0x1.86c3e6p-14, 0x1.93048ap-19},
    {0x0.0p+0, -0x1.d9a772p-2, -0x1.6ea668p-2, -0x1.c437a6p-4, -0x1.0755b0p-6, -0x1.304e84p-10,
     -0x1.89dcc0p-15, -0x1.368456p-18},
    {0x1.06eba8p-3, 0x1.a5074ep-1, 0x1.45e99cp-2, 0x1.0bf974p-4, 0x1.d41458p-8, 0x1.b23cc8p-12,
     0x1.ac2fb2p-17, 0x1.de0a64p-23},
    {0x0.0p+0, 0x1.25b8a8p-1, 0x1.c6dad2p-1, 0x1.f74a6ep-1, 0x1.ff4048p-1, 0x1.fff6dep-1,
     0x1.ffffc4p-1, 0x1.0p+0}};

/// Adding it rounds what is below 2^20 to eighths, whose number is in the lowest bits.
constexpr double toEighths = 0x1.8p20;

Fp erfByTable(Fp x) {
  Fp y = atMost(abs(x), 3.92), shifted = y + toEighths, n = shifted - toEighths, t = y - n;
  Int i = bits(shifted);
  llvm::ArrayRef<double[32]> rows(kTable);
  Fp sum = lookup(i, rows.front());
  for (const double (&row)[32] : rows.drop_front().drop_back())
    sum = mulAdd(sum, t, lookup(i, row));
  return copySign(mulAdd(sum, t, select(n == 0.0, y, lookup(i, rows.back()))), x);
}

/// Nine sixteenths are a number, so that the distance is exact.
Fp erfByShortTable(Fp x) {
  constexpr double width = 0x1.2p-1, toWhole = 0x1.8p23;
  Fp y = atMost(abs(x), 4.2), shifted = mulAdd(y, 1 / width, x.constant(toWhole));
  Fp n = shifted - toWhole, t = mulAdd(n, x.constant(-width), y);
  Int i = bits(shifted);
  llvm::ArrayRef<double[8]> rows(kShortTable);
  Fp sum = lookup(i, rows.front());
  for (const double (&row)[8] : rows.drop_front().drop_back())
    sum = mulAdd(sum, t, lookup(i, row));
  return copySign(mulAdd(sum, t, select(n == 0.0, y, lookup(i, rows.back()))), x);
}

Fp erfF32(Fp x) {
  if (hasLookup(x))
    return erfByTable(x);
  if (hasShortLookup(x))
    return erfByShortTable(x);
  Fp y = atMost(abs(x), 3.92);
  Fp t = y - 2.515625;
  Fp far = poly(t, {0x1.afc28ap-21, -0x1.3d24f4p-17, 0x1.d73306p-17, 0x1.1a2b00p-14,
                    -0x1.0c00ccp-12, 0x1.ff4476p-13, 0x1.3404b8p-11, -0x1.686a3ap-9, 0x1.7f7fa0p-8,
                    -0x1.0b140ep-7, 0x1.007900p-7, -0x1.4c15b0p-8, 0x1.07fceap-9, 0x1.ffcef4p-1});
  // The leading coefficient less 1, so that the last addition rounds once.
  Fp near = poly(x * x, {0x1.2f7e42p-14, -0x1.9a3d02p-11, 0x1.52ac0ap-8, -0x1.b7cddep-6,
                         0x1.ce2aa6p-4, -0x1.812734p-2, 0x1.06eba8p-3});
  return select(y < 1.1, mulAdd(x, near, x), copySign(far, x));
}

Fp erfcF32(Fp x) {
  Fp wide = toF64(x), a = atMost(abs(wide), 10.2); // from there on the result is 0
  Fp w = 1.0 / (a + 3.0);
  Fp q = poly(mulAdd(w, -6.0, 1.0),
              {0x1.4e7871a7751acp-15, 0x1.950399ade3aecp-14, -0x1.2d23a1f9d0963p-12,
               -0x1.1e5f5118a7270p-11, 0x1.8e2854dbc709bp-9, -0x1.3dd5d807f74aep-10,
               -0x1.b78becb37ddb8p-6, 0x1.e995eb541ab3cp-4, -0x1.3deb1ed2fc060p-2,
               0x1.2e32694f10915p-1, -0x1.c44c472176f03p-1, 0x1.12f21ddd9abaap+0});
  Fp y = exp2RoughNormal(a * a * -0x1.71547652b82fep+0) * q * w;
  return toF32(select(bits(wide) < 0, 2.0 - y, y)); // where x is -0, y is 1
}

} // namespace

Fp erf(Fp x) { return x.isF64() ? exactF64(erfF64, "erf", x) : erfF32(x); }
Fp erfc(Fp x) { return x.isF64() ? exactF64(erfcF64, "erfc", x) : erfcF32(x); }

} // namespace tcc::codegen::vmath
