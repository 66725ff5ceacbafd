//===- ElementalMath.cpp - Elementwise primitives on registers ------------===//
//
// Operands are scalars or vectors of compute type. Signedness comes from the
// prim element type, since registers hold signless integers.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "PositionBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Dialect/Prim/Shares.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using prim::isUnsigned;

static constexpr auto kContract = arith::FastMathFlags::contract;

namespace {

/// Integer division and remainder that never trap; x / 0 = 0.
struct IntegerDivision {
  ImplicitLocOpBuilder &b;
  Value x, y;
  bool isSigned;
  Value zero = number(b, 0, x);
  Value one = number(b, 1, x);
  Value byZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, y, zero);
  Value byMinusOne =
      isSigned ? Value(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, y, number(b, -1, x)))
               : Value();
  Value safe() {
    Value unsafe = isSigned ? Value(arith::OrIOp::create(b, byZero, byMinusOne)) : byZero;
    return arith::SelectOp::create(b, unsafe, one, y);
  }
  Value quotient() {
    Value q = isSigned ? Value(arith::DivSIOp::create(b, x, safe()))
                       : Value(arith::DivUIOp::create(b, x, safe()));
    if (isSigned)
      q = arith::SelectOp::create(b, byMinusOne, arith::SubIOp::create(b, zero, x), q);
    return arith::SelectOp::create(b, byZero, zero, q);
  }
  Value remainder() {
    // With a divisor of 0 or -1 the divisor used is 1, and the remainder 0.
    return isSigned ? Value(arith::RemSIOp::create(b, x, safe()))
                    : Value(arith::RemUIOp::create(b, x, safe()));
  }
  /// Whether the remainder `r` has another sign than y.
  Value signsDiffer(Value r) {
    Value nonzero = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, r, zero);
    Value differ =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, arith::XOrIOp::create(b, r, y), zero);
    return arith::AndIOp::create(b, nonzero, differ);
  }
};

} // namespace

static Value floorDivide(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  if (isa<FloatType>(e))
    return math::FloorOp::create(b, arith::DivFOp::create(b, x, y));
  IntegerDivision division{b, x, y, !isUnsigned(e)};
  Value q = division.quotient();
  if (isUnsigned(e))
    return q;
  Value lower = arith::SubIOp::create(b, q, division.one);
  Value adjust = division.signsDiffer(division.remainder());
  return arith::SelectOp::create(b, adjust, lower, q);
}

static Value modulo(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  if (isa<FloatType>(e)) {
    Value r = arith::RemFOp::create(b, x, y);
    Value zero = number(b, 0, x);
    Value nonzero = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, r, zero);
    Value rNegative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, r, zero);
    Value yNegative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, y, zero);
    Value differ = arith::XOrIOp::create(b, rNegative, yNegative);
    return arith::SelectOp::create(b, arith::AndIOp::create(b, nonzero, differ),
                                   arith::AddFOp::create(b, r, y), r);
  }
  IntegerDivision division{b, x, y, !isUnsigned(e)};
  Value r = division.remainder();
  if (isUnsigned(e))
    return r;
  return arith::SelectOp::create(b, division.signsDiffer(r), arith::AddIOp::create(b, r, y), r);
}

/// Exponentiation by squaring, as many steps as the largest exponent at hand has bits: few have
/// more than three. Products wrap.
static Value integerPower(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  Value zero = number(b, 0, x), one = number(b, 1, x), rest = y, negative;
  if (getElementTypeOrSelf(x.getType()).isInteger(1)) // of a bit, no shift says what is left
    return arith::SelectOp::create(b, y, x, one);
  if (!isUnsigned(e)) {
    negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, y, zero);
    rest = arith::SelectOp::create(b, negative, zero, y);
  }
  auto more = [&](OpBuilder &, Location loc, ValueRange v) {
    Value open = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v[2], zero);
    if (isa<VectorType>(open.getType()))
      open = vector::ReductionOp::create(b, vector::CombiningKind::OR, open);
    scf::ConditionOp::create(b, loc, open, v);
  };
  auto turn = [&](OpBuilder &, Location loc, ValueRange v) {
    Value odd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                      arith::AndIOp::create(b, v[2], one), zero);
    Value product = arith::MulIOp::create(b, v[0], v[1]);
    scf::YieldOp::create(b, loc,
                         ValueRange{arith::SelectOp::create(b, odd, product, v[0]),
                                    arith::MulIOp::create(b, v[1], v[1]),
                                    arith::ShRUIOp::create(b, v[2], one)});
  };
  SmallVector<Type> types(3, x.getType());
  Value result = scf::WhileOp::create(b, types, ValueRange{one, x, rest}, more, turn).getResult(0);
  if (isUnsigned(e))
    return result;
  // A negative exponent: 1 / x^|y| truncated, not 0 for x = +-1 only.
  Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, one);
  Value minusOne = number(b, -1, x);
  Value isMinusOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, minusOne);
  Value odd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, y, one), zero);
  Value alternating = arith::SelectOp::create(b, odd, minusOne, one);
  Value inverse = arith::SelectOp::create(
      b, isOne, one, arith::SelectOp::create(b, isMinusOne, alternating, zero));
  return arith::SelectOp::create(b, negative, inverse, result);
}

