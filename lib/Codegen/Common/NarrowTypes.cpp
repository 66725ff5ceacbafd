//===- NarrowTypes.cpp - 16-bit and narrower floats, sub-byte integers ----===//
//
// An 8-bit float has E exponent and M mantissa bits with some bias. Rounding an
// f32 to it: normal results by adding half an ulp (ties to even) to the bits and
// shifting; subnormal results by adding a power of two so large that the f32
// adder itself rounds at the right place. Widening multiplies by a power of two,
// which handles subnormals exactly.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cmath>

using namespace mlir;
using namespace tcc::codegen;

namespace {

struct Format {
  int exponentBits, mantissaBits, bias;
  uint16_t nan;      ///< bits of NaN without sign; 0 if there is none: NaN becomes -0
  uint16_t infinity; ///< bits of +inf, or 0
  uint16_t largest;  ///< bits of the largest finite value
  bool fnuz;         ///< no negative zero; 0x80 is NaN
};

Format formatOf(Type t) {
  if (isa<Float8E4M3FNType>(t))
    return {4, 3, 7, 0x7f, 0, 0x7e, false};
  if (isa<Float8E4M3FNUZType>(t))
    return {4, 3, 8, 0x80, 0, 0x7f, true};
  if (isa<Float8E5M2Type>(t))
    return {5, 2, 15, 0x7e, 0x7c, 0x7b, false};
  if (isa<Float8E5M2FNUZType>(t))
    return {5, 2, 16, 0x80, 0, 0x7f, true};
  if (t.isF16())
    return {5, 10, 15, 0x7e00, 0x7c00, 0x7bff, false};
  return {2, 1, 1, 0, 0, 7, false}; // f4E2M1FN
}

/// Builds on the shape (scalar or vector) of one value.
struct Shaped {
  ImplicitLocOpBuilder &b;
  Value like;
  Shaped(ImplicitLocOpBuilder &b, Value like) : b(b), like(like) {}
  Type of(Type t) { return likeType(t, like); }
  Value constant(TypedAttr a) { return constantLike(b, a, like); }
  Value i32(int64_t v) { return constant(b.getI32IntegerAttr(static_cast<int32_t>(v))); }
  Value f32(double v) { return constant(b.getF32FloatAttr(v)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, of(b.getI32Type()), x); }
  Value floats(Value x) { return arith::BitcastOp::create(b, of(b.getF32Type()), x); }
  Value band(Value x, int64_t m) { return arith::AndIOp::create(b, x, i32(m)); }
  Value less(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
  Value same(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); }
  Value compare(arith::CmpFPredicate p, Value x, Value y) {
    return arith::CmpFOp::create(b, p, x, y);
  }
};

} // namespace

bool tcc::codegen::isSubByte(Type t) {
  return t.isIntOrFloat() && !t.isInteger(1) && t.getIntOrFloatBitWidth() < 8;
}

/// The bits (i32) of `x` as a value of the format of `t`.
static Value packBits(ImplicitLocOpBuilder &b, Value x, Type t, bool saturate) {
  Shaped s(b, x);
  Value raw = s.bits(x), sign = arith::ShRUIOp::create(b, raw, s.i32(31));
  Value magnitude = s.band(raw, 0x7fffffff);
  Value isNan = s.less(s.i32(0x7f800000), magnitude);
  if (isa<Float8E8M0FNUType>(t)) {
    // A power of two: the exponent, rounded to nearest on the mantissa. The smallest, 2^-127,
    // is an f32 without an exponent of its own.
    Value rounded = arith::AddIOp::create(b, magnitude, s.i32(0x400000));
    Value isSubnormal = s.less(magnitude, s.i32(0x800000));
    Value two = arith::ShRUIOp::create(
        b, s.select(isSubnormal, arith::AddIOp::create(b, magnitude, s.i32(0x200000)), rounded),
        s.i32(23));
    Value e = saturate ? Value(arith::MinSIOp::create(b, two, s.i32(254))) : two;
    Value isFinite = s.less(magnitude, s.i32(0x7f800000));
    return s.select(isFinite, e, s.i32(255));
  }
  Format f = formatOf(t);
  int shift = 23 - f.mantissaBits;
  Value odd = s.band(arith::ShRUIOp::create(b, magnitude, s.i32(shift)), 1);
  Value half = arith::AddIOp::create(b, odd, s.i32((1 << (shift - 1)) - 1));
  Value rounded =
      arith::ShRUIOp::create(b, arith::AddIOp::create(b, magnitude, half), s.i32(shift));
  Value normal = arith::SubIOp::create(b, rounded, s.i32((127 - f.bias) << f.mantissaBits));
  float magic = std::ldexp(1.0f, 23 - f.mantissaBits + 1 - f.bias);
  int32_t magicBits;
  std::memcpy(&magicBits, &magic, 4);
  Value shifted = s.bits(arith::AddFOp::create(b, s.floats(magnitude), s.f32(magic)));
  Value subnormal = arith::SubIOp::create(b, shifted, s.i32(magicBits));
  Value isSubnormal = s.less(magnitude, s.i32((127 + 1 - f.bias) << 23));
  Value code = s.select(isSubnormal, subnormal, normal);
  Value tooLarge = s.less(s.i32(f.largest), code);
  Value isInf = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, s.i32(0x7f800000));
  bool noNan = f.nan == 0;
  int32_t overflow = saturate || noNan ? f.largest : f.infinity ? f.infinity : f.nan;
  code = s.select(tooLarge, s.i32(overflow), code);
  if (!noNan && f.infinity == 0)
    code = s.select(isInf, s.i32(saturate ? f.largest : f.nan), code);
  else if (f.infinity)
    code = s.select(isInf, s.i32(saturate ? f.largest : f.infinity), code);
  code = s.select(isNan, s.i32(f.nan), code);
  int signBit = f.exponentBits + f.mantissaBits;
  Value signedCode = arith::OrIOp::create(b, code, arith::ShLIOp::create(b, sign, s.i32(signBit)));
  if (noNan)
    signedCode = s.select(isNan, s.i32(1 << signBit), signedCode);
  if (f.fnuz) {
    Value zero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, code, s.i32(0));
    signedCode = s.select(zero, s.i32(0), signedCode);
  }
  return signedCode;
}

