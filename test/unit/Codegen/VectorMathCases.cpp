// Every function of the math dialect with its exact value in a wider type, and the error that it
// may have in units of the last place.
#include "VectorMathCases.h"
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

namespace tcc::test {

#define TCC_UNARY(name, f, u32, u64)                                                               \
  MathCase {                                                                                       \
    "math." name, 1, [](long double x, long double) -> long double { return std::f(x); },          \
        [](double x, double) -> double { return std::f(x); }, u32, u64                             \
  }
#define TCC_BINARY(name, f, u32, u64)                                                              \
  MathCase {                                                                                       \
    name, 2, [](long double x, long double y) -> long double { return std::f(x, y); },             \
        [](double x, double y) -> double { return std::f(x, y); }, u32, u64                        \
  }

static long double rsqrt(long double x) { return 1 / std::sqrt(x); }

const std::vector<MathCase> &mathCases() {
  static const std::vector<MathCase> cases = {
      TCC_UNARY("exp", exp, 1.2, 1),
      TCC_UNARY("exp2", exp2, 1.1, 1.1),
      TCC_UNARY("expm1", expm1, 1.5, 1.9),
      TCC_UNARY("log", log, 1, 0.9),
      TCC_UNARY("log2", log2, 1.9, 0.8),
      TCC_UNARY("log10", log10, 1.8, 0.7),
      TCC_UNARY("log1p", log1p, 1.6, 1.2),
      TCC_UNARY("sin", sin, 1.6, 1.4),
      TCC_UNARY("cos", cos, 1.6, 1.3),
      TCC_UNARY("tan", tan, 1.3, 1.3),
      TCC_UNARY("asin", asin, 1.2, 0.7),
      TCC_UNARY("acos", acos, 1.2, 0.7),
      TCC_UNARY("atan", atan, 1.5, 0.7),
      TCC_UNARY("sinh", sinh, 1.7, 2.4),
      TCC_UNARY("cosh", cosh, 1.6, 1.5),
      TCC_UNARY("tanh", tanh, 2, 2.5),
      TCC_UNARY("asinh", asinh, 0.51, 1.8),
      TCC_UNARY("acosh", acosh, 0.51, 2),
      TCC_UNARY("atanh", atanh, 0.51, 1.8),
      TCC_UNARY("erf", erf, 1.5, 1.1),
      TCC_UNARY("erfc", erfc, 0.51, 3.8),
      TCC_UNARY("floor", floor, 0, 0),
      TCC_UNARY("ceil", ceil, 0, 0),
      TCC_UNARY("trunc", trunc, 0, 0),
      TCC_UNARY("roundeven", nearbyint, 0, 0),
      TCC_UNARY("absf", fabs, 0, 0),
      TCC_UNARY("sqrt", sqrt, 0.5, 0.5),
      MathCase{"math.rsqrt", 1, [](long double x, long double) -> long double { return rsqrt(x); },
               [](double x, double) -> double { return rsqrt(x); }, 1.5, 1.5},
      TCC_BINARY("math.powf", pow, 0.51, 0.8),
      TCC_BINARY("math.atan2", atan2, 1.5, 0.8),
      TCC_BINARY("math.copysign", copysign, 0, 0),
      TCC_BINARY("arith.remf", fmod, 0, 0),
  };
  return cases;
}

template <typename T, typename Wide> double ulpError(T got, Wide exact) {
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(exact) ? 0 : std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  // What rounds to infinity is compared as the power of two that infinity stands for.
  Wide top = std::ldexp(Wide(1), Limits::max_exponent);
  auto finite = [&](Wide v) { return std::abs(v) > top ? std::copysign(top, v) : v; };
  Wide a = finite(got), b = finite(exact);
  if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b))
    return std::numeric_limits<double>::infinity();
  int exponent = b == 0 ? Limits::min_exponent - 1 : std::ilogb(b);
  exponent = std::max(exponent, Limits::min_exponent - 1);
  exponent = std::min(exponent, Limits::max_exponent - 1);
  return static_cast<double>(std::ldexp(std::abs(a - b), Limits::digits - 1 - exponent));
}
template double ulpError(float, double);
template double ulpError(double, long double);

template <typename T> std::vector<T> sampleArguments(int64_t count, uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  using Limits = std::numeric_limits<T>;
  const double pi = 3.14159265358979323846;
  std::vector<T> x;
  for (T v : {T(0), Limits::denorm_min(), Limits::min(), T(1), T(0.5), T(2), T(3), T(1e5), T(10),
              Limits::max(), Limits::infinity(), Limits::quiet_NaN(), T(pi / 4), T(pi / 2), T(pi),
              T(2.5), T(7), T(1) + Limits::epsilon(), T(1) - Limits::epsilon() / 2})
    for (T s : {v, -v})
      x.insert(x.end(),
               {s, std::nextafter(s, T(0)), std::nextafter(s, std::copysign(Limits::max(), s))});
  // A NaN whose payload reaches the lowest bit.
  x.push_back(std::bit_cast<T>(Bits(std::bit_cast<Bits>(Limits::quiet_NaN()) | 0x1ff)));
  std::mt19937_64 random(seed);
  while (static_cast<int64_t>(x.size()) < count) {
    uint64_t r = random();
    double unit = static_cast<double>(r >> 11) * 0x1p-53;
    switch (x.size() % 4) {
    case 0: // any bit pattern
      x.push_back(std::bit_cast<T>(static_cast<Bits>(r)));
      break;
    case 1:
      x.push_back(static_cast<T>((unit - 0.5) * 4));
      break;
    case 2:
      x.push_back(static_cast<T>((unit - 0.5) * 40));
      break;
    default:
      // Multiples of pi/4 and their neighbours, where reduction cancels.
      if (r & 1)
        x.push_back(static_cast<T>((unit - 0.5) * 220));
      else
        x.push_back(static_cast<T>(pi / 4 * std::floor(unit * 300000)));
    }
  }
  x.resize(count);
  return x;
}
template std::vector<float> sampleArguments(int64_t, uint64_t);
template std::vector<double> sampleArguments(int64_t, uint64_t);

} // namespace tcc::test