/// The binary algorithm (Stein 1967), whose steps are the same at all points of a vector: of two
/// odd numbers the larger becomes their difference without its factors of two, until all are 0.
static Value greatestDivisor(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  using arith::CmpIPredicate;
  if (e.isInteger(1))
    return arith::OrIOp::create(b, x, y);
  auto magnitude = [&](Value v) -> Value {
    if (!isUnsigned(e))
      return math::AbsIOp::create(b, v);
    Value own = number(b, (1 << std::min(e.getIntOrFloatBitWidth(), 8u)) - 1, v);
    return isSubByte(e) ? arith::AndIOp::create(b, v, own) : v;
  };
  x = magnitude(x);
  y = magnitude(y);
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Value zero = number(b, 0, x), highest = number(b, -std::ldexp(1.0, width - 1), x);
  // The highest bit bounds the shift of a zero.
  auto twos = [&](Value v) -> Value {
    return math::CountTrailingZerosOp::create(b, arith::OrIOp::create(b, v, highest));
  };
  auto odd = [&](Value v) -> Value { return arith::ShRUIOp::create(b, v, twos(v)); };
  Value shared = twos(arith::OrIOp::create(b, x, y));
  Value isNone = arith::CmpIOp::create(b, CmpIPredicate::eq, x, zero);
  Value one = odd(arith::SelectOp::create(b, isNone, y, x));
  Value other = arith::SelectOp::create(b, isNone, zero, y);
  SmallVector<Type> types(2, x.getType());
  auto more = [&](OpBuilder &, Location loc, ValueRange v) {
    Value open = arith::CmpIOp::create(b, CmpIPredicate::ne, v[1], zero);
    if (isa<VectorType>(open.getType()))
      open = vector::ReductionOp::create(b, vector::CombiningKind::OR, open);
    scf::ConditionOp::create(b, loc, open, v);
  };
  auto turn = [&](OpBuilder &, Location loc, ValueRange v) {
    Value done = arith::CmpIOp::create(b, CmpIPredicate::eq, v[1], zero), rest = odd(v[1]);
    Value low = arith::MinUIOp::create(b, v[0], rest);
    Value high = arith::MaxUIOp::create(b, v[0], rest);
    scf::YieldOp::create(
        b, loc,
        ValueRange{arith::SelectOp::create(b, done, v[0], low),
                   arith::SelectOp::create(b, done, zero, arith::SubIOp::create(b, high, low))});
  };
  auto loop = scf::WhileOp::create(b, types, ValueRange{one, other}, more, turn);
  return arith::ShLIOp::create(b, loop.getResult(0), shared);
}

static Value shift(ImplicitLocOpBuilder &b, Value x, Value y, Type e, bool left) {
  unsigned width = e.getIntOrFloatBitWidth();
  Value limit = number(b, width, x), zero = number(b, 0, x);
  Value tooFar = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, y, limit);
  Value last = number(b, width - 1, x);
  Value amount = arith::SelectOp::create(b, tooFar, last, y);
  if (!left && !isUnsigned(e))
    return arith::ShRSIOp::create(b, x, amount);
  Value shifted = left ? Value(arith::ShLIOp::create(b, x, amount))
                       : Value(arith::ShRUIOp::create(b, x, amount));
  return arith::SelectOp::create(b, tooFar, zero, shifted);
}

