#include "Decompose/Idioms/Gelu.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;

Value tcc::geluErf(PrimBuilder &b, Value x) {
  Value erf = b.unary<prim::ErfOp>(b.mul(x, 1 / std::numbers::sqrt2));
  return b.mul(b.mul(x, 0.5), b.add(erf, 1.0));
}

Value tcc::geluTanh(PrimBuilder &b, Value x) {
  Value cube = b.mul(b.mul(x, x), x);
  Value inner = b.mul(b.add(x, b.mul(cube, 0.044715)), std::sqrt(2.0) * std::numbers::inv_sqrtpi);
  return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1.0));
}

Value tcc::tanhOfSoftplus(PrimBuilder &b, Value x) {
  Value e = b.exp(b.minimum(x, 20.0)); // from there on it is 1
  Value n = b.mul(e, b.add(e, 2.0));
  return b.div(n, b.add(n, 2.0));
}
