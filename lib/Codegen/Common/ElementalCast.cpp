//===- ElementalCast.cpp - Conversions of element types on registers ------===//
//
// Between any two element types, whose registers may be the same: what a type cannot hold is
// rounded, wrapped or set to its nearest bound as prim.cast says, and a float that no integer
// stands for becomes 0.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using prim::isUnsigned;

/// 1.5 * 2^23: what is added to it is rounded to an integer, and is in its lower bits.
static constexpr double kDigitsEndAtOne = 12582912.0;

/// What quantisation makes of x: a byte from round(v) + c, of a whole number c. Clamped before it
/// is rounded, v becomes an integer by an addition of a number whose digits end at 1; c follows
/// there, because where halves round to depends on it. What is no number becomes 0 last, as
/// an integer: had the choice been between floats, ptxas (13.0) would convert the number that is
/// stored as a byte (F2IP.U8), though it is bits. Null where x is something else.
static Value roundedToByte(ImplicitLocOpBuilder &b, Value x, Type to) {
  constexpr double kLargest = 1 << 16;
  if (!getElementTypeOrSelf(x.getType()).isF32() || to.getIntOrFloatBitWidth() != 8)
    return {};
  double whole = 0;
  Value rounded = x;
  if (auto add = x.getDefiningOp<arith::AddFOp>()) {
    APFloat c(0.0f);
    Value number = add.getRhs();
    if (auto all = number.getDefiningOp<vector::BroadcastOp>())
      number = all.getSource();
    if (!matchPattern(number, m_ConstantFloat(&c)))
      return {};
    whole = c.convertToFloat();
    rounded = add.getLhs();
  }
  auto round = rounded.getDefiningOp<math::RoundEvenOp>();
  if (!round || whole != std::rint(whole) || std::fabs(whole) > kLargest)
    return {};
  double low = isUnsigned(to) ? 0 : -128;
  Value v = round.getOperand(), least = number(b, low - whole, x),
        most = number(b, low + 255 - whole, x);
  auto choose = [&](arith::CmpFPredicate better, Value bound) {
    v = arith::SelectOp::create(b, arith::CmpFOp::create(b, better, v, bound), v, bound);
  };
  choose(arith::CmpFPredicate::OGT, least);
  choose(arith::CmpFPredicate::OLT, most);
  v = arith::AddFOp::create(b, v, number(b, kDigitsEndAtOne, x));
  v = arith::BitcastOp::create(b, likeType(b.getI32Type(), x), v);
  if (whole != 0)
    v = arith::AddIOp::create(b, v,
                              constantLike(b, b.getI32IntegerAttr(static_cast<int32_t>(whole)), x));
  Value isNumber =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, round.getOperand(), round.getOperand());
  v = arith::SelectOp::create(b, isNumber, v, constantLike(b, b.getI32IntegerAttr(0), x));
  Type byte = likeType(b.getI8Type(), x), result = likeType(computeType(to), x);
  v = arith::TruncIOp::create(b, byte, v);
  if (result == byte)
    return v;
  return isUnsigned(to) ? arith::ExtUIOp::create(b, result, v).getResult()
                        : arith::ExtSIOp::create(b, result, v).getResult();
}

/// `x`, from the function above, as the float that it was before: what is
/// quantised only to be dequantised never becomes an integer. Null where it is something else.
static Value floatOfRounded(ImplicitLocOpBuilder &b, Value x) {
  auto byte = x.getDefiningOp<arith::TruncIOp>();
  if (!byte)
    return {};
  auto select = byte.getIn().getDefiningOp<arith::SelectOp>();
  if (!select)
    return {};
  Value bits = select.getTrueValue();
  APInt whole(32, 0);
  if (auto add = bits.getDefiningOp<arith::AddIOp>()) {
    if (!matchPattern(add.getRhs(), m_ConstantInt(&whole)))
      return {};
    bits = add.getLhs();
  }
  auto cast = bits.getDefiningOp<arith::BitcastOp>();
  auto add = cast ? cast.getIn().getDefiningOp<arith::AddFOp>() : nullptr;
  APFloat digits(0.0f);
  if (!add || !matchPattern(add.getRhs(), m_ConstantFloat(&digits)) ||
      !digits.isExactlyValue(kDigitsEndAtOne))
    return {};
  Value f = arith::SubFOp::create(b, add, number(b, kDigitsEndAtOne, add));
  if (!whole.isZero())
    f = arith::AddFOp::create(b, f, number(b, static_cast<double>(whole.getSExtValue()), f));
  return arith::SelectOp::create(b, select.getCondition(), f, number(b, 0, f));
}