/// The f32 value of the bits (i32) of a value of the format of `t`.
static Value unpackBits(ImplicitLocOpBuilder &b, Value raw, Type t) {
  Shaped s(b, raw);
  if (isa<Float8E8M0FNUType>(t)) {
    Value normal = s.floats(arith::ShLIOp::create(b, raw, s.i32(23)));
    Value zero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, raw, s.i32(0));
    Value nan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, raw, s.i32(255));
    return s.select(nan, s.f32(NAN), s.select(zero, s.f32(std::ldexp(1.0, -127)), normal));
  }
  Format f = formatOf(t);
  int signBit = f.exponentBits + f.mantissaBits;
  Value magnitude = s.band(raw, (1 << signBit) - 1);
  Value placed = s.floats(arith::ShLIOp::create(b, magnitude, s.i32(23 - f.mantissaBits)));
  Value value = arith::MulFOp::create(b, placed, s.f32(std::ldexp(1.0, 127 - f.bias)));
  if (f.infinity) {
    Value special = s.less(s.i32(f.infinity - 1), magnitude);
    Value inf = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, s.i32(f.infinity));
    value = s.select(special, s.select(inf, s.f32(INFINITY), s.f32(NAN)), value);
  } else if (f.nan && !f.fnuz) {
    Value nan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, magnitude, s.i32(f.nan));
    value = s.select(nan, s.f32(NAN), value);
  }
  Value sign = arith::ShLIOp::create(b, arith::ShRUIOp::create(b, raw, s.i32(signBit)), s.i32(31));
  value = s.floats(arith::OrIOp::create(b, s.bits(value), sign));
  if (f.fnuz) {
    Value nan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, raw, s.i32(0x80));
    value = s.select(nan, s.f32(NAN), value);
  }
  return value;
}

Value tcc::codegen::packFloat8(ImplicitLocOpBuilder &b, Value x, Type t, bool saturate) {
  Value code = packBits(b, x, t, saturate);
  return arith::TruncIOp::create(b, Shaped(b, x).of(b.getI8Type()), code);
}

Value tcc::codegen::unpackFloat8(ImplicitLocOpBuilder &b, Value code, Type t) {
  return unpackBits(b, arith::ExtUIOp::create(b, Shaped(b, code).of(b.getI32Type()), code), t);
}

/// bf16 is the upper half of f32. Adding less than half of the lower half's range rounds ties to
/// even; a NaN keeps its upper bits and becomes quiet, since rounding might make it infinite.
static Value roundedUpperHalf(ImplicitLocOpBuilder &b, Value x) {
  Shaped s(b, x);
  Value raw = s.bits(x), upper = arith::ShRUIOp::create(b, raw, s.i32(16));
  Value bias = arith::AddIOp::create(b, s.band(upper, 1), s.i32(0x7fff));
  Value rounded = arith::ShRUIOp::create(b, arith::AddIOp::create(b, raw, bias), s.i32(16));
  if (isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(x.getDefiningOp()))
    return rounded; // always a number
  // Not as a comparison of floats: LLVM would move that before an extension of x.
  Value isNan = s.less(s.i32(0x7f800000), s.band(raw, 0x7fffffff));
  return s.select(isNan, arith::OrIOp::create(b, upper, s.i32(0x40)), rounded);
}