static Value compareValues(ImplicitLocOpBuilder &b, prim::ComparePredicate predicate, Value x,
                           Value y, Type e) {
  using P = prim::ComparePredicate;
  if (isa<FloatType>(e)) {
    static const std::map<P, arith::CmpFPredicate> table = {
        {P::eq, arith::CmpFPredicate::OEQ}, {P::ne, arith::CmpFPredicate::UNE},
        {P::lt, arith::CmpFPredicate::OLT}, {P::le, arith::CmpFPredicate::OLE},
        {P::gt, arith::CmpFPredicate::OGT}, {P::ge, arith::CmpFPredicate::OGE}};
    return arith::CmpFOp::create(b, table.at(predicate), x, y);
  }
  static const std::map<P, std::pair<arith::CmpIPredicate, arith::CmpIPredicate>> table = {
      {P::eq, {arith::CmpIPredicate::eq, arith::CmpIPredicate::eq}},
      {P::ne, {arith::CmpIPredicate::ne, arith::CmpIPredicate::ne}},
      {P::lt, {arith::CmpIPredicate::slt, arith::CmpIPredicate::ult}},
      {P::le, {arith::CmpIPredicate::sle, arith::CmpIPredicate::ule}},
      {P::gt, {arith::CmpIPredicate::sgt, arith::CmpIPredicate::ugt}},
      {P::ge, {arith::CmpIPredicate::sge, arith::CmpIPredicate::uge}}};
  auto [s, u] = table.at(predicate);
  return arith::CmpIOp::create(b, isUnsigned(e) ? u : s, x, y);
}

/// Positions are compared in 32 bits, where a vector has twice as many of them: those of a mask
/// beside the numbers that it hides.
static Value emitCompare(ImplicitLocOpBuilder &b, prim::CompareOp op, Value x, Value y, Type e) {
  constexpr unsigned wordBits = 32;
  if (isa<VectorType>(x.getType()) && e.isInteger() && e.getIntOrFloatBitWidth() > wordBits &&
      fitsWord(op.getLhs()) && fitsWord(op.getRhs())) {
    auto narrow = [&](Value v) -> Value {
      return arith::TruncIOp::create(b, likeType(b.getI32Type(), v), v);
    };
    return compareValues(b, op.getPredicate(), narrow(x), narrow(y), e);
  }
  return compareValues(b, op.getPredicate(), x, y, e);
}

static Value signOf(ImplicitLocOpBuilder &b, Value x, Type e) {
  Value zero = number(b, 0, x), one = number(b, 1, x);
  if (isa<FloatType>(e)) {
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, x, zero);
    return arith::SelectOp::create(b, isNumber, math::CopySignOp::create(b, one, x), x);
  }
  Value nonzero = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, zero);
  Value positive = arith::SelectOp::create(b, nonzero, one, zero);
  if (isUnsigned(e))
    return positive;
  Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, zero);
  return arith::SelectOp::create(b, negative, number(b, -1, x), positive);
}

/// `flags`: nsz where zeros of either sign are one, which saves most of the instructions.
static Value extremum(ImplicitLocOpBuilder &b, Value x, Value y, Type e, bool larger,
                      arith::FastMathFlags flags = arith::FastMathFlags::none) {
  if (isa<FloatType>(e))
    return larger ? Value(arith::MaximumFOp::create(b, x, y, flags))
                  : Value(arith::MinimumFOp::create(b, x, y, flags));
  if (e.isInteger(1)) // which loops carry as bytes
    return larger ? Value(arith::OrIOp::create(b, x, y)) : Value(arith::AndIOp::create(b, x, y));
  if (isUnsigned(e))
    return larger ? Value(arith::MaxUIOp::create(b, x, y)) : Value(arith::MinUIOp::create(b, x, y));
  return larger ? Value(arith::MaxSIOp::create(b, x, y)) : Value(arith::MinSIOp::create(b, x, y));
}

static Value sum(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  if (isa<FloatType>(e))
    return arith::AddFOp::create(b, x, y, kContract);
  return e.isInteger(1) ? Value(arith::OrIOp::create(b, x, y))
                        : Value(arith::AddIOp::create(b, x, y));
}

static Value product(ImplicitLocOpBuilder &b, Value x, Value y, Type e) {
  if (isa<FloatType>(e))
    return arith::MulFOp::create(b, x, y, kContract);
  return e.isInteger(1) ? Value(arith::AndIOp::create(b, x, y))
                        : Value(arith::MulIOp::create(b, x, y));
}

