//===- VectorMathHyperbolic.cpp - tanh ------------------------------------===//
//
// tanh x = (e^2x - 1) / (e^2x + 1) = m / (m + 2) with m = expm1(2|x|), which loses
// nothing near 0.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {
namespace {

Fp tanhF32(Fp x) {
  Fp y = atMost(abs(x), 9.2);
  Fp m = expm1Small(y + y);
  return copySign(m / (m + 2.0), x);
}

} // namespace

Fp tanh(Fp x) { return x.isF64() ? callLibm("tanh", {x}) : tanhF32(x); }

} // namespace tcc::codegen::vmath
