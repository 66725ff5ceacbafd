//===- Binary.cpp - ATen arithmetic and comparisons -----------------------===//
//
// ATen promotes a tensor and a number by rules of its own (a number does not widen a tensor of its
// kind), so operands are brought to the stated result type first. Division has as many meanings as
// names; each is written out, because Python, C and IEEE differ in signs and in what is rounded
// first.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/LogAddExp.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

/// By the operand of the larger real part.
static Value complexLogAddExp(PrimBuilder &b, Value x, Value y) {
  b.broadcastTogether(x, y);
  auto part = b.type(x).clone(cast<ComplexType>(b.elem(x)).getElementType());
  Value isLarger = b.compare(P::ge, prim::RealOp::create(b.builder(), b.location(), part, x),
                             prim::RealOp::create(b.builder(), b.location(), part, y));
  Value top = b.select(isLarger, x, y), other = b.select(isLarger, y, x);
  return b.add(b.log(b.add(b.exp(b.sub(other, top)), 1.0)), top);
}

Value aten::logAddExp(PrimBuilder &b, Value x, Value y, bool base2) {
  if (isa<ComplexType>(b.elem(x)) && !base2)
    return complexLogAddExp(b, x, y);
  Value top = b.maximum(x, y), distance = b.neg(b.abs(b.sub(x, y)));
  Value tail =
      base2 ? b.mul(b.unary<prim::Log1pOp>(b.unary<prim::Exp2Op>(distance)), 1.4426950408889634)
            : b.unary<prim::Log1pOp>(b.exp(distance));
  // Equal infinities have no distance.
  Value equal = b.binary<prim::AndOp>(b.compare(P::eq, x, y), b.predicate<prim::IsInfOp>(top));
  return b.select(equal, top, b.add(top, tail));
}

