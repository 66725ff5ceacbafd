//===- Unary.cpp - ATen functions of one value ----------------------------===//
//
// Most functions are one primitive and a line of the table. The others are compositions that keep
// the edge values torch has: logit at its clamp, sinc at 0, sgn of complex 0.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/ComplexMath.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

/// One primitive in the result's type.
template <typename Op> LogicalResult unary(AtenNode &a) {
  return a.give(a.b.unary<Op>(a.cast(a.tensor("self"), a.own())));
}

/// One that leaves integers and bools as they are (floor, round).
template <typename Op> LogicalResult rounding(AtenNode &a) {
  Value x = a.tensor("self");
  return a.give(isa<FloatType>(a.b.elem(x)) ? a.b.unary<Op>(x) : x);
}

/// The real or imaginary part of a complex tensor.
template <typename Op> Value partOf(AtenNode &a, Value z) {
  auto t = a.b.type(z).clone(cast<ComplexType>(a.b.elem(z)).getElementType());
  return Op::create(a.b.builder(), a.b.location(), t, z).getResult();
}

template <typename Op> LogicalResult predicate(AtenNode &a) {
  Value x = a.tensor("self");
  if (isa<FloatType>(a.b.elem(x)))
    return a.give(a.b.predicate<Op>(x));
  if (isa<ComplexType>(a.b.elem(x))) {
    // Finite where both parts are, else where either is what is asked for.
    Value re = a.b.predicate<Op>(partOf<prim::RealOp>(a, x));
    Value im = a.b.predicate<Op>(partOf<prim::ImagOp>(a, x));
    return a.give(std::is_same_v<Op, prim::IsFiniteOp> ? a.b.binary<prim::AndOp>(re, im)
                                                       : a.b.binary<prim::OrOp>(re, im));
  }
  bool finite = std::is_same_v<Op, prim::IsFiniteOp>;
  return a.give(a.b.full(a.b.dims(x), finite, a.b.builder().getI1Type()));
}

LogicalResult same(AtenNode &a) { return a.give(a.tensor("self")); }

LogicalResult reciprocal(AtenNode &a) {
  if (Value z = a.tensor("self"); complexmath::isComplex(z))
    return a.give(
        complexmath::joined(a.b, complexmath::inverse(a.b, complexmath::partsOf(a.b, z))));
  return a.give(a.b.div(a.b.scalar(1, a.own()), a.cast(a.tensor("self"), a.own())));
}

LogicalResult square(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.own());
  return a.give(a.b.mul(x, x));
}

LogicalResult absolute(AtenNode &a) { return a.give(a.magnitude(a.tensor("self"))); }

LogicalResult logicalNot(AtenNode &a) {
  return a.give(a.b.logicalNot(a.cast(a.tensor("self"), a.b.builder().getI1Type())));
}

LogicalResult bitwiseNot(AtenNode &a) { return a.give(a.b.unary<prim::NotOp>(a.tensor("self"))); }

LogicalResult fraction(AtenNode &a) {
  Value x = a.tensor("self");
  return a.give(a.b.sub(x, a.b.unary<prim::TruncOp>(x)));
}

/// round(x * 10^d) / 10^d.
LogicalResult roundDecimals(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.wide());
  if (!isa<FloatType>(a.b.elem(x)))
    return a.give(x);
  int64_t decimals = a.integer("decimals", 0);
  double scale = std::pow(10.0, static_cast<double>(std::llabs(decimals)));
  Value scaled = decimals < 0 ? a.b.div(x, scale) : a.b.mul(x, scale);
  Value rounded = a.b.unary<prim::RoundOp>(scaled);
  return a.give(decimals < 0 ? a.b.mul(rounded, scale) : a.b.div(rounded, scale));
}

/// 0 for NaN, other than prim.sign.
LogicalResult sign(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (b.elem(x).isInteger(1))
    return a.give(x);
  if (isa<ComplexType>(b.elem(x))) { // the direction, of 0 none
    Value size = a.magnitude(x), one = b.scalar(1, b.elem(size));
    size = b.select(b.compare(P::eq, size, 0.0), one, size);
    return a.give(b.div(x, b.cast(size, b.elem(x))));
  }
  Value s = b.unary<prim::SignOp>(x);
  if (!isa<FloatType>(b.elem(x)))
    return a.give(s);
  return a.give(b.select(b.predicate<prim::IsNanOp>(x), b.scalar(0, b.elem(x)), s));
}