Value tcc::codegen::truncateFloat(ImplicitLocOpBuilder &b, Value x, Type t) {
  Shaped s(b, x);
  Value code = t.isBF16() ? roundedUpperHalf(b, x) : packBits(b, x, t, /*saturate=*/false);
  Value narrow = arith::TruncIOp::create(b, s.of(b.getI16Type()), code);
  return arith::BitcastOp::create(b, s.of(t), narrow);
}

Value tcc::codegen::extendFloat(ImplicitLocOpBuilder &b, Value x) {
  Shaped s(b, x);
  Value narrow = arith::BitcastOp::create(b, s.of(b.getI16Type()), x);
  Value raw = arith::ExtUIOp::create(b, s.of(b.getI32Type()), narrow);
  if (getElementTypeOrSelf(x.getType()).isBF16())
    return s.floats(arith::ShLIOp::create(b, raw, s.i32(16)));
  return unpackBits(b, raw, getElementTypeOrSelf(x.getType()));
}
Value tcc::codegen::roundToStorage(ImplicitLocOpBuilder &b, Value x, Type t, bool saturate) {
  if (!isa<FloatType>(t) || t.getIntOrFloatBitWidth() >= 32)
    return x;
  Shaped s(b, x);
  if (t.isF16() || t.isBF16())
    return arith::ExtFOp::create(b, s.of(b.getF32Type()),
                                 Value(arith::TruncFOp::create(b, s.of(t), x)));
  return unpackFloat8(b, packFloat8(b, x, t, saturate), t);
}

Value tcc::codegen::wrapToStorage(ImplicitLocOpBuilder &b, Value x, Type t) {
  auto integer = dyn_cast<IntegerType>(t);
  if (!integer || !isSubByte(t))
    return x;
  Shaped s(b, x);
  Type narrow = s.of(b.getIntegerType(integer.getWidth())), wide = s.of(b.getI8Type());
  Value low = arith::TruncIOp::create(b, narrow, x);
  return integer.isUnsigned() ? Value(arith::ExtUIOp::create(b, wide, low))
                              : Value(arith::ExtSIOp::create(b, wide, low));
}

Value tcc::codegen::fromStorage(ImplicitLocOpBuilder &b, Value v, Type e) {
  Shaped s(b, v);
  if (e.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero);
  }
  if (e.isF16() || e.isBF16())
    return arith::ExtFOp::create(b, s.of(b.getF32Type()), v);
  if (isa<FloatType>(e) && e.getIntOrFloatBitWidth() < 16)
    return unpackFloat8(b, v, e);
  return v;
}

Value tcc::codegen::toStorage(ImplicitLocOpBuilder &b, Value v, Type e) {
  Shaped s(b, v);
  if (e.isInteger(1))
    return arith::ExtUIOp::create(b, s.of(b.getI8Type()), v);
  if (e.isF16() || e.isBF16())
    return arith::TruncFOp::create(b, s.of(e), v);
  if (isa<FloatType>(e) && e.getIntOrFloatBitWidth() < 16)
    return packFloat8(b, v, e, /*saturate=*/false); // prim.cast has done that
  return v;
}

/// The stored bits of `x` as an integer of their width, and back.
static Value bitsOf(ImplicitLocOpBuilder &b, Value x, Type e) {
  Value stored = toStorage(b, x, e);
  unsigned width = getElementTypeOrSelf(stored.getType()).getIntOrFloatBitWidth();
  Type bits = Shaped(b, x).of(b.getIntegerType(width));
  return stored.getType() == bits ? stored : Value(arith::BitcastOp::create(b, bits, stored));
}
static Value ofBits(ImplicitLocOpBuilder &b, Value bits, Type e) {
  unsigned width = getElementTypeOrSelf(bits.getType()).getIntOrFloatBitWidth();
  bool isFloat = isa<FloatType>(e) && width >= 16; // a narrower one is stored as its bits
  Value stored = isFloat ? Value(arith::BitcastOp::create(b, Shaped(b, bits).of(e), bits)) : bits;
  return wrapToStorage(b, fromStorage(b, stored, e), e);
}

Value tcc::codegen::bitcastElement(ImplicitLocOpBuilder &b, Value x, Type from, Type to) {
  return ofBits(b, bitsOf(b, x, from), to);
}