namespace {

/// Both operands in type `t`; null when one is neither tensor nor number.
struct Pair {
  Value x, y;
  explicit operator bool() const { return x && y; }
};
Pair operands(AtenNode &a, Type t, StringRef first = "self", StringRef second = "other") {
  return {a.number(first, t), a.number(second, t)};
}

LogicalResult missing(AtenNode &a) { return a.fail("an operand is neither tensor nor number"); }

/// The type in which a product or quotient is computed. torch rounds neither a number nor a tensor
/// without axes to a narrower float first, but the result alone.
Type factorType(AtenNode &a) {
  Type t = a.own();
  auto narrow = dyn_cast<FloatType>(t);
  if (!narrow || t == a.wide())
    return t;
  auto loses = [&](StringRef name) {
    if (Value v = a.tensor(name)) {
      auto f = dyn_cast<FloatType>(a.b.elem(v));
      return f && f.getWidth() > narrow.getWidth();
    }
    bool inexact;
    APFloat number(a.real(name, 0));
    number.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    return inexact;
  };
  return loses("self") || loses("other") ? a.wide() : t;
}

LogicalResult multiply(AtenNode &a) {
  Pair p = operands(a, factorType(a));
  return p ? a.give(a.b.mul(p.x, p.y)) : missing(a);
}

template <typename Op> LogicalResult binary(AtenNode &a) {
  Pair p = operands(a, a.own());
  return p ? a.give(a.b.binary<Op>(p.x, p.y)) : missing(a);
}

/// Float only, through f32 for narrower types.
template <typename Op> LogicalResult binaryFloat(AtenNode &a) {
  Pair p = operands(a, a.wide());
  if (!p)
    return missing(a);
  if (!isa<FloatType>(a.b.elem(p.x)))
    return a.fail("needs float operands");
  return a.give(a.b.binary<Op>(p.x, p.y));
}

/// self + alpha * other, or the other way round.
template <typename Op, bool reversed = false> LogicalResult scaled(AtenNode &a) {
  bool plain = !a.has("alpha") || a.real("alpha", 1) == 1;
  Type t = plain ? a.own() : a.wide();
  Pair p = operands(a, t);
  if (!p)
    return missing(a);
  if (!plain) {
    Value alpha = a.number("alpha", t);
    (reversed ? p.x : p.y) = a.b.mul(reversed ? p.x : p.y, alpha);
  }
  return a.give(reversed ? a.b.binary<Op>(p.y, p.x) : a.b.binary<Op>(p.x, p.y));
}

/// Whether `other` is a power of two, which a quotient by is exact.
bool isPowerOfTwo(AtenNode &a, StringRef name) {
  int exponent;
  return a.has(name) && !a.tensor(name) && std::frexp(std::abs(a.real(name, 0)), &exponent) == 0.5;
}

/// A step towards a rounded quotient: torch rounds each to narrow floats where it divides by a
/// tensor, and none where it divides by a number.
Value quotientStep(AtenNode &a, Value v) {
  Value other = a.tensor("other");
  Type own = a.own(), t = a.b.elem(v);
  bool rounds = other && a.b.rank(other) > 0 && isa<FloatType>(own) && own != t;
  return rounds ? a.b.cast(a.b.cast(v, own), t) : v;
}

/// What a rounded quotient is of; a number that is divided by a tensor is rounded as a step is.
Pair dividendAndDivisor(AtenNode &a) {
  Pair p = operands(a, a.wide());
  Value self = a.tensor("self");
  if (p && !(self && a.b.elem(self) == a.own()))
    p.x = quotientStep(a, p.x);
  return p;
}

/// As Python: what the remainder leaves, divided, since a quotient of the operands may be
/// rounded up to the next integer (1.0 // 0.1 is 9).
Value floorQuotient(AtenNode &a, Value x, Value y) {
  PrimBuilder &b = a.b;
  Type t = b.elem(x);
  if (isa<IntegerType>(t))
    return b.binary<prim::FloorDivOp>(x, y);
  if (isPowerOfTwo(a, "other")) // an infinity leaves no remainder
    return b.select(b.predicate<prim::IsInfOp>(x), b.scalar(NAN, t),
                    b.binary<prim::FloorDivOp>(x, y));
  b.broadcastTogether(x, y);
  auto step = [&](Value v) { return quotientStep(a, v); };
  Value rest = step(b.binary<prim::RemOp>(x, y));
  Value quotient = step(b.div(step(b.sub(x, rest)), y));
  Value opposite = b.binary<prim::XorOp>(b.compare(P::lt, y, 0.0), b.compare(P::lt, rest, 0.0));
  Value inexact = b.binary<prim::AndOp>(b.compare(P::ne, rest, 0.0), opposite);
  quotient = b.select(inexact, step(b.sub(quotient, 1.0)), quotient);
  Value down = b.unary<prim::FloorOp>(quotient), plain = b.div(x, y);
  down = b.select(b.compare(P::gt, b.sub(quotient, down), 0.5), b.add(down, 1.0), down);
  Value zero = b.binary<prim::CopysignOp>(b.broadcastTo(b.scalar(0, t), b.dims(plain)), plain);
  down = b.select(b.compare(P::eq, quotient, 0.0), zero, down);
  return b.select(b.compare(P::eq, y, 0.0), plain, down);
}

LogicalResult floorDivide(AtenNode &a) {
  Pair p = dividendAndDivisor(a);
  return p ? a.give(floorQuotient(a, p.x, p.y)) : missing(a);
}

LogicalResult divide(AtenNode &a) {
  StringRef mode = a.text("rounding_mode");
  bool isInteger = isa<IntegerType>(a.own());
  Pair p = mode.empty() || isInteger ? operands(a, factorType(a)) : dividendAndDivisor(a);
  if (!p)
    return missing(a);
  if (mode == "floor")
    return a.give(floorQuotient(a, p.x, p.y));
  Value quotient = a.b.div(p.x, p.y);
  if (mode == "trunc" && !isInteger)
    quotient = a.b.unary<prim::TruncOp>(quotientStep(a, quotient));
  return a.give(quotient);
}

/// gcd, or with `least` the least common multiple: |x / gcd * y|, 0 where both are, in 32 bits at
/// least as C computes.
template <bool least> LogicalResult commonDivisor(AtenNode &a) {
  Pair p = operands(a, a.own());
  if (!p)
    return missing(a);
  Value divisor = a.b.binary<prim::GcdOp>(p.x, p.y);
  if (!least)
    return a.give(divisor);
  Type own = a.b.elem(p.x), wide = own;
  if (own.getIntOrFloatBitWidth() < 32)
    wide = a.b.builder().getI32Type();
  Value share = a.b.cast(a.b.div(p.x, divisor), wide);
  return a.give(a.b.cast(a.b.abs(a.b.mul(share, a.b.cast(p.y, wide))), own));
}

LogicalResult power(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type t = a.wide();
  Pair p = operands(a, t, "self", "exponent");
  if (!p)
    return missing(a);
  if (!isa<IntegerType>(t) && isa_and_nonnull<IntegerAttr, FloatAttr>(a.c.attr("exponent"))) {
    double e = a.real("exponent", 1);
    if (e == 0)
      return a.give(b.full(b.dims(p.x), 1, t));
    if (e == 1)
      return a.give(p.x);
    if (e == 2)
      return a.give(b.mul(p.x, p.x));
    if (e == 3)
      return a.give(b.mul(b.mul(p.x, p.x), p.x));
    if (e == 0.5)
      return a.give(b.sqrt(p.x));
    if (e == -0.5)
      return a.give(b.rsqrt(p.x));
    if (e == -1)
      return a.give(b.div(b.scalar(1, t), p.x));
  }
  return a.give(b.pow(p.x, p.y));
}

template <P predicate> LogicalResult compare(AtenNode &a) {
  Pair p = operands(a, a.promoted({"self", "other"}));
  return p ? a.give(a.b.compare(predicate, p.x, p.y)) : missing(a);
}

template <typename Op> LogicalResult logical(AtenNode &a) {
  Pair p = operands(a, a.b.builder().getI1Type());
  return p ? a.give(a.b.binary<Op>(p.x, p.y)) : missing(a);
}

/// maximum and minimum of bools are or and and.
template <typename Op, typename BoolOp> LogicalResult extremum(AtenNode &a) {
  Pair p = operands(a, a.own());
  if (!p)
    return missing(a);
  return a.give(a.own().isInteger(1) ? a.b.binary<BoolOp>(p.x, p.y) : a.b.binary<Op>(p.x, p.y));
}

/// fmax and fmin, which on integers are maximum and minimum.
template <typename Op, typename IntOp> LogicalResult quietExtremum(AtenNode &a) {
  Pair p = operands(a, a.own());
  if (!p)
    return missing(a);
  return a.give(isa<FloatType>(a.own()) ? a.b.binary<Op>(p.x, p.y) : a.b.binary<IntOp>(p.x, p.y));
}

LogicalResult clamp(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own());
  Value low = a.bound("min", a.own()), high = a.bound("max", a.own());
  if (low)
    x = b.maximum(x, low);
  if (high)
    x = b.minimum(x, high);
  return a.give(x);
}