/// Truncates towards zero; out of range gives the nearest bound, NaN gives 0. Clamped first, to
/// bounds that the float type has, because a machine's maximum is one instruction: the largest
/// integer takes another comparison where that type does not have it.
static Value floatToInteger(ImplicitLocOpBuilder &b, Value x, Type to) {
  using P = arith::CmpFPredicate;
  unsigned width = to.getIntOrFloatBitWidth(),
           registerWidth = computeType(to).getIntOrFloatBitWidth();
  unsigned mantissa = cast<FloatType>(getElementTypeOrSelf(x.getType())).getFPMantissaWidth();
  bool uns = isUnsigned(to), hasBound = width <= mantissa;
  double low = uns ? 0.0 : -std::ldexp(1.0, width - 1);
  double limit = std::ldexp(1.0, uns ? width : width - 1); // first value above the range
  double high = hasBound ? limit - 1 : limit - std::ldexp(limit, -static_cast<int>(mantissa));
  auto choose = [&](P better, Value v, Value bound) -> Value {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, better, v, bound), v, bound);
  };
  Type result = likeType(computeType(to), x);
  if (Value byte = roundedToByte(b, x, to))
    return byte;
  Value clamped = choose(P::OGT, x, number(b, low, x));
  clamped = choose(P::OLT, clamped, number(b, high, x));
  Value converted = uns && registerWidth == width
                        ? Value(arith::FPToUIOp::create(b, result, clamped))
                        : Value(arith::FPToSIOp::create(b, result, clamped));
  if (!hasBound) {
    APInt largest = uns ? APInt::getMaxValue(width).zext(registerWidth)
                        : APInt::getSignedMaxValue(width).sext(registerWidth);
    Value most = constantLike(b, b.getIntegerAttr(computeType(to), largest), x);
    Value tooHigh = arith::CmpFOp::create(b, P::OGE, x, number(b, limit, x));
    converted = arith::SelectOp::create(b, tooHigh, most, converted);
  }
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(result)));
  Value isNumber = arith::CmpFOp::create(b, P::ORD, x, x);
  return arith::SelectOp::create(b, isNumber, converted, zero);
}

/// What of `x`, an integer from `floatToInteger`, has the same lower bits: it does not ask whether
/// the float is a number, for none was clamped to the lowest integer, whose lower bits are those of
/// 0; and what is too high is -1 before it is converted, whose lower bits are those of the largest
/// integer, instead of a maximum before and a choice after it.
static Value lowerBitsOf(ImplicitLocOpBuilder &b, Value x) {
  auto select = x.getDefiningOp<arith::SelectOp>();
  auto test = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  bool isNumber = test && test.getPredicate() == arith::CmpFPredicate::ORD &&
                  test.getLhs() == test.getRhs() && matchPattern(select.getFalseValue(), m_Zero());
  if (!isNumber)
    return x;
  x = select.getTrueValue();
  auto bounded = x.getDefiningOp<arith::SelectOp>();
  auto converted = bounded ? bounded.getFalseValue().getDefiningOp<arith::FPToSIOp>() : nullptr;
  auto belowHigh = converted ? converted.getIn().getDefiningOp<arith::SelectOp>() : nullptr;
  if (!belowHigh)
    return x;
  Value aboveLow = belowHigh.getTrueValue();
  Value in =
      arith::SelectOp::create(b, bounded.getCondition(), number(b, -1.0, aboveLow), aboveLow);
  return arith::FPToSIOp::create(b, x.getType(), in);
}

Value tcc::codegen::emitCast(ImplicitLocOpBuilder &b, Value x, Type from, Type to, bool saturate) {
  Type ct = computeType(to), cf = computeType(from), rt = likeType(ct, x);
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (cf.getIntOrFloatBitWidth() > ct.getIntOrFloatBitWidth())
      x = ct == to ? Value(arith::TruncFOp::create(b, rt, x)) : floatToOdd(b, x, to);
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
    if (Value f = to.isF32() && from.isInteger(8) ? floatOfRounded(b, x) : Value())
      return f;
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
    r = arith::TruncIOp::create(b, rt, isUnsigned(from) ? x : lowerBitsOf(b, x));
  else if (wf < wt)
    r = isUnsigned(from) ? Value(arith::ExtUIOp::create(b, rt, x))
                         : Value(arith::ExtSIOp::create(b, rt, x));
  return wrapToStorage(b, r, to);
}
