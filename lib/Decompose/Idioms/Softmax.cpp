#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;

Value tcc::softmaxOver(PrimBuilder &b, Value x, ArrayRef<int64_t> axes) {
  Type own = b.elem(x);
  x = widen(b, x);
  Value e = b.exp(b.sub(x, b.reduce(K::max, x, axes, true)));
  return b.cast(b.div(e, b.reduce(K::sum, e, axes, true)), own);
}

Value tcc::logSoftmaxOver(PrimBuilder &b, Value x, ArrayRef<int64_t> axes) {
  Type own = b.elem(x);
  x = widen(b, x);
  Value shifted = b.sub(x, b.reduce(K::max, x, axes, true));
  Value sum = b.reduce(K::sum, b.exp(shifted), axes, true);
  return b.cast(b.sub(shifted, b.log(sum)), own);
}
