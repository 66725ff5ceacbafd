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
  VectorType vector;
  Shaped(ImplicitLocOpBuilder &b, Value like)
      : b(b), vector(dyn_cast<VectorType>(like.getType())) {}
  Type of(Type t) { return vector ? Type(VectorType::get(vector.getShape(), t)) : t; }
  Value constant(TypedAttr a) {
    if (vector)
      a = DenseElementsAttr::get(VectorType::get(vector.getShape(), a.getType()), Attribute(a));
    return arith::ConstantOp::create(b, a);
  }
  Value i32(int64_t v) { return constant(b.getI32IntegerAttr(static_cast<int32_t>(v))); }
  Value f32(double v) { return constant(b.getF32FloatAttr(v)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, of(b.getI32Type()), x); }
  Value floats(Value x) { return arith::BitcastOp::create(b, of(b.getF32Type()), x); }
  Value band(Value x, int64_t m) { return arith::AndIOp::create(b, x, i32(m)); }
  Value less(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
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
    // A power of two: the exponent, rounded to nearest on the mantissa.
    Value rounded = arith::AddIOp::create(b, magnitude, s.i32(0x400000));
    Value e = arith::MinSIOp::create(b, arith::ShRUIOp::create(b, rounded, s.i32(23)), s.i32(254));
    return s.select(isNan, s.i32(255), e);
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
