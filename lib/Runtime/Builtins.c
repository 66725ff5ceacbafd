/* Functions that LLVM's code generation calls where the CPU lacks an instruction, and that
 * elsewhere come from libgcc or compiler-rt: conversions of 16-bit floats, 128-bit integer
 * arithmetic and integer powers. A model must need libc and libm only, so they are here; the linker
 * drops the ones that are not called.
 *
 * The conversions round to nearest even and keep NaN payloads' upper bits, as IEEE 754 asks.
 */
#include <stdint.h>
#include <string.h>

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ---- f16 and bf16, from the bits of a float or a double ---- */

/* Rounds `value >> shift` to nearest even; shift is from 1 to 63. */
static uint64_t shift_round(uint64_t value, unsigned shift) {
  uint64_t kept = value >> shift, rest = value & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

/* One format to a narrower one. Fields: exponent and fraction widths. A carry out of the fraction
 * runs into the exponent, which is what rounding up to the next power of two means. */
static uint16_t narrow(uint64_t bits, unsigned from_exp, unsigned from_frac, unsigned to_exp,
                       unsigned to_frac) {
  uint64_t sign = bits >> (from_exp + from_frac);
  uint64_t exponent = bits >> from_frac & ((1ull << from_exp) - 1);
  uint64_t fraction = bits & ((1ull << from_frac) - 1);
  uint64_t to_sign = sign << (to_exp + to_frac), to_max = (1ull << to_exp) - 1;
  unsigned drop = from_frac - to_frac;
  if (exponent == (1ull << from_exp) - 1) {
    uint64_t payload = fraction ? (fraction >> drop) | 1ull << (to_frac - 1) : 0;
    return (uint16_t)(to_sign | to_max << to_frac | payload);
  }
  int64_t e = (int64_t)exponent - ((1ll << (from_exp - 1)) - 1) + ((1ll << (to_exp - 1)) - 1);
  if (exponent == 0)
    ++e; /* subnormals have the exponent of the smallest normal number */
  else
    fraction |= 1ull << from_frac;
  if (e >= (int64_t)to_max)
    return (uint16_t)(to_sign | to_max << to_frac);
  if (e >= 1 && exponent != 0) {
    uint64_t rounded = shift_round(fraction, drop) + ((uint64_t)(e - 1) << to_frac);
    return (uint16_t)(to_sign | rounded);
  }
  int64_t shift = drop + 1 - e;
  if (shift > 63)
    return (uint16_t)to_sign;
  return (uint16_t)(to_sign | shift_round(fraction, (unsigned)shift));
}

#if defined(__x86_64__) /* AArch64 converts f16 in hardware. */
static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* _Float16 and __bf16 come and go in xmm0 on x86-64. */
static _Float16 half_of(uint16_t bits) {
  _Float16 value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

float __extendhfsf2(_Float16 value);
double __extendhfdf2(_Float16 value);
_Float16 __truncsfhf2(float value);
_Float16 __truncdfhf2(double value);

float __extendhfsf2(_Float16 value) {
  uint16_t half;
  memcpy(&half, &value, sizeof half);
  uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31)
    return float_of(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent)
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f;
  return float_of(sign | bits_of(magnitude));
}

double __extendhfdf2(_Float16 value) { return (double)__extendhfsf2(value); }

_Float16 __truncsfhf2(float value) { return half_of(narrow(bits_of(value), 8, 23, 5, 10)); }

_Float16 __truncdfhf2(double value) {
  return half_of(narrow(bits_of_double(value), 11, 52, 5, 10));
}
#endif

__bf16 __truncsfbf2(float value);
__bf16 __truncdfbf2(double value);

static __bf16 bfloat_of(uint16_t bits) {
  __bf16 value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

__bf16 __truncsfbf2(float value) { return bfloat_of(narrow(bits_of(value), 8, 23, 8, 7)); }

__bf16 __truncdfbf2(double value) { return bfloat_of(narrow(bits_of_double(value), 11, 52, 8, 7)); }

/* ---- 128-bit integers ---- */

typedef __int128 i128;
typedef unsigned __int128 u128;

u128 __udivti3(u128 a, u128 b);
u128 __umodti3(u128 a, u128 b);
i128 __divti3(i128 a, i128 b);
i128 __modti3(i128 a, i128 b);
i128 __muloti4(i128 a, i128 b, int *overflow);

/* Schoolbook division, a bit at a time: such divisions are rare. */
static u128 divide(u128 a, u128 b, u128 *rest) {
  u128 quotient = 0, left = 0;
  for (int i = 127; i >= 0; --i) {
    u128 carry = left >> 127;
    left = left << 1 | (a >> i & 1);
    if (carry || left >= b) {
      left -= b;
      quotient |= (u128)1 << i;
    }
  }
  *rest = left;
  return quotient;
}

u128 __udivti3(u128 a, u128 b) {
  u128 rest;
  return divide(a, b, &rest);
}

u128 __umodti3(u128 a, u128 b) {
  u128 rest;
  divide(a, b, &rest);
  return rest;
}

static u128 magnitude(i128 value) { return value < 0 ? -(u128)value : (u128)value; }

i128 __divti3(i128 a, i128 b) {
  u128 rest, quotient = divide(magnitude(a), magnitude(b), &rest);
  return (a < 0) != (b < 0) ? (i128)-quotient : (i128)quotient;
}

i128 __modti3(i128 a, i128 b) {
  u128 rest;
  divide(magnitude(a), magnitude(b), &rest);
  return a < 0 ? (i128)-rest : (i128)rest;
}

i128 __muloti4(i128 a, i128 b, int *overflow) {
  u128 x = magnitude(a), y = magnitude(b), product = x * y;
  int negative = (a < 0) != (b < 0);
  u128 limit = ((u128)1 << 127) - !negative;
  *overflow = x && y && (product / x != y || product > limit);
  return negative ? (i128)-product : (i128)product;
}

/* ---- integer powers ---- */

float __powisf2(float a, int b);
double __powidf2(double a, int b);

double __powidf2(double a, int b) {
  unsigned n = b < 0 ? -(unsigned)b : (unsigned)b;
  double result = 1;
  for (; n; n >>= 1, a *= a)
    if (n & 1)
      result *= a;
  return b < 0 ? 1 / result : result;
}

float __powisf2(float a, int b) {
  unsigned n = b < 0 ? -(unsigned)b : (unsigned)b;
  float result = 1;
  for (; n; n >>= 1, a *= a)
    if (n & 1)
      result *= a;
  return b < 0 ? 1 / result : result;
}
