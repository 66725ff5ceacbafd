//===- Array.cpp - Arrays as tcc-run reads, compares and prints them -----===//
//
// tcc-run links no LLVM, so that it can be copied to a machine beside a model. It therefore has
// its own conversions of narrow floats, and prints names from files only after what could steer a
// terminal is taken out of them.
//
//===----------------------------------------------------------------------===//
#include "Array.h"
#include "tcc/Runtime/dtype_names.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace tcc::run {

bool operator==(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

size_t packedBytes(DLDataType dtype, size_t elements) { return (elements * dtype.bits + 7) / 8; }

size_t elementCount(const std::vector<int64_t> &shape) {
  size_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      throw DataError("a dimension is negative: " + shapeText(shape));
    empty |= dim == 0;
    if (dim && __builtin_mul_overflow(count, size_t(dim), &count))
      throw DataError("the shape " + shapeText(shape) + " is too large");
  }
  if (count > (size_t(1) << 46))
    throw DataError("the shape " + shapeText(shape) + " is too large");
  return empty ? 0 : count;
}

size_t Array::size() const { return elementCount(shape); }

DLTensor Array::view() const {
  auto mutableData = [](const auto &v) {
    return const_cast<typename std::decay_t<decltype(v)>::value_type *>(v.data());
  };
  return {mutableData(bytes),
          {kDLCPU, 0},
          int32_t(shape.size()),
          dtype,
          mutableData(shape),
          strides.empty() ? nullptr : mutableData(strides),
          0};
}

std::string dtypeName(DLDataType dtype) {
  if (dtype.code >= std::size(tcc_dtype_names))
    return "dtype " + std::to_string(dtype.code);
  std::string name = tcc_dtype_names[dtype.code];
  return dtype.code < kDLBool ? name + std::to_string(dtype.bits) : name;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

/// Length of the valid UTF-8 sequence at `at`, and its character; 0 where there is none.
static size_t character(const std::string &text, size_t at, uint32_t &c) {
  auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : 0u; };
  uint32_t first = byte(0);
  size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  c = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (byte(i) & 0x3f);
  }
  bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  return overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : length;
}

/// Controls, and what turns the direction of the text around it or is not seen itself.
static bool isInvisible(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c < 0xe1000);
}

std::string printable(const std::string &text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    uint32_t c = 0;
    size_t length = character(text, at, c);
    bool shown = length && !isInvisible(c);
    for (size_t end = at + (length ? length : 1); at < end; ++at) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, shown ? "%c" : "\\x%02x", uint8_t(text[at]));
      result += escaped;
    }
  }
  return result;
}

// ---- small floats: sign, exponent and fraction fields with a bias ----

namespace {

struct SmallFloat {
  int exponent, fraction, bias;
  enum { Ieee, Finite, FiniteUnsignedZero, PowersOnly } kind;
};

/// Null for the types that C++ has itself.
const SmallFloat *smallFloat(DLDataType dtype) {
  static const SmallFloat f16{5, 10, 15, SmallFloat::Ieee}, bf16{8, 7, 127, SmallFloat::Ieee},
      e4m3fn{4, 3, 7, SmallFloat::Finite}, e4m3fnuz{4, 3, 8, SmallFloat::FiniteUnsignedZero},
      e5m2{5, 2, 15, SmallFloat::Ieee}, e5m2fnuz{5, 2, 16, SmallFloat::FiniteUnsignedZero},
      e8m0{8, 0, 127, SmallFloat::PowersOnly}, e2m1{2, 1, 1, SmallFloat::Finite};
  switch (dtype.code) {
  case kDLFloat:
    return dtype.bits == 16 ? &f16 : nullptr;
  case kDLBfloat:
    return &bf16;
  case kDLFloat8_e4m3fn:
    return &e4m3fn;
  case kDLFloat8_e4m3fnuz:
    return &e4m3fnuz;
  case kDLFloat8_e5m2:
    return &e5m2;
  case kDLFloat8_e5m2fnuz:
    return &e5m2fnuz;
  case kDLFloat8_e8m0fnu:
    return &e8m0;
  case kDLFloat4_e2m1fn:
    return &e2m1;
  default:
    return nullptr;
  }
}

double decode(const SmallFloat &f, unsigned bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.kind == SmallFloat::PowersOnly)
    return bits == 0xff ? nan : std::ldexp(1.0, int(bits) - f.bias);
  unsigned width = f.exponent + f.fraction, magnitude = bits & ((1u << width) - 1);
  unsigned exponent = magnitude >> f.fraction, fraction = magnitude & ((1u << f.fraction) - 1);
  double sign = bits >> width & 1 ? -1 : 1;
  unsigned last = (1u << f.exponent) - 1;
  if (f.kind == SmallFloat::FiniteUnsignedZero && bits == 1u << width)
    return nan;
  if (f.kind == SmallFloat::Ieee && exponent == last)
    return fraction ? nan : sign * std::numeric_limits<double>::infinity();
  if (f.kind == SmallFloat::Finite && width == 7 && magnitude == 0x7f)
    return nan;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - f.bias - f.fraction);
  return sign * std::ldexp((1u << f.fraction) + fraction, int(exponent) - f.bias - f.fraction);
}