static Value logistic(ImplicitLocOpBuilder &b, Value x) {
  Value one = number(b, 1, x);
  Value e = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, e));
}

/// The next float: one more or less in the order of the bit patterns.
static Value nextAfter(ImplicitLocOpBuilder &b, Value x, Value y) {
  Type e = getElementTypeOrSelf(x.getType());
  Type bitsType = likeType(b.getIntegerType(e.getIntOrFloatBitWidth()), x);
  Value bits = arith::BitcastOp::create(b, bitsType, x);
  Value zeroF = number(b, 0, x), one = number(b, 1, bits);
  auto cmp = [&](arith::CmpFPredicate p, Value l, Value r) {
    return Value(arith::CmpFOp::create(b, p, l, r));
  };
  Value up = cmp(arith::CmpFPredicate::OLT, x, y);
  Value positive = cmp(arith::CmpFPredicate::OGT, x, zeroF);
  Value grow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, up, positive);
  Value moved = arith::SelectOp::create(b, grow, arith::AddIOp::create(b, bits, one),
                                        arith::SubIOp::create(b, bits, one));
  Value tiny = arith::BitcastOp::create(b, x.getType(), one);
  Value fromZero = math::CopySignOp::create(b, tiny, y);
  Value result = arith::SelectOp::create(b, cmp(arith::CmpFPredicate::OEQ, x, zeroF), fromZero,
                                         arith::BitcastOp::create(b, x.getType(), moved));
  result = arith::SelectOp::create(b, cmp(arith::CmpFPredicate::OEQ, x, y), y, result);
  Value unordered = cmp(arith::CmpFPredicate::UNO, x, y);
  return arith::SelectOp::create(b, unordered, arith::AddFOp::create(b, x, y), result);
}

template <typename MathOp> static auto viaMath(ImplicitLocOpBuilder &b, ValueRange v) {
  return [&b, v](auto) -> Value { return MathOp::create(b, v[0]); };
}

static Value emitFloatUnary(ImplicitLocOpBuilder &b, Operation *op, ValueRange v) {
  auto isNarrow = [&] { return tensorType(op->getResult(0)).getElementTypeBitWidth() <= 16; };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](prim::ExpOp exp) {
        auto result = math::ExpOp::create(b, v[0]);
        if (prim::isNotPositive(exp))
          result->setAttr(kNotPositive, b.getUnitAttr());
        return result;
      })
      .Case<prim::Exp2Op>(viaMath<math::Exp2Op>(b, v))
      .Case<prim::Expm1Op>(viaMath<math::ExpM1Op>(b, v))
      .Case<prim::LogOp>(viaMath<math::LogOp>(b, v))
      .Case<prim::Log2Op>(viaMath<math::Log2Op>(b, v))
      .Case<prim::Log10Op>(viaMath<math::Log10Op>(b, v))
      .Case<prim::Log1pOp>(viaMath<math::Log1pOp>(b, v))
      .Case<prim::SqrtOp>(viaMath<math::SqrtOp>(b, v))
      .Case<prim::RsqrtOp>(viaMath<math::RsqrtOp>(b, v))
      .Case<prim::SinOp>(viaMath<math::SinOp>(b, v))
      .Case<prim::CosOp>(viaMath<math::CosOp>(b, v))
      .Case<prim::TanOp>(viaMath<math::TanOp>(b, v))
      .Case<prim::AsinOp>(viaMath<math::AsinOp>(b, v))
      .Case<prim::AcosOp>(viaMath<math::AcosOp>(b, v))
      .Case<prim::AtanOp>(viaMath<math::AtanOp>(b, v))
      .Case<prim::SinhOp>(viaMath<math::SinhOp>(b, v))
      .Case<prim::CoshOp>(viaMath<math::CoshOp>(b, v))
      .Case<prim::TanhOp>(viaMath<math::TanhOp>(b, v))
      .Case<prim::AsinhOp>(viaMath<math::AsinhOp>(b, v))
      .Case<prim::AcoshOp>(viaMath<math::AcoshOp>(b, v))
      .Case<prim::AtanhOp>(viaMath<math::AtanhOp>(b, v))
      .Case<prim::ErfOp>(viaMath<math::ErfOp>(b, v))
      .Case<prim::ErfcOp>(viaMath<math::ErfcOp>(b, v))
      .Case([&](prim::ErfinvOp) { return emitErfinv(b, v[0], isNarrow()); })
      .Case([&](prim::LgammaOp) { return emitLgamma(b, v[0], isNarrow()); })
      .Case([&](prim::DigammaOp) { return emitDigamma(b, v[0], isNarrow()); })
      .Case([&](prim::BesselI0Op) {
        return isNarrow() ? emitRoughBessel(b, v[0], /*first=*/false) : emitBesselI0(b, v[0]);
      })
      .Case([&](prim::BesselI1Op) {
        return isNarrow() ? emitRoughBessel(b, v[0], /*first=*/true) : emitBesselI1(b, v[0]);
      })
      .Case<prim::FloorOp>(viaMath<math::FloorOp>(b, v))
      .Case<prim::CeilOp>(viaMath<math::CeilOp>(b, v))
      .Case<prim::RoundOp>(viaMath<math::RoundEvenOp>(b, v))
      .Case<prim::TruncOp>(viaMath<math::TruncOp>(b, v))
      .Case([&](prim::LogisticOp) { return logistic(b, v[0]); })
      .Default([](Operation *) { return Value(); });
}

