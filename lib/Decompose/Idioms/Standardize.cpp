#include "Decompose/Idioms/Standardize.h"

using namespace mlir;
using namespace tcc;

Standardized tcc::standardize(PrimBuilder &b, Value x, ArrayRef<int64_t> axes, double epsilon) {
  Standardized s;
  s.mean = b.mean(x, axes, true);
  Value centred = b.sub(x, s.mean);
  s.variance = b.mean(b.mul(centred, centred), axes, true);
  s.inverse = b.rsqrt(b.add(s.variance, epsilon));
  s.value = b.mul(centred, s.inverse);
  return s;
}

Standardized tcc::scaleByRms(PrimBuilder &b, Value x, ArrayRef<int64_t> axes, double epsilon) {
  Standardized s;
  s.inverse = b.rsqrt(b.add(b.mean(b.mul(x, x), axes, true), epsilon));
  s.value = b.mul(x, s.inverse);
  return s;
}