LogicalResult signBit(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (!isa<FloatType>(b.elem(x)))
    return a.give(b.elem(x).isInteger(1) ? b.full(b.dims(x), 0, b.builder().getI1Type())
                                         : b.compare(P::lt, x, b.scalar(0, b.elem(x))));
  // Negative zero counts.
  Value one = b.binary<prim::CopysignOp>(b.full(b.dims(x), 1, b.elem(x)), x);
  return a.give(b.compare(P::lt, one, 0.0));
}

LogicalResult nanToNum(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto f = dyn_cast<FloatType>(b.elem(x));
  if (!f)
    return a.give(x);
  double largest = llvm::APFloat::getLargest(f.getFloatSemantics()).convertToDouble();
  Value result = b.select(b.predicate<prim::IsNanOp>(x), b.scalar(a.real("nan", 0), f), x);
  Value top = b.scalar(a.real("posinf", largest), f);
  Value bottom = b.scalar(a.real("neginf", -largest), f);
  Value infinite = b.predicate<prim::IsInfOp>(x);
  Value bound = b.select(b.compare(P::gt, x, 0.0), top, bottom);
  return a.give(b.select(infinite, bound, result));
}

template <int sign> LogicalResult isSignedInf(AtenNode &a) {
  Value x = a.tensor("self");
  if (!isa<FloatType>(a.b.elem(x)))
    return a.give(a.b.full(a.b.dims(x), 0, a.b.builder().getI1Type()));
  return a.give(a.b.compare(P::eq, x, sign * std::numeric_limits<double>::infinity()));
}

/// x * factor (angles).
template <bool toDegrees> LogicalResult angle(AtenNode &a) {
  double factor = toDegrees ? 180 / std::numbers::pi : std::numbers::pi / 180;
  return a.give(a.b.mul(a.cast(a.tensor("self"), a.own()), factor));
}

/// log(x / (1 - x)), x first clamped to [eps, 1 - eps].
LogicalResult logit(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.wide());
  if (a.has("eps")) {
    double eps = a.real("eps", 0);
    Value low = a.b.scalar(eps, a.b.elem(x));
    x = a.b.select(a.b.compare(P::lt, x, eps), low, a.b.minimum(x, 1 - eps));
  }
  Value one = a.b.scalar(1, a.b.elem(x));
  return a.give(a.b.log(a.b.div(x, a.b.sub(one, x))));
}

/// sin(pi x) / (pi x), 1 at 0.
LogicalResult sinc(AtenNode &a) {
  Value x = a.b.mul(a.cast(a.tensor("self"), a.wide()), std::numbers::pi);
  Value isZero = a.b.compare(P::eq, x, 0.0), one = a.b.scalar(1, a.b.elem(x));
  Value safe = a.b.select(isZero, one, x);
  return a.give(a.b.select(isZero, one, a.b.div(a.b.unary<prim::SinOp>(safe), safe)));
}

LogicalResult realPart(AtenNode &a) {
  Value x = a.tensor("self");
  return a.give(isa<ComplexType>(a.b.elem(x)) ? partOf<prim::RealOp>(a, x) : x);
}

LogicalResult imaginaryPart(AtenNode &a) {
  Value x = a.tensor("self");
  if (!isa<ComplexType>(a.b.elem(x)))
    return a.fail("the operand is not complex");
  return a.give(partOf<prim::ImagOp>(a, x));
}

LogicalResult complexOf(AtenNode &a) {
  Value re = a.tensor("real"), im = a.tensor("imag");
  a.b.broadcastTogether(re, im);
  if (re.getType() != im.getType() || !isa<FloatType>(a.b.elem(re)))
    return a.fail("the parts differ in type");
  auto t = a.b.type(re).clone(ComplexType::get(a.b.elem(re)));
  return a.give(prim::ComplexOp::create(a.b.builder(), a.b.location(), t, re, im).getResult());
}

/// abs * (cos + i sin).
LogicalResult polar(AtenNode &a) {
  Value size = a.tensor("abs"), angle = a.tensor("angle");
  a.b.broadcastTogether(size, angle);
  if (size.getType() != angle.getType() || !isa<FloatType>(a.b.elem(size)))
    return a.fail("the parts differ in type");
  Value re = a.b.mul(size, a.b.unary<prim::CosOp>(angle));
  Value im = a.b.mul(size, a.b.unary<prim::SinOp>(angle));
  auto t = a.b.type(re).clone(ComplexType::get(a.b.elem(re)));
  return a.give(prim::ComplexOp::create(a.b.builder(), a.b.location(), t, re, im).getResult());
}