Value tcc::codegen::emitElementwise(ImplicitLocOpBuilder &b, Operation *op, ValueRange v) {
  Type e = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  Type resultType = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  bool isFloat = isa<FloatType>(e);
  if (Value result = emitFloatUnary(b, op, v))
    return result;
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](prim::NegOp) {
            return isFloat ? Value(arith::NegFOp::create(b, v[0]))
                           : Value(arith::SubIOp::create(b, number(b, 0, v[0]), v[0]));
          })
          .Case([&](prim::AbsOp) -> Value {
            if (isFloat)
              return math::AbsFOp::create(b, v[0]);
            return isUnsigned(e) ? v[0] : Value(math::AbsIOp::create(b, v[0]));
          })
          .Case([&](prim::SignOp) { return signOf(b, v[0], e); })
          .Case([&](prim::NotOp) { return arith::XOrIOp::create(b, v[0], number(b, -1, v[0])); })
          .Case([&](prim::IsNanOp) {
            return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, v[0], v[0]);
          })
          .Case([&](prim::IsInfOp) {
            Value inf = number(b, INFINITY, v[0]);
            return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                         math::AbsFOp::create(b, v[0]), inf);
          })
          .Case([&](prim::IsFiniteOp) {
            Value inf = number(b, INFINITY, v[0]);
            return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                         math::AbsFOp::create(b, v[0]), inf);
          })
          .Case([&](prim::AddOp) { return sum(b, v[0], v[1], e); })
          .Case([&](prim::SubOp) -> Value {
            if (isFloat)
              return arith::SubFOp::create(b, v[0], v[1], kContract);
            return arith::SubIOp::create(b, v[0], v[1]);
          })
          .Case([&](prim::MulOp) { return product(b, v[0], v[1], e); })
          .Case([&](prim::DivOp div) -> Value {
            if (isFloat) {
              auto quotient = arith::DivFOp::create(b, v[0], v[1]);
              if (prim::makesShares(div))
                quotient->setAttr(kShares, b.getUnitAttr());
              return quotient;
            }
            return IntegerDivision{b, v[0], v[1], !isUnsigned(e)}.quotient();
          })
          .Case([&](prim::FloorDivOp) { return floorDivide(b, v[0], v[1], e); })
          .Case([&](prim::RemOp) -> Value {
            if (isFloat)
              return arith::RemFOp::create(b, v[0], v[1]);
            return IntegerDivision{b, v[0], v[1], !isUnsigned(e)}.remainder();
          })
          .Case([&](prim::ModOp) { return modulo(b, v[0], v[1], e); })
          .Case([&](prim::PowOp) {
            return isFloat ? Value(math::PowFOp::create(b, v[0], v[1]))
                           : integerPower(b, v[0], v[1], e);
          })
          .Case([&](prim::GcdOp) { return greatestDivisor(b, v[0], v[1], e); })
          .Case([&](prim::Atan2Op) { return math::Atan2Op::create(b, v[0], v[1]); })
          .Case([&](prim::MaximumOp) { return extremum(b, v[0], v[1], e, true); })
          .Case([&](prim::MinimumOp) { return extremum(b, v[0], v[1], e, false); })
          .Case([&](prim::FmaxOp) { return arith::MaxNumFOp::create(b, v[0], v[1]); })
          .Case([&](prim::FminOp) { return arith::MinNumFOp::create(b, v[0], v[1]); })
          .Case([&](prim::CopysignOp) { return math::CopySignOp::create(b, v[0], v[1]); })
          .Case([&](prim::NextafterOp) {
            return computeType(e) == e ? nextAfter(b, v[0], v[1]) : nextNarrow(b, v[0], v[1], e);
          })
          .Case([&](prim::AndOp) { return arith::AndIOp::create(b, v[0], v[1]); })
          .Case([&](prim::OrOp) { return arith::OrIOp::create(b, v[0], v[1]); })
          .Case([&](prim::XorOp) { return arith::XOrIOp::create(b, v[0], v[1]); })
          .Case([&](prim::ShiftLeftOp) { return shift(b, v[0], v[1], e, true); })
          .Case([&](prim::ShiftRightOp) { return shift(b, v[0], v[1], e, false); })
          .Case([&](prim::CompareOp o) { return emitCompare(b, o, v[0], v[1], e); })
          .Case([&](prim::SelectOp) { return arith::SelectOp::create(b, v[0], v[1], v[2]); })
          .Case([&](prim::CastOp o) { return emitCast(b, v[0], e, resultType, o.getSaturate()); })
          .Case([&](prim::BitcastOp) { return bitcastElement(b, v[0], e, resultType); })
          .Default([](Operation *) { return Value(); });
  if (!result)
    op->emitError("code generation knows no element operator '") << op->getName() << "'";
  return result ? wrapToStorage(b, result, resultType) : result;
}

