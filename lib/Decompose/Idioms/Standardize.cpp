#include "Decompose/Idioms/Standardize.h"
#include "Decompose/Idioms/Axes.h"

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

Value tcc::affineOfGroups(PrimBuilder &b, Value y, ArrayRef<Dim> shape, Value scale, Value shift,
                          Type stored) {
  auto channels = b.known(shape[1]);
  auto isPerChannel = [&](Value v) {
    return !v || (channels && b.rank(v) == 1 && b.known(b.dim(v, 0)) == channels);
  };
  bool inGroups = isPerChannel(scale) && isPerChannel(shift);
  Dims groups(b.rank(y), b.dim(1));
  groups[1] = b.dim(y, 1);
  groups[2] = b.dim(y, 2);
  if (!inGroups)
    y = b.reshape(y, shape);
  auto spread = [&](Value v) {
    v = b.cast(v, b.elem(y));
    return inGroups ? b.reshape(v, groups) : alongAxis(b, v, 1, b.rank(y));
  };
  if (scale)
    y = b.mul(y, spread(scale));
  if (shift)
    y = b.add(y, spread(shift));
  y = b.cast(y, stored);
  return inGroups ? b.reshape(y, shape) : y;
}
