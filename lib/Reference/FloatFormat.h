//===- FloatFormat.h - Floats narrower than 32 bits ------------*- C++ -*-===//
//
// Encoding from and decoding to double of every narrow float, by one description
// of a format. Rounding is to nearest even: adding and subtracting a power of two
// whose unit in the last place is the format's spacing at x does it, exactly, for
// normal and subnormal results alike.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tcc::reference {

struct FloatFormat {
  int bits, mantissa, bias;
  double largest;
  uint32_t infinity;    ///< the pattern of +inf; 0 where there is none
  uint32_t nan;         ///< a pattern of NaN; the only one where there is no infinity
  bool hasNegativeZero; ///< else that pattern is NaN, or there is no sign
};

inline constexpr FloatFormat kF16{16, 10, 15, 65504.0, 0x7c00, 0x7e00, true};
inline constexpr FloatFormat kBF16{16, 7, 127, 0x1.fep127, 0x7f80, 0x7fc0, true};
inline constexpr FloatFormat kF8E4M3FN{8, 3, 7, 448.0, 0, 0x7f, true};
inline constexpr FloatFormat kF8E4M3FNUZ{8, 3, 8, 240.0, 0, 0x80, false};
inline constexpr FloatFormat kF8E5M2{8, 2, 15, 57344.0, 0x7c, 0x7e, true};
inline constexpr FloatFormat kF8E5M2FNUZ{8, 2, 16, 57344.0, 0, 0x80, false};
inline constexpr FloatFormat kF4E2M1FN{4, 1, 1, 6.0, 0, 0x8, true}; // NaN becomes -0

/// `value` >= 0 rounded to a multiple of the format's spacing there.
inline double roundTo(const FloatFormat &format, double value) {
  int exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52) - 1023;
  exponent = std::max(exponent, 1 - format.bias);
  double magic =
      std::bit_cast<double>(static_cast<uint64_t>(exponent - format.mantissa + 52 + 1023) << 52);
  return (value + magic) - magic;
}

/// The pattern of `value`. Beyond `largest`: that when `saturate` or where the
/// format has neither infinity nor NaN, else infinity, else NaN.
inline uint32_t encode(const FloatFormat &format, double value, bool saturate) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint32_t sign = static_cast<uint32_t>(bits >> 63) << (format.bits - 1);
  if (value != value)
    return format.hasNegativeZero && format.bits > 4 ? format.nan | sign : format.nan;
  double magnitude = std::fabs(value);
  double rounded = magnitude < 4 * format.largest ? roundTo(format, magnitude) : magnitude;
  bool over = rounded > format.largest;
  if (over && !saturate && format.bits > 4)
    return format.infinity ? format.infinity | sign
                           : format.nan | (format.hasNegativeZero ? sign : 0);
  rounded = over ? format.largest : rounded;
  double smallestNormal =
      std::bit_cast<double>(static_cast<uint64_t>(1 - format.bias + 1023) << 52);
  double perStep =
      std::bit_cast<double>(static_cast<uint64_t>(format.mantissa + format.bias - 1 + 1023) << 52);
  uint32_t pattern =
      rounded < smallestNormal
          ? static_cast<uint32_t>(rounded * perStep)
          : static_cast<uint32_t>((std::bit_cast<uint64_t>(rounded) >> (52 - format.mantissa)) -
                                  (static_cast<uint64_t>(1023 - format.bias) << format.mantissa));
  return pattern || format.hasNegativeZero ? pattern | sign : 0;
}

inline double decode(const FloatFormat &format, uint32_t pattern) {
  uint32_t sign = pattern >> (format.bits - 1) & 1;
  uint32_t body = pattern & ((1u << (format.bits - 1)) - 1);
  uint32_t field = body >> format.mantissa, low = body & ((1u << format.mantissa) - 1);
  if (!format.hasNegativeZero && sign && !body)
    return std::nan("");
  if (format.infinity && body >= format.infinity)
    return std::copysign(body == format.infinity ? HUGE_VAL : std::nan(""), sign ? -1.0 : 1.0);
  if (!format.infinity && format.hasNegativeZero && format.bits > 4 && body == format.nan)
    return std::copysign(std::nan(""), sign ? -1.0 : 1.0);
  double value = field ? std::ldexp(low + (1u << format.mantissa),
                                    static_cast<int>(field) - format.bias - format.mantissa)
                       : std::ldexp(low, 1 - format.bias - format.mantissa);
  return sign ? -value : value;
}

/// f8E8M0FNU holds powers of two only: the sign is dropped, ties go up, zero
/// becomes the smallest, infinity and NaN become NaN.
inline uint32_t encodeE8M0(double value, bool saturate) {
  double magnitude = std::fabs(value);
  if (!(magnitude < HUGE_VAL))
    return 0xff;
  int exponent = 0;
  double fraction = std::frexp(magnitude, &exponent); // in [0.5, 1)
  int pattern = magnitude == 0 ? 0 : exponent - 1 + (fraction >= 0.75 ? 1 : 0) + 127;
  return static_cast<uint32_t>(std::clamp(pattern, 0, saturate ? 0xfe : 0xff));
}
inline double decodeE8M0(uint32_t pattern) {
  return pattern == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(pattern) - 127);
}

/// The f16 pattern as a float, without a branch (after M. Dukhan's FP16).
inline float decodeF16(uint16_t pattern) {
  uint32_t word = static_cast<uint32_t>(pattern) << 16;
  uint32_t sign = word & 0x80000000u, body = word + word;
  float normal = std::bit_cast<float>((body >> 4) + (0xe0u << 23)) * 0x1.0p-112f;
  float subnormal = std::bit_cast<float>((body >> 17) | (126u << 23)) - 0.5f;
  return std::bit_cast<float>(sign |
                              std::bit_cast<uint32_t>(body < (1u << 27) ? subnormal : normal));
}
inline float decodeBF16(uint16_t pattern) {
  return std::bit_cast<float>(static_cast<uint32_t>(pattern) << 16);
}

} // namespace tcc::reference
