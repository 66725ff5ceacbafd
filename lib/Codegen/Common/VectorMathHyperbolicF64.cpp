//===- VectorMathHyperbolicF64.cpp - sinh, cosh and inverses in f64 -------===//
//
// From exponentials an eighth as large, which reach as far as the results do, and from
// logarithms of 1 + x.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {

/// The largest argument an eighth of whose exponential is a number.
static constexpr double most = 711.0;
static constexpr double ln2 = 0x1.62e42fefa39efp-1;
/// From here on 1 is nothing beside the square of x.
static constexpr double large = 0x1p28;

/// With m = (e^x - 1) / 8, sinh x = 4 (m + m / (8 m + 1)).
Fp sinhF64(Fp x) {
  Fp a = abs(x);
  Fp m = expm1OverF64(atMost(a, most), 8.0);
  Fp y = (m + m / mulAdd(m, 8.0, 1.0)) * 4.0;
  return select(a < 0x1p-28, x, copySign(y, x));
}

/// With h = e^x / 8, cosh x = 4 (h + 1 / (64 h)).
Fp coshF64(Fp x) {
  Fp h = expOverF64(atMost(abs(x), most), 8.0);
  return (h + 0x1p-6 / h) * 4.0;
}

Fp asinhF64(Fp x) {
  Fp a = abs(x), square = a * a;
  Fp y = log1pF64(a + square / (1.0 + sqrt(square + 1.0)));
  return copySign(select(a < large, y, logF64(a) + ln2), x);
}

Fp acoshF64(Fp x) {
  Fp t = x - 1.0;
  Fp y = log1pF64(t + sqrt(t * (x + 1.0)));
  y = select(x < large, y, logF64(x) + ln2);
  return select(x < 1.0, x.nan(), y);
}

Fp atanhF64(Fp x) {
  Fp a = abs(x);
  return copySign(log1pF64((a + a) / (1.0 - a)) * 0.5, x);
}

} // namespace tcc::codegen::vmath