static Value combined(ImplicitLocOpBuilder &b, prim::ReduceKind kind, Type e, Value x, Value y) {
  switch (kind) {
  case prim::ReduceKind::sum:
    return sum(b, x, y, e);
  case prim::ReduceKind::prod:
    return product(b, x, y, e);
  case prim::ReduceKind::max:
    return extremum(b, x, y, e, true, arith::FastMathFlags::nsz);
  case prim::ReduceKind::min:
    return extremum(b, x, y, e, false, arith::FastMathFlags::nsz);
  case prim::ReduceKind::any:
    return arith::OrIOp::create(b, x, y);
  case prim::ReduceKind::all:
    return arith::AndIOp::create(b, x, y);
  }
  llvm_unreachable("all kinds are handled above");
}

Value tcc::codegen::emitCombine(ImplicitLocOpBuilder &b, prim::ReduceKind kind, Type e, Value x,
                                Value y) {
  return wrapToStorage(b, combined(b, kind, e, x, y), e);
}

/// The lowest or highest value of a type, infinite where it has infinities.
static double boundOf(FloatType e, bool highest) {
  const llvm::fltSemantics &semantics = e.getFloatSemantics();
  if (!APFloat::semanticsHasSignedRepr(semantics) && !highest)
    return APFloat::getSmallest(semantics).convertToDouble();
  double bound = APFloat::semanticsHasInf(semantics)
                     ? INFINITY
                     : APFloat::getLargest(semantics).convertToDouble();
  return highest ? bound : -bound;
}

TypedAttr tcc::codegen::neutralElement(prim::ReduceKind kind, Type e) {
  Builder b(e.getContext());
  Type t = computeType(e);
  bool larger = kind == prim::ReduceKind::max;
  switch (kind) {
  case prim::ReduceKind::sum:
    return b.getZeroAttr(t);
  case prim::ReduceKind::any:
    return b.getBoolAttr(false);
  case prim::ReduceKind::all:
    return b.getBoolAttr(true);
  case prim::ReduceKind::prod:
    return isa<FloatType>(t) ? TypedAttr(b.getFloatAttr(t, 1)) : b.getIntegerAttr(t, 1);
  case prim::ReduceKind::max:
  case prim::ReduceKind::min:
    if (auto f = dyn_cast<FloatType>(e))
      return b.getFloatAttr(t, boundOf(f, !larger));
    unsigned width = e.getIntOrFloatBitWidth(), registerWidth = t.getIntOrFloatBitWidth();
    if (isUnsigned(e)) {
      APInt bound = larger ? APInt::getZero(width) : APInt::getMaxValue(width);
      return b.getIntegerAttr(t, bound.zext(registerWidth));
    }
    APInt bound = larger ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
    return b.getIntegerAttr(t, bound.sext(registerWidth));
  }
  llvm_unreachable("all kinds are handled above");
}
