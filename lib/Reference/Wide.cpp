//===- Wide.cpp - Elements widened and narrowed --------------------------===//
//
// The interpreter computes in double or 64-bit integers and rounds once. Integers above 2^53 carry
// a sticky bit, because a plain conversion to double and on to f32 would round twice.
//
//===----------------------------------------------------------------------===//
#include "Reference/Wide.h"
#include "Reference/FloatFormat.h"
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tcc::reference {

namespace {

template <const FloatFormat &format> double decodeByte(uint8_t pattern) {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> values{};
    for (unsigned i = 0; i < 256; ++i)
      values[i] = decode(format, i & ((1u << format.bits) - 1));
    return values;
  }();
  return table[pattern];
}

template <typename Stored, typename W, typename Decode>
void widenBy(const char *from, int64_t count, W *to, Decode decode) {
  auto *elements = reinterpret_cast<const Stored *>(from);
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<W>(decode(elements[i]));
}

template <typename Stored, typename W> void widenPlain(const char *from, int64_t count, W *to) {
  widenBy<Stored>(from, count, to, [](Stored x) { return x; });
}

template <typename Part, typename W> void widenComplex(const char *from, int64_t count, W *to) {
  auto *parts = reinterpret_cast<const Part *>(from);
  for (int64_t i = 0; i < count; ++i)
    if constexpr (std::is_same_v<W, Complex>)
      to[i] = Complex(parts[2 * i], parts[2 * i + 1]);
    else
      to[i] = static_cast<W>(parts[2 * i]);
}

/// An integer as a double that rounds to every narrower float as the integer
/// does: beyond 2^53 the low bits become one sticky bit.
double sticky(uint64_t magnitude) {
  if (magnitude >> 53)
    magnitude = (magnitude & ~uint64_t(0xfff)) | (magnitude & 0xfff ? 0x1000 : 0);
  return static_cast<double>(magnitude);
}

template <typename W> double asReal(W x) {
  if constexpr (std::is_same_v<W, Complex>)
    return x.real();
  else if constexpr (std::is_same_v<W, int64_t>)
    return x < 0 ? -sticky(-static_cast<uint64_t>(x)) : sticky(static_cast<uint64_t>(x));
  else if constexpr (std::is_same_v<W, uint64_t>)
    return sticky(x);
  else
    return x;
}

template <typename Stored> Stored truncated(double x) {
  using Limits = std::numeric_limits<Stored>;
  constexpr double end = Limits::digits < 63 ? static_cast<double>(Limits::max()) + 1
                         : Limits::is_signed ? 0x1p63
                                             : 0x1p64;
  if (x >= end)
    return Limits::max();
  if (x <= static_cast<double>(Limits::min()))
    return Limits::min();
  return x == x ? static_cast<Stored>(x) : Stored(0);
}

template <typename Stored, typename W> Stored asInteger(W x) {
  if constexpr (std::is_same_v<W, Complex>)
    return truncated<Stored>(x.real());
  else if constexpr (std::is_same_v<W, double>)
    return truncated<Stored>(x);
  else
    return static_cast<Stored>(x);
}

template <unsigned bits, typename W> int8_t asSmallSigned(W x) {
  constexpr int64_t limit = int64_t(1) << (bits - 1);
  if constexpr (std::is_integral_v<W>)
    return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint64_t>(x) << (8 - bits)) >>
                               (8 - bits));
  else
    return static_cast<int8_t>(std::clamp<int64_t>(asInteger<int64_t>(x), -limit, limit - 1));
}

template <unsigned bits, typename W> uint8_t asSmallUnsigned(W x) {
  constexpr uint64_t last = (uint64_t(1) << bits) - 1;
  if constexpr (std::is_integral_v<W>)
    return static_cast<uint8_t>(static_cast<uint64_t>(x) & last);
  else
    return static_cast<uint8_t>(std::min<uint64_t>(asInteger<uint64_t>(x), last));
}

template <typename Stored, typename W, typename Encode>
void narrowBy(const W *from, int64_t count, char *to, Encode encode) {
  auto *elements = reinterpret_cast<Stored *>(to);
  for (int64_t i = 0; i < count; ++i)
    elements[i] = static_cast<Stored>(encode(from[i]));
}

template <const FloatFormat &format, typename Stored, typename W>
void narrowFloat(const W *from, int64_t count, char *to, bool saturate) {
  narrowBy<Stored>(from, count, to, [=](W x) { return encode(format, asReal(x), saturate); });
}

template <typename Stored, typename W> void narrowInteger(const W *from, int64_t count, char *to) {
  narrowBy<Stored>(from, count, to, [](W x) { return asInteger<Stored>(x); });
}

template <typename Part, typename W> void narrowComplex(const W *from, int64_t count, char *to) {
  auto *parts = reinterpret_cast<Part *>(to);
  for (int64_t i = 0; i < count; ++i) {
    parts[2 * i] = static_cast<Part>(asReal(from[i]));
    if constexpr (std::is_same_v<W, Complex>)
      parts[2 * i + 1] = static_cast<Part>(from[i].imag());
    else
      parts[2 * i + 1] = 0;
  }
}

template <typename W> double asDouble(W x) {
  if constexpr (std::is_same_v<W, Complex>)
    return x.real();
  else
    return static_cast<double>(x);
}

} // namespace