LogicalResult hypotenuse(AtenNode &a) {
  PrimBuilder &b = a.b;
  Pair p = operands(a, a.wide());
  if (!p)
    return missing(a);
  Value u = b.abs(p.x), v = b.abs(p.y), big = b.maximum(u, v);
  Value isZero = b.compare(P::eq, big, 0.0);
  Value ratio = b.div(b.minimum(u, v), b.select(isZero, b.scalar(1, b.elem(big)), big));
  Value size = b.mul(big, b.sqrt(b.add(b.mul(ratio, ratio), 1)));
  Value infinite =
      b.binary<prim::OrOp>(b.predicate<prim::IsInfOp>(u), b.predicate<prim::IsInfOp>(v));
  double inf = std::numeric_limits<double>::infinity();
  return a.give(b.select(infinite, b.scalar(inf, b.elem(size)), size));
}

template <bool base2> LogicalResult logAddExpOf(AtenNode &a) {
  Pair p = operands(a, a.wide());
  return p ? a.give(aten::logAddExp(a.b, p.x, p.y, base2)) : missing(a);
}

/// x * log(y), 0 where x is 0 unless y is NaN.
LogicalResult xLogY(AtenNode &a, Value (*log)(PrimBuilder &, Value)) {
  PrimBuilder &b = a.b;
  Pair p = operands(a, a.wide());
  if (!p)
    return missing(a);
  Value zero = b.scalar(0, b.elem(p.x));
  Value product = b.mul(p.x, log(b, p.y));
  Value result = b.select(b.compare(P::eq, p.x, zero), zero, product);
  return a.give(b.select(b.predicate<prim::IsNanOp>(p.y), p.y, result));
}
LogicalResult xlogy(AtenNode &a) {
  return xLogY(a, [](PrimBuilder &b, Value y) { return b.log(y); });
}
LogicalResult xlog1py(AtenNode &a) {
  return xLogY(a, [](PrimBuilder &b, Value y) { return b.unary<prim::Log1pOp>(y); });
}