/// The nearest finite value, by bisection over the ordered positive codes.
unsigned encode(const SmallFloat &f, double value) {
  unsigned low = 0, high = 1u << (f.exponent + f.fraction);
  double magnitude = std::fabs(value);
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    double at = decode(f, middle);
    (std::isfinite(at) && at <= magnitude ? low : high) = middle;
  }
  double above = decode(f, high);
  if (high < 1u << (f.exponent + f.fraction) && std::isfinite(above) &&
      above - magnitude < magnitude - decode(f, low))
    low = high;
  bool negative = std::signbit(value) && f.kind != SmallFloat::PowersOnly;
  return low | unsigned(negative) << (f.exponent + f.fraction);
}

template <typename T> T load(const char *bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(char *bytes, size_t i, double value) {
  T rounded = T(value);
  std::memcpy(bytes + i * sizeof(T), &rounded, sizeof(T));
}

/// Elements of at most 16 bits as they lie in memory.
unsigned loadBits(DLDataType dtype, const char *bytes, size_t i) {
  if (dtype.bits == 16)
    return load<uint16_t>(bytes, i);
  unsigned perByte = 8 / dtype.bits;
  return uint8_t(bytes[i / perByte]) >> (i % perByte * dtype.bits) & ((1u << dtype.bits) - 1);
}

void storeBits(DLDataType dtype, char *bytes, size_t i, unsigned value) {
  if (dtype.bits == 16) {
    store<uint16_t>(bytes, i, value);
    return;
  }
  unsigned perByte = 8 / dtype.bits, shift = i % perByte * dtype.bits;
  unsigned mask = ((1u << dtype.bits) - 1) << shift;
  bytes[i / perByte] = char((uint8_t(bytes[i / perByte]) & ~mask) | (value << shift & mask));
}

} // namespace

long double realAt(DLDataType dtype, const char *bytes, size_t i) {
  if (const SmallFloat *f = smallFloat(dtype))
    return decode(*f, loadBits(dtype, bytes, i));
  if (dtype.code == kDLFloat)
    return dtype.bits == 32 ? load<float>(bytes, i) : load<double>(bytes, i);
  bool isSigned = dtype.code == kDLInt;
  if (dtype.bits == 64)
    return isSigned ? (long double)load<int64_t>(bytes, i) : load<uint64_t>(bytes, i);
  if (dtype.bits == 32)
    return isSigned ? (long double)load<int32_t>(bytes, i) : load<uint32_t>(bytes, i);
  unsigned bits = loadBits(dtype, bytes, i), sign = isSigned ? 1u << (dtype.bits - 1) : 0;
  return int(bits ^ sign) - int(sign);
}

std::complex<long double> complexAt(DLDataType dtype, const char *bytes, size_t i) {
  if (dtype.code != kDLComplex)
    return {realAt(dtype, bytes, i), 0};
  DLDataType part{kDLFloat, uint8_t(dtype.bits / 2), 1};
  return {realAt(part, bytes, 2 * i), realAt(part, bytes, 2 * i + 1)};
}

std::string elementText(DLDataType dtype, const char *bytes, size_t i) {
  char text[96];
  std::complex<long double> value = complexAt(dtype, bytes, i);
  if (dtype.code == kDLComplex)
    snprintf(text, sizeof text, "%.9Lg%+.9Lgi", value.real(), value.imag());
  else if (dtype.code == kDLInt || dtype.code == kDLUInt)
    snprintf(text, sizeof text, "%.0Lf", value.real());
  else if (dtype.code == kDLBool)
    return value.real() != 0 ? "true" : "false";
  else
    snprintf(text, sizeof text, dtype.bits == 64 ? "%.17Lg" : "%.9Lg", value.real());
  return text;
}

void storeReal(DLDataType dtype, char *bytes, size_t i, double value) {
  if (const SmallFloat *f = smallFloat(dtype))
    storeBits(dtype, bytes, i, encode(*f, value));
  else if (dtype.code == kDLFloat && dtype.bits == 32)
    store<float>(bytes, i, value);
  else if (dtype.code == kDLFloat)
    store<double>(bytes, i, value);
  else if (dtype.bits == 64)
    store<int64_t>(bytes, i, value);
  else if (dtype.bits == 32)
    store<int32_t>(bytes, i, value);
  else
    storeBits(dtype, bytes, i, unsigned(int(value)));
}

} // namespace tcc::run