LogicalResult viewAsReal(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (!isa<ComplexType>(b.elem(x)))
    return a.fail("the operand is not complex");
  Value re = partOf<prim::RealOp>(a, x), im = partOf<prim::ImagOp>(a, x);
  return a.give(b.concat({b.unsqueeze(re, {-1}), b.unsqueeze(im, {-1})}, b.rank(x)));
}

LogicalResult viewAsComplex(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t last = b.rank(x) - 1;
  if (last < 0 || b.known(b.dim(x, last)) != 2 || !isa<FloatType>(b.elem(x)))
    return a.fail("needs a float tensor whose last extent is 2");
  Value re = b.squeeze(b.sliceAxis(x, last, b.dim(0), b.dim(1)), {last});
  Value im = b.squeeze(b.sliceAxis(x, last, b.dim(1), b.dim(1)), {last});
  auto t = b.type(re).clone(ComplexType::get(b.elem(x)));
  return a.give(prim::ComplexOp::create(b.builder(), b.location(), t, re, im).getResult());
}

/// The angle of a real number is 0 or pi.
LogicalResult argument(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (isa<ComplexType>(b.elem(x)))
    return a.give(b.binary<prim::Atan2Op>(partOf<prim::ImagOp>(a, x), partOf<prim::RealOp>(a, x)));
  x = a.cast(x, a.own());
  Value v = b.select(b.compare(P::lt, x, 0.0), b.scalar(std::numbers::pi, b.elem(x)),
                     b.scalar(0, b.elem(x)));
  return a.give(b.select(b.predicate<prim::IsNanOp>(x), x, v));
}

LogicalResult isReal(AtenNode &a) {
  Value x = a.tensor("self");
  if (isa<ComplexType>(a.b.elem(x)))
    return a.give(a.b.compare(P::eq, partOf<prim::ImagOp>(a, x), 0.0));
  return a.give(a.b.full(a.b.dims(x), 1, a.b.builder().getI1Type()));
}

/// -x log x; 0 at 0, -inf below.
LogicalResult entropy(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide()), zero = b.scalar(0, b.elem(x));
  Value v = b.select(b.compare(P::gt, x, 0.0), b.neg(b.mul(x, b.log(x))),
                     b.scalar(-std::numeric_limits<double>::infinity(), b.elem(x)));
  v = b.select(b.compare(P::eq, x, 0.0), zero, v);
  return a.give(b.select(b.predicate<prim::IsNanOp>(x), x, v));
}

/// The normal distribution: erfc(-x / sqrt 2) / 2.
LogicalResult normalDistribution(AtenNode &a) {
  Value x = a.cast(a.tensor("self"), a.wide());
  return a.give(a.b.mul(a.b.unary<prim::ErfcOp>(a.b.mul(x, -std::numbers::sqrt2 / 2)), 0.5));
}

} // namespace

