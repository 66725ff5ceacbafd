//===- ElementalCast.cpp - Conversions of element types on registers ------===//
//
// Between any two element types, whose registers may be the same: what a type cannot hold is
// rounded, wrapped or set to its nearest bound as prim.cast says, and a float that no integer
// stands for becomes 0.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using prim::isUnsigned;

/// floatToInteger where the float type has both bounds, so that clamping comes first: half of the
/// comparisons, and a machine's maximum is one instruction.
static Value clampedToInteger(ImplicitLocOpBuilder &b, Value x, Type to, double low, double high) {
  using P = arith::CmpFPredicate;
  auto choose = [&](P better, Value v, Value bound) -> Value {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, better, v, bound), v, bound);
  };
  Value clamped = choose(P::OGT, x, number(b, low, x));
  clamped = choose(P::OLT, clamped, number(b, high, x));
  Type result = likeType(computeType(to), x);
  bool hasRoom = computeType(to).getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth();
  Value converted = isUnsigned(to) && !hasRoom ? Value(arith::FPToUIOp::create(b, result, clamped))
                                               : Value(arith::FPToSIOp::create(b, result, clamped));
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(result)));
  Value isNumber = arith::CmpFOp::create(b, P::ORD, x, x);
  return arith::SelectOp::create(b, isNumber, converted, zero);
}

/// Truncates towards zero; out of range gives the nearest bound, NaN gives 0.
static Value floatToInteger(ImplicitLocOpBuilder &b, Value x, Type to) {
  unsigned width = to.getIntOrFloatBitWidth();
  bool uns = isUnsigned(to);
  Type result = likeType(computeType(to), x);
  double low = uns ? 0.0 : -std::ldexp(1.0, width - 1);
  double limit = std::ldexp(1.0, uns ? width : width - 1); // first value above the range
  auto type = cast<FloatType>(getElementTypeOrSelf(x.getType()));
  if (width <= type.getFPMantissaWidth())
    return clampedToInteger(b, x, to, low, limit - 1);
  Value tooHigh = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, number(b, limit, x));
  Value tooLow = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, number(b, low, x));
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value zero = number(b, 0, x);
  Value outside = arith::OrIOp::create(b, isNan, arith::OrIOp::create(b, tooHigh, tooLow));
  Value safe = arith::SelectOp::create(b, outside, zero, x);
  Value converted = uns ? Value(arith::FPToUIOp::create(b, result, safe))
                        : Value(arith::FPToSIOp::create(b, result, safe));
  unsigned registerWidth = computeType(to).getIntOrFloatBitWidth();
  auto bound = [&](APInt v) {
    v = uns ? v.zext(registerWidth) : v.sext(registerWidth);
    return constantLike(b, b.getIntegerAttr(computeType(to), v), x);
  };
  Value high = bound(uns ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  Value lowest = bound(uns ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  converted = arith::SelectOp::create(b, tooHigh, high, converted);
  return arith::SelectOp::create(b, tooLow, lowest, converted);
}

Value tcc::codegen::emitCast(ImplicitLocOpBuilder &b, Value x, Type from, Type to, bool saturate) {
  Type ct = computeType(to), cf = computeType(from), rt = likeType(ct, x);
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (cf.getIntOrFloatBitWidth() > ct.getIntOrFloatBitWidth())
      x = ct == to ? Value(arith::TruncFOp::create(b, rt, x)) : floatToOdd(b, x);
    else if (cf != ct)
      x = arith::ExtFOp::create(b, rt, x);
    return from == to ? x : roundToStorage(b, x, to, saturate);
  }
  if (isa<FloatType>(from)) {
    if (to.isInteger(1))
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x, number(b, 0, x));
    return floatToInteger(b, x, to);
  }
  if (isa<FloatType>(to)) {
    // Other narrow floats end below 2^24, up to which f32 has every integer.
    bool reaches = to.isBF16() || isa<Float8E8M0FNUType>(to);
    if (reaches && from.getIntOrFloatBitWidth() > 24)
      return roundToStorage(b, integerToOdd(b, x, isUnsigned(from)), to, saturate);
    Value f = isUnsigned(from) ? Value(arith::UIToFPOp::create(b, rt, x))
                               : Value(arith::SIToFPOp::create(b, rt, x));
    return roundToStorage(b, f, to, saturate);
  }
  if (to.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, number(b, 0, x));
  unsigned wf = cf.getIntOrFloatBitWidth(), wt = ct.getIntOrFloatBitWidth();
  Value r = x;
  if (wf > wt)
    r = arith::TruncIOp::create(b, rt, x);
  else if (wf < wt)
    r = isUnsigned(from) ? Value(arith::ExtUIOp::create(b, rt, x))
                         : Value(arith::ExtSIOp::create(b, rt, x));
  return wrapToStorage(b, r, to);
}
