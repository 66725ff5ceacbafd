//===- Agreement.cpp - Whether two tensors are the same but for rounding --===//
//
// An element agrees within an allowance of its own size and of the tensor's, which is its root mean
// square: what is near 0 in a tensor of large numbers carries their rounding. Where values between
// kernels are rounded as well, single elements are off by much more than all of them together, so
// these are held to a bound of their own. Not a number agrees with itself, infinity with the same
// infinity alone; integers of 8 bits may be off by one, which is how they were quantized.
//
//===----------------------------------------------------------------------===//
#include "tcc/Verify/Agreement.h"
#include <cmath>
#include <cstdio>
#include <type_traits>

using namespace llvm;
using namespace tcc;
using reference::Tensor;

void Agreement::include(const Agreement &other) {
  if (agrees && !other.agrees)
    worst = other.worst;
  agrees &= other.agrees;
  maxAbsolute = std::max(maxAbsolute, other.maxAbsolute);
  maxRelative = std::max(maxRelative, other.maxRelative);
}

static std::string text(double v) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.6g", v);
  return buffer;
}

static std::string text(int64_t v) { return std::to_string(v); }

static std::string text(uint64_t v) { return std::to_string(v); }

static std::string text(std::complex<double> v) {
  return text(v.real()) + "+" + text(v.imag()) + "i";
}

std::string Agreement::errors() const {
  return "error " + text(maxAbsolute) + " absolute, " + text(maxRelative) + " relative";
}

static double relativeTolerance(DType type) {
  switch (type) {
  case DType::F64:
  case DType::C128:
    return 1e-8;
  case DType::F32:
  case DType::C64:
    return 1e-3;
  case DType::F16:
    return 1e-2;
  case DType::BF16:
    return 5e-2;
  default:
    return 0.25;
  }
}

static std::string indexText(ArrayRef<int64_t> shape, int64_t position) {
  SmallVector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; position /= shape[axis])
    index[axis] = position % shape[axis];
  return reference::shapeText(index);
}

double tcc::integerDistance(int64_t a, int64_t b, DType type) {
  auto first = static_cast<uint64_t>(a), second = static_cast<uint64_t>(b);
  bool isLess = isUnsignedInt(type) ? first < second : a < b;
  return static_cast<double>(isLess ? second - first : first - second);
}

Allowance Allowance::of(DType type) {
  double r = relativeTolerance(type);
  return {r, r / 10, 2 * r};
}

Allowance Allowance::ofTf32() {
  double r = relativeTolerance(DType::F16);
  return {r, r, r};
}

Allowance Allowance::between(DType type) {
  constexpr double outliers = 8;
  double r = relativeTolerance(type);
  return {outliers * r, outliers * r, r};
}

Allowance Allowance::orMore(const Allowance &other) const {
  return {std::max(ofValue, other.ofValue), std::max(ofSize, other.ofSize),
          std::max(together, other.together)};
}

namespace {

/// Element by element; T is what they are compared as.
template <typename T> class Comparer {
public:
  Comparer(const Tensor &want, double relative, double absolute, double together = INFINITY)
      : want(want), relative(relative), absolute(absolute), together(together) {}

  void element(int64_t i, T got, T expected, double scale) {
    bool nan = got != got, expectedNan = expected != expected;
    if (got == expected || (nan && expectedNan))
      return;
    double distance = between(got, expected), size = sizeOf(expected);
    bool good = distance <= relative * size + absolute && std::isfinite(distance);
    double over = std::isfinite(distance) ? distance : INFINITY;
    squares += over * over;
    result.maxAbsolute = std::max(result.maxAbsolute, over);
    result.maxRelative = std::max(result.maxRelative, over / std::max(size, scale));
    result.agrees &= good;
    if (good ? over <= mostAllowed : over <= worstOver)
      return;
    (good ? mostAllowed : worstOver) = over;
    (good ? allowedText : result.worst) =
        indexText(want.shape(), i) + ": " + text(got) + " instead of " + text(expected);
  }
  /// After all elements.
  Agreement finished() {
    double mean = squares / static_cast<double>(std::max<int64_t>(1, want.elements()));
    if (result.agrees && !(std::sqrt(mean) <= together)) {
      result.agrees = false;
      result.worst = allowedText;
    }
    return result;
  }

private:
  double between(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return integerDistance(static_cast<int64_t>(a), static_cast<int64_t>(b), want.dtype());
    else
      return std::abs(a - b);
  }
  static double sizeOf(T v) {
    if constexpr (std::is_integral_v<T>)
      return std::abs(static_cast<double>(v));
    else
      return std::abs(v);
  }

  const Tensor &want;
  double relative, absolute, together, squares = 0, worstOver = -1, mostAllowed = -1;
  std::string allowedText;
  Agreement result;
};

} // namespace

static double rootMeanSquare(const Tensor &x) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    double size = std::abs(x.complex(i));
    if (std::isfinite(size)) {
      sum += size * size;
      ++count;
    }
  }
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

template <typename T>
static Agreement compareIntegers(const Tensor &got, const Tensor &want, double apart) {
  Comparer<T> comparer(want, 0, apart);
  for (int64_t i = 0; i < want.elements(); ++i)
    comparer.element(i, static_cast<T>(got.integer(i)), static_cast<T>(want.integer(i)), 1);
  return comparer.finished();
}

Agreement tcc::compare(const Tensor &got, const Tensor &want, const Allowance &allowed) {
  if (got.shape() != want.shape()) {
    Agreement result;
    result.agrees = false;
    result.maxAbsolute = result.maxRelative = INFINITY;
    result.worst = "shape " + reference::shapeText(got.shape()) + " instead of " +
                   reference::shapeText(want.shape());
    return result;
  }
  DType type = want.dtype();
  if (isComplex(type) || isFloat(type)) {
    Allowance may = Allowance::of(type).orMore(allowed);
    double scale = rootMeanSquare(want), together = may.together * scale;
    Comparer<std::complex<double>> comparer(want, may.ofValue, may.ofSize * scale, together);
    Comparer<double> reals(want, may.ofValue, may.ofSize * scale, together);
    for (int64_t i = 0; i < want.elements(); ++i)
      isFloat(type) ? reals.element(i, got.real(i), want.real(i), scale)
                    : comparer.element(i, got.complex(i), want.complex(i), scale);
    return isFloat(type) ? reals.finished() : comparer.finished();
  }
  double apart = bitWidth(type) <= 8 && type != DType::Bool ? 1 : 0;
  if (type == DType::U64)
    return compareIntegers<uint64_t>(got, want, apart);
  return compareIntegers<int64_t>(got, want, apart);
}