void tcc::populateAtenUnaryRules(RuleSet &rules) {
  addRules(rules, {{"exp", "default", "self", unary<prim::ExpOp>},
                   {"exp2", "default", "self", unary<prim::Exp2Op>},
                   {"special_exp2", "default", "self", unary<prim::Exp2Op>},
                   {"expm1", "default", "self", unary<prim::Expm1Op>},
                   {"log", "default", "self", unary<prim::LogOp>},
                   {"log2", "default", "self", unary<prim::Log2Op>},
                   {"log10", "default", "self", unary<prim::Log10Op>},
                   {"log1p", "default", "self", unary<prim::Log1pOp>},
                   {"special_expm1", "default", "self", unary<prim::Expm1Op>},
                   {"special_log1p", "default", "self", unary<prim::Log1pOp>},
                   {"sqrt", "default", "self", unary<prim::SqrtOp>},
                   {"rsqrt", "default", "self", unary<prim::RsqrtOp>},
                   {"sin", "default", "self", unary<prim::SinOp>},
                   {"cos", "default", "self", unary<prim::CosOp>},
                   {"tan", "default", "self", unary<prim::TanOp>},
                   {"asin", "default", "self", unary<prim::AsinOp>},
                   {"acos", "default", "self", unary<prim::AcosOp>},
                   {"atan", "default", "self", unary<prim::AtanOp>},
                   {"sinh", "default", "self", unary<prim::SinhOp>},
                   {"cosh", "default", "self", unary<prim::CoshOp>},
                   {"tanh", "default", "self", unary<prim::TanhOp>},
                   {"asinh", "default", "self", unary<prim::AsinhOp>},
                   {"acosh", "default", "self", unary<prim::AcoshOp>},
                   {"atanh", "default", "self", unary<prim::AtanhOp>},
                   {"arcsin", "default", "self", unary<prim::AsinOp>},
                   {"arccos", "default", "self", unary<prim::AcosOp>},
                   {"arctan", "default", "self", unary<prim::AtanOp>},
                   {"arcsinh", "default", "self", unary<prim::AsinhOp>},
                   {"arccosh", "default", "self", unary<prim::AcoshOp>},
                   {"arctanh", "default", "self", unary<prim::AtanhOp>},
                   {"sigmoid", "default", "self", unary<prim::LogisticOp>},
                   {"special_expit", "default", "self", unary<prim::LogisticOp>},
                   {"erf", "default", "self", unary<prim::ErfOp>},
                   {"erfc", "default", "self", unary<prim::ErfcOp>},
                   {"erfinv", "default", "self", unary<prim::ErfinvOp>},
                   {"special_erf", "default", "self", unary<prim::ErfOp>},
                   {"special_erfc", "default", "self", unary<prim::ErfcOp>},
                   {"special_erfinv", "default", "self", unary<prim::ErfinvOp>},
                   {"lgamma", "default", "self", unary<prim::LgammaOp>},
                   {"digamma", "default", "self", unary<prim::DigammaOp>},
                   {"special_gammaln", "default", "self", unary<prim::LgammaOp>},
                   {"special_digamma", "default", "self", unary<prim::DigammaOp>},
                   {"special_psi", "default", "self", unary<prim::DigammaOp>},
                   {"i0", "default", "self", unary<prim::BesselI0Op>},
                   {"special_i0", "default", "self", unary<prim::BesselI0Op>},
                   {"special_modified_bessel_i0", "default", "self", unary<prim::BesselI0Op>},
                   {"special_i1", "default", "self", unary<prim::BesselI1Op>},
                   {"special_modified_bessel_i1", "default", "self", unary<prim::BesselI1Op>},
                   {"neg", "default", "self", unary<prim::NegOp>},
                   {"negative", "default", "self", unary<prim::NegOp>}});
  addRules(rules, {{"floor", "default", "self", rounding<prim::FloorOp>},
                   {"ceil", "default", "self", rounding<prim::CeilOp>},
                   {"trunc", "default", "self", rounding<prim::TruncOp>},
                   {"fix", "default", "self", rounding<prim::TruncOp>},
                   {"round", "default", "self", rounding<prim::RoundOp>},
                   {"round", "decimals", "self", roundDecimals},
                   {"special_round", "default", "self", roundDecimals},
                   {"isnan", "default", "self", predicate<prim::IsNanOp>},
                   {"isinf", "default", "self", predicate<prim::IsInfOp>},
                   {"isfinite", "default", "self", predicate<prim::IsFiniteOp>},
                   {"isposinf", "default", "self", isSignedInf<1>},
                   {"isneginf", "default", "self", isSignedInf<-1>},
                   {"positive", "default", "self", same},
                   {"angle", "default", "self", argument},
                   {"isreal", "default", "self", isReal},
                   {"special_entr", "default", "self", entropy},
                   {"special_ndtr", "default", "self", normalDistribution},
                   {"reciprocal", "default", "self", reciprocal},
                   {"square", "default", "self", square},
                   {"abs", "default", "self", absolute},
                   {"absolute", "default", "self", absolute},
                   {"logical_not", "default", "self", logicalNot},
                   {"bitwise_not", "default", "self", bitwiseNot},
                   {"frac", "default", "self", fraction},
                   {"sign", "default", "self", sign},
                   {"sgn", "default", "self", sign},
                   {"signbit", "default", "self", signBit},
                   {"nan_to_num", "default", "self", nanToNum},
                   {"rad2deg", "default", "self", angle<true>},
                   {"deg2rad", "default", "self", angle<false>},
                   {"logit", "default", "self", logit},
                   {"special_logit", "default", "self", logit},
                   {"sinc", "default", "self", sinc},
                   {"special_sinc", "default", "self", sinc},
                   {"real", "default", "self", realPart},
                   {"imag", "default", "self", imaginaryPart},
                   {"complex", "default", "real imag", complexOf},
                   {"polar", "default", "abs angle", polar},
                   {"view_as_real", "default", "self", viewAsReal},
                   {"view_as_real_copy", "default", "self", viewAsReal},
                   {"view_as_complex_copy", "default", "self", viewAsComplex},
                   {"_neg_view", "default", "self", unary<prim::NegOp>},
                   {"_neg_view_copy", "default", "self", unary<prim::NegOp>},
                   {"view_as_complex", "default", "self", viewAsComplex}});
}