/// What is no number is not above 0.
LogicalResult heaviside(AtenNode &a) {
  PrimBuilder &b = a.b;
  Pair p = operands(a, a.own(), "self", "values");
  if (!p)
    return missing(a);
  Value step = b.cast(b.compare(P::gt, p.x, b.scalar(0, a.own())), a.own());
  return a.give(b.select(b.compare(P::eq, p.x, b.scalar(0, a.own())), p.y, step));
}

/// |x - y| <= atol + rtol * |y|, or equal.
LogicalResult isClose(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type t = a.promoted({"self", "other"});
  Pair p = operands(a, AtenNode::isFloat(t) ? AtenNode::wide(t) : Type(b.builder().getF64Type()));
  if (!p)
    return missing(a);
  Value apart = a.magnitude(b.sub(p.x, p.y)), size = a.magnitude(p.y);
  Value close =
      b.compare(P::le, apart, b.add(b.mul(size, a.real("rtol", 1e-5)), a.real("atol", 1e-8)));
  close = b.binary<prim::AndOp>(close, b.predicate<prim::IsFiniteOp>(size));
  Value result = b.binary<prim::OrOp>(close, b.compare(P::eq, p.x, p.y));
  auto isNan = [&](Value v) { return b.compare(P::ne, v, v); };
  if (a.flag("equal_nan", false))
    result = b.binary<prim::OrOp>(result, b.binary<prim::AndOp>(isNan(p.x), isNan(p.y)));
  return a.give(result);
}

LogicalResult where(AtenNode &a) {
  Pair p = operands(a, a.own());
  if (!p)
    return missing(a);
  Value condition = a.cast(a.tensor("condition"), a.b.builder().getI1Type());
  return a.give(a.b.select(condition, p.x, p.y));
}

LogicalResult maskedFill(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value value = a.number("value", a.own());
  if (!value)
    return missing(a);
  return a.give(b.select(a.cast(a.tensor("mask"), b.builder().getI1Type()), value,
                         a.cast(a.tensor("self"), a.own())));
}

/// self + value * (tensor1 op tensor2).
template <typename Op> LogicalResult addCombined(AtenNode &a) {
  Type t = a.wide();
  Value x = a.number("self", t), u = a.number("tensor1", t), v = a.number("tensor2", t);
  Value combined = a.b.binary<Op>(u, v);
  if (a.has("value"))
    combined = a.b.mul(combined, a.number("value", t));
  return a.give(a.b.add(x, combined));
}

LogicalResult lerp(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type t = a.wide();
  Value x = a.number("self", t), y = a.number("end", t), w = a.number("weight", t);
  if (!w)
    return missing(a);
  // From the nearer end, as torch does, so that weight 1 gives `end` exactly.
  Value d = b.sub(y, x), one = b.scalar(1, t);
  Value fromStart = b.add(x, b.mul(w, d)), fromEnd = b.sub(y, b.mul(b.sub(one, w), d));
  return a.give(b.select(b.compare(P::lt, a.magnitude(w), 0.5), fromStart, fromEnd));
}

} // namespace