template <typename W> void widen(DType type, const char *from, int64_t count, W *to) {
  switch (type) {
  case DType::F16:
    return widenBy<uint16_t>(from, count, to, decodeF16);
  case DType::BF16:
    return widenBy<uint16_t>(from, count, to, decodeBF16);
  case DType::F32:
    return widenPlain<float>(from, count, to);
  case DType::F64:
    return widenPlain<double>(from, count, to);
  case DType::F8E4M3FN:
    return widenBy<uint8_t>(from, count, to, decodeByte<kF8E4M3FN>);
  case DType::F8E4M3FNUZ:
    return widenBy<uint8_t>(from, count, to, decodeByte<kF8E4M3FNUZ>);
  case DType::F8E5M2:
    return widenBy<uint8_t>(from, count, to, decodeByte<kF8E5M2>);
  case DType::F8E5M2FNUZ:
    return widenBy<uint8_t>(from, count, to, decodeByte<kF8E5M2FNUZ>);
  case DType::F8E8M0FNU:
    return widenBy<uint8_t>(from, count, to, decodeE8M0);
  case DType::F4E2M1FN:
    return widenBy<uint8_t>(from, count, to, decodeByte<kF4E2M1FN>);
  case DType::I2:
  case DType::I4:
  case DType::I8:
    return widenPlain<int8_t>(from, count, to);
  case DType::I16:
    return widenPlain<int16_t>(from, count, to);
  case DType::I32:
    return widenPlain<int32_t>(from, count, to);
  case DType::I64:
    return widenPlain<int64_t>(from, count, to);
  case DType::U2:
  case DType::U4:
  case DType::U8:
    return widenPlain<uint8_t>(from, count, to);
  case DType::Bool:
    return widenBy<uint8_t>(from, count, to, [](uint8_t x) { return x != 0; });
  case DType::U16:
    return widenPlain<uint16_t>(from, count, to);
  case DType::U32:
    return widenPlain<uint32_t>(from, count, to);
  case DType::U64:
    return widenPlain<uint64_t>(from, count, to);
  case DType::C64:
    return widenComplex<float>(from, count, to);
  case DType::C128:
    return widenComplex<double>(from, count, to);
  }
}

template <typename W>
void narrow(DType type, const W *from, int64_t count, char *to, bool saturate) {
  switch (type) {
  case DType::F16:
    return narrowFloat<kF16, uint16_t>(from, count, to, false);
  case DType::BF16:
    return narrowFloat<kBF16, uint16_t>(from, count, to, false);
  case DType::F32:
    return narrowBy<float>(from, count, to, [](W x) { return asReal(x); });
  case DType::F64:
    return narrowBy<double>(from, count, to, [](W x) { return asDouble(x); });
  case DType::F8E4M3FN:
    return narrowFloat<kF8E4M3FN, uint8_t>(from, count, to, saturate);
  case DType::F8E4M3FNUZ:
    return narrowFloat<kF8E4M3FNUZ, uint8_t>(from, count, to, saturate);
  case DType::F8E5M2:
    return narrowFloat<kF8E5M2, uint8_t>(from, count, to, saturate);
  case DType::F8E5M2FNUZ:
    return narrowFloat<kF8E5M2FNUZ, uint8_t>(from, count, to, saturate);
  case DType::F8E8M0FNU:
    return narrowBy<uint8_t>(from, count, to, [=](W x) { return encodeE8M0(asReal(x), saturate); });
  case DType::F4E2M1FN:
    return narrowFloat<kF4E2M1FN, uint8_t>(from, count, to, true);
  case DType::I2:
    return narrowBy<int8_t>(from, count, to, [](W x) { return asSmallSigned<2>(x); });
  case DType::I4:
    return narrowBy<int8_t>(from, count, to, [](W x) { return asSmallSigned<4>(x); });
  case DType::I8:
    return narrowInteger<int8_t>(from, count, to);
  case DType::I16:
    return narrowInteger<int16_t>(from, count, to);
  case DType::I32:
    return narrowInteger<int32_t>(from, count, to);
  case DType::I64:
    return narrowInteger<int64_t>(from, count, to);
  case DType::U2:
    return narrowBy<uint8_t>(from, count, to, [](W x) { return asSmallUnsigned<2>(x); });
  case DType::U4:
    return narrowBy<uint8_t>(from, count, to, [](W x) { return asSmallUnsigned<4>(x); });
  case DType::U8:
    return narrowInteger<uint8_t>(from, count, to);
  case DType::U16:
    return narrowInteger<uint16_t>(from, count, to);
  case DType::U32:
    return narrowInteger<uint32_t>(from, count, to);
  case DType::U64:
    return narrowInteger<uint64_t>(from, count, to);
  case DType::Bool:
    return narrowBy<uint8_t>(from, count, to, [](W x) { return x != W(0) ? 1 : 0; });
  case DType::C64:
    return narrowComplex<float>(from, count, to);
  case DType::C128:
    return narrowComplex<double>(from, count, to);
  }
}

template void widen(DType, const char *, int64_t, double *);
template void widen(DType, const char *, int64_t, int64_t *);
template void widen(DType, const char *, int64_t, uint64_t *);
template void widen(DType, const char *, int64_t, Complex *);
template void narrow(DType, const double *, int64_t, char *, bool);
template void narrow(DType, const int64_t *, int64_t, char *, bool);
template void narrow(DType, const uint64_t *, int64_t, char *, bool);
template void narrow(DType, const Complex *, int64_t, char *, bool);

} // namespace tcc::reference