Value tcc::codegen::floatToOdd(ImplicitLocOpBuilder &b, Value x, Type to) {
  using P = arith::CmpFPredicate;
  Shaped s(b, x);
  if (!to.isBF16() && !isa<Float8E8M0FNUType>(to)) {
    // What is subnormal as an f32 is 0 in `to`: others have the 24 bits that are left.
    auto i64 = [&](uint64_t v) { return s.constant(b.getI64IntegerAttr(static_cast<int64_t>(v))); };
    constexpr uint64_t kLow = 0x1fffffff, kLast = 0x20000000;
    Value raw = arith::BitcastOp::create(b, s.of(b.getI64Type()), x);
    Value low = arith::AndIOp::create(b, raw, i64(kLow));
    Value rest = arith::AndIOp::create(b, raw, i64(~kLow));
    Value odd = s.select(s.same(low, i64(0)), rest, arith::OrIOp::create(b, rest, i64(kLast)));
    return arith::TruncFOp::create(b, s.of(b.getF32Type()),
                                   Value(arith::BitcastOp::create(b, x.getType(), odd)));
  }
  Value nearest = arith::TruncFOp::create(b, s.of(b.getF32Type()), x);
  Value back = arith::ExtFOp::create(b, x.getType(), nearest), bits = s.bits(nearest);
  Value even = s.same(s.band(bits, 1), s.i32(0));
  Value below = s.compare(P::OLT, math::AbsFOp::create(b, back), math::AbsFOp::create(b, x));
  Value other = arith::AddIOp::create(b, bits, s.select(below, s.i32(1), s.i32(-1)));
  Value moves = arith::AndIOp::create(b, even, s.compare(P::ONE, back, x));
  return s.floats(s.select(moves, other, bits));
}

Value tcc::codegen::integerToOdd(ImplicitLocOpBuilder &b, Value x, bool isUnsigned) {
  Shaped s(b, x);
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  // Where a float of `digits` bits does not hold all of x either, those below it become its last
  // one.
  auto cut = [&](unsigned digits) {
    Type type = getElementTypeOrSelf(x.getType());
    auto number = [&](uint64_t v) {
      return s.constant(b.getIntegerAttr(type, llvm::APInt(width, v, false, true)));
    };
    uint64_t last = uint64_t(1) << (width - digits), low = last - 1, exact = uint64_t(1) << digits;
    Value below = arith::AndIOp::create(b, x, number(low));
    Value rest = arith::AndIOp::create(b, x, number(-last));
    Value odd =
        s.select(s.same(below, number(0)), rest, arith::OrIOp::create(b, rest, number(last)));
    Value from = isUnsigned ? x : Value(arith::AddIOp::create(b, x, number(exact)));
    Value isExact = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, from,
                                          number(isUnsigned ? exact : 2 * exact));
    x = s.select(isExact, x, odd);
  };
  if (width == 64)
    cut(53);
  if (width == 32) {
    cut(24);
    Type f32 = s.of(b.getF32Type());
    return isUnsigned ? Value(arith::UIToFPOp::create(b, f32, x))
                      : Value(arith::SIToFPOp::create(b, f32, x));
  }
  Type f64 = s.of(b.getF64Type());
  return floatToOdd(b,
                    isUnsigned ? Value(arith::UIToFPOp::create(b, f64, x))
                               : Value(arith::SIToFPOp::create(b, f64, x)),
                    b.getBF16Type());
}

/// One more or less in the order of the patterns, sign and magnitude.
Value tcc::codegen::nextNarrow(ImplicitLocOpBuilder &b, Value x, Value y, Type t) {
  using P = arith::CmpFPredicate;
  Shaped s(b, x);
  Value stored = bitsOf(b, x, t), zero = s.f32(0), one = s.i32(1), minusOne = s.i32(-1);
  Value bits = arith::ExtUIOp::create(b, s.of(b.getI32Type()), stored);
  Value up = s.compare(P::OLT, x, y), moved;
  if (isa<Float8E8M0FNUType>(t)) {
    moved = arith::AddIOp::create(b, bits, s.select(up, one, minusOne));
  } else {
    int32_t sign = 1 << (t.getIntOrFloatBitWidth() - 1);
    Value grows = s.same(up, s.compare(P::OGT, x, zero));
    moved = arith::AddIOp::create(b, bits, s.select(grows, one, minusOne));
    if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(t)) // there is no -0
      moved = s.select(s.same(moved, s.i32(sign)), s.i32(0), moved);
    Value fromZero = s.select(s.compare(P::OLT, y, zero), s.i32(sign | 1), one);
    moved = s.select(s.compare(P::OEQ, x, zero), fromZero, moved);
  }
  Value next = ofBits(b, arith::TruncIOp::create(b, stored.getType(), moved), t);
  next = s.select(s.compare(P::OEQ, x, y), y, next);
  return s.select(s.compare(P::UNO, x, y), arith::AddFOp::create(b, x, y), next);
}