void tcc::populateAtenBinaryRules(RuleSet &rules) {
  addRules(rules, {{"add", "Tensor Scalar", "", scaled<prim::AddOp>},
                   {"sub", "Tensor Scalar", "", scaled<prim::SubOp>},
                   {"subtract", "Tensor Scalar", "", scaled<prim::SubOp>},
                   {"rsub", "Tensor Scalar", "", scaled<prim::SubOp, true>},
                   {"mul", "Tensor Scalar", "", multiply},
                   {"multiply", "Tensor Scalar", "", multiply},
                   {"div", "Tensor Scalar Tensor_mode Scalar_mode", "", divide},
                   {"divide", "Tensor Scalar Tensor_mode Scalar_mode", "", divide},
                   {"true_divide", "Tensor Scalar", "", divide},
                   {"floor_divide", "default Scalar", "", floorDivide},
                   {"remainder", "Tensor Scalar Scalar_Tensor", "", binary<prim::ModOp>},
                   {"fmod", "Tensor Scalar", "", binary<prim::RemOp>},
                   {"gcd", "default", "self other", commonDivisor<false>},
                   {"lcm", "default", "self other", commonDivisor<true>},
                   {"pow", "Tensor_Tensor Tensor_Scalar Scalar", "", power},
                   {"float_power", "Tensor_Tensor Tensor_Scalar Scalar", "", power},
                   {"atan2", "default", "self other", binaryFloat<prim::Atan2Op>},
                   {"arctan2", "default", "self other", binaryFloat<prim::Atan2Op>},
                   {"copysign", "Tensor Scalar", "", binary<prim::CopysignOp>},
                   {"nextafter", "default", "self other", binary<prim::NextafterOp>},
                   {"hypot", "default", "self other", hypotenuse},
                   {"logaddexp", "default", "self other", logAddExpOf<false>},
                   {"logaddexp2", "default", "self other", logAddExpOf<true>},
                   {"xlogy", "Tensor Scalar_Other Scalar_Self", "", xlogy},
                   {"special_xlogy", "default other_scalar self_scalar", "", xlogy},
                   {"special_xlog1py", "default other_scalar self_scalar", "", xlog1py},
                   {"heaviside", "default", "self values", heaviside}});
  addRules(rules, {{"eq", "Tensor Scalar", "", compare<P::eq>},
                   {"ne", "Tensor Scalar", "", compare<P::ne>},
                   {"not_equal", "Tensor Scalar", "", compare<P::ne>},
                   {"lt", "Tensor Scalar", "", compare<P::lt>},
                   {"less", "Tensor Scalar", "", compare<P::lt>},
                   {"le", "Tensor Scalar", "", compare<P::le>},
                   {"less_equal", "Tensor Scalar", "", compare<P::le>},
                   {"gt", "Tensor Scalar", "", compare<P::gt>},
                   {"greater", "Tensor Scalar", "", compare<P::gt>},
                   {"ge", "Tensor Scalar", "", compare<P::ge>},
                   {"greater_equal", "Tensor Scalar", "", compare<P::ge>},
                   {"logical_and", "default", "self other", logical<prim::AndOp>},
                   {"logical_or", "default", "self other", logical<prim::OrOp>},
                   {"logical_xor", "default", "self other", logical<prim::XorOp>},
                   {"bitwise_and", "Tensor Scalar Scalar_Tensor", "", binary<prim::AndOp>},
                   {"bitwise_or", "Tensor Scalar Scalar_Tensor", "", binary<prim::OrOp>},
                   {"bitwise_xor", "Tensor Scalar Scalar_Tensor", "", binary<prim::XorOp>},
                   {"__and__", "Tensor Scalar", "", binary<prim::AndOp>},
                   {"__or__", "Tensor Scalar", "", binary<prim::OrOp>},
                   {"__xor__", "Tensor Scalar", "", binary<prim::XorOp>}});
  addRules(rules, {{"bitwise_left_shift", "Tensor Tensor_Scalar Scalar_Tensor", "",
                    binary<prim::ShiftLeftOp>},
                   {"bitwise_right_shift", "Tensor Tensor_Scalar Scalar_Tensor", "",
                    binary<prim::ShiftRightOp>},
                   {"__lshift__", "Tensor Scalar", "", binary<prim::ShiftLeftOp>},
                   {"__rshift__", "Tensor Scalar", "", binary<prim::ShiftRightOp>},
                   {"maximum", "default", "self other", extremum<prim::MaximumOp, prim::OrOp>},
                   {"minimum", "default", "self other", extremum<prim::MinimumOp, prim::AndOp>},
                   {"max", "other", "self other", extremum<prim::MaximumOp, prim::OrOp>},
                   {"min", "other", "self other", extremum<prim::MinimumOp, prim::AndOp>},
                   {"fmax", "default", "self other", quietExtremum<prim::FmaxOp, prim::MaximumOp>},
                   {"fmin", "default", "self other", quietExtremum<prim::FminOp, prim::MinimumOp>},
                   {"clamp", "default Tensor", "self", clamp},
                   {"clip", "default Tensor", "self", clamp},
                   {"clamp_min", "default Tensor", "self", clamp},
                   {"clamp_max", "default Tensor", "self", clamp},
                   {"isclose", "default", "self other", isClose},
                   {"where", "self ScalarSelf ScalarOther Scalar", "condition", where},
                   {"masked_fill", "Scalar Tensor", "self mask", maskedFill},
                   {"addcmul", "default", "self tensor1 tensor2", addCombined<prim::MulOp>},
                   {"addcdiv", "default", "self tensor1 tensor2", addCombined<prim::DivOp>},
                   {"lerp", "Scalar Tensor", "self end", lerp}});
}
