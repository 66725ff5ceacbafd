#include "Compare.h"
#include <cmath>

namespace tcc::run {

/// How far beyond its tolerance an element is: at most 1 is good, the larger the
/// worse, infinite where no tolerance helps.
static long double excess(std::complex<long double> expected, std::complex<long double> got,
                          bool exact, Tolerance tolerance) {
  auto isNan = [](std::complex<long double> v) {
    return std::isnan(v.real()) || std::isnan(v.imag());
  };
  auto isFinite = [](std::complex<long double> v) {
    return std::isfinite(v.real()) && std::isfinite(v.imag());
  };
  if (expected == got || (isNan(expected) && isNan(got)))
    return 0;
  if (exact || !isFinite(expected) || !isFinite(got))
    return INFINITY;
  long double allowed = tolerance.atol + tolerance.rtol * std::abs(expected);
  long double difference = std::abs(got - expected);
  if (difference <= allowed)
    return 0;
  return allowed > 0 ? difference / allowed : INFINITY;
}

static std::string indexText(const std::vector<int64_t> &shape, size_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = int64_t(flat % size_t(shape[d]));
    flat /= size_t(shape[d]);
  }
  return shapeText(index);
}

Comparison compare(const Array &expected, const DLTensor &got, Tolerance tolerance) {
  std::vector<int64_t> shape(got.shape, got.shape + got.ndim);
  if (!(expected.dtype == got.dtype) || expected.shape != shape)
    return {false, "expected " + dtypeName(expected.dtype) + shapeText(expected.shape) + ", got " +
                       dtypeName(got.dtype) + shapeText(shape)};
  if (got.dtype.code == kDLInt || got.dtype.code == kDLUInt)
    tolerance.rtol = 0;
  const char *want = expected.bytes.data(),
             *have = static_cast<const char *>(got.data) + got.byte_offset;
  DLDataType dtype = got.dtype;
  size_t count = expected.size(), wrong = 0, worst = 0;
  long double most = 0;
  for (size_t i = 0; i < count; ++i) {
    long double e = excess(complexAt(dtype, want, i), complexAt(dtype, have, i),
                           dtype.code == kDLBool, tolerance);
    wrong += e > 0;
    if (e > most) {
      most = e;
      worst = i;
    }
  }
  if (!wrong)
    return {};
  char distance[64] = "";
  if (std::isfinite(most))
    snprintf(distance, sizeof distance, " (%.3Lg times the tolerance)", most);
  return {false, std::to_string(wrong) + " of " + std::to_string(count) +
                     " elements differ, worst at " + indexText(shape, worst) + ": expected " +
                     elementText(dtype, want, worst) + ", got " + elementText(dtype, have, worst) +
                     distance};
}

} // namespace tcc::run
