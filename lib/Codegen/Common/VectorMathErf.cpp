//===- VectorMathErf.cpp - erf --------------------------------------------===//
//
// erf(x) / x is a function of x^2 that falls smoothly from 2/sqrt(pi), so one
// polynomial covers [0, 3.9375], beyond which erf is 1 in f32. It is taken in
// u = x^2 / 7.751953125 - 1, which runs over [-1, 1].
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

Fp erfF32(Fp x) {
  Fp y = atMost(abs(x), 3.9375);
  Fp u = mulAdd(y * y, 1.0 / 7.751953125, -1.0);
  Fp p = poly(u, {0x1.97cb28p-12, -0x1.07efa0p-10, 0x1.8285fap-11, -0x1.24a5fap-10, 0x1.1d7764p-8,
                  -0x1.15cc34p-7, 0x1.a26f16p-7, -0x1.49dc40p-6, 0x1.fd82b6p-6, -0x1.6951bap-5,
                  0x1.dfee66p-5, -0x1.2fcf84p-4, 0x1.72e378p-4, -0x1.bdeba0p-4, 0x1.1184bcp-3,
                  -0x1.6f421cp-3, 0x1.6fc14ap-2});
  return copySign(y * p, x);
}

} // namespace

Fp erf(Fp x) { return x.isF64() ? callLibm("erf", {x}) : erfF32(x); }

} // namespace tcc::codegen::vmath
