//===- ComplexMath.cpp - Functions of complex numbers --------------------===//
//
// Complex values are pairs of reals after decompose. The formulas are those that keep digits where
// the textbook's cancel or overflow (Kahan, Branch Cuts for Complex Elementary Functions, 1987):
// signs of zeros choose the side of a branch cut.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/ComplexMath.h"
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::complexmath;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

static Value sine(PrimBuilder &b, Value x) { return b.unary<prim::SinOp>(x); }
static Value cosine(PrimBuilder &b, Value x) { return b.unary<prim::CosOp>(x); }
static Value number(PrimBuilder &b, Value like, double value) {
  return b.full(b.dims(like), value, PrimBuilder::elem(like));
}

Type complexmath::realType(Type elementType) {
  auto complex = dyn_cast<ComplexType>(elementType);
  return complex ? complex.getElementType() : elementType;
}

Parts complexmath::partsOf(PrimBuilder &b, Value z) {
  auto part = b.type(z).clone(realType(b.elem(z)));
  return {prim::RealOp::create(b.builder(), b.location(), part, z),
          prim::ImagOp::create(b.builder(), b.location(), part, z)};
}
Value complexmath::joined(PrimBuilder &b, Parts z) {
  auto type = b.type(z.re).clone(ComplexType::get(b.elem(z.re)));
  return prim::ComplexOp::create(b.builder(), b.location(), type, z.re, z.im);
}

Value complexmath::realPart(PrimBuilder &b, Value v) { return isComplex(v) ? partsOf(b, v).re : v; }
Value complexmath::magnitudeOf(PrimBuilder &b, Value v) {
  return isComplex(v) ? magnitude(b, partsOf(b, v)) : b.abs(v);
}
Value complexmath::conjugate(PrimBuilder &b, Value v) {
  if (!isComplex(v))
    return v;
  Parts z = partsOf(b, v);
  return joined(b, {z.re, b.neg(z.im)});
}

Value complexmath::magnitude(PrimBuilder &b, Parts z) {
  Value u = b.abs(z.re), v = b.abs(z.im), big = b.maximum(u, v), small = b.minimum(u, v);
  // Nothing to divide by, or nothing to gain: both are 0, or one is infinite.
  Value plain = b.binary<prim::OrOp>(b.compare(P::eq, big, 0.0), b.predicate<prim::IsInfOp>(big));
  Value ratio = b.div(small, b.select(plain, number(b, big, 1), big));
  return b.select(plain, big, b.mul(big, b.sqrt(b.add(b.mul(ratio, ratio), 1.0))));
}

Parts complexmath::times(PrimBuilder &b, Parts x, Parts y) {
  return {b.sub(b.mul(x.re, y.re), b.mul(x.im, y.im)), b.add(b.mul(x.re, y.im), b.mul(x.im, y.re))};
}

/// x conj(y) / |y|^2
Parts complexmath::quotient(PrimBuilder &b, Parts x, Parts y) {
  Parts p = times(b, x, {y.re, b.neg(y.im)});
  Value size = b.add(b.mul(y.re, y.re), b.mul(y.im, y.im));
  return {b.div(p.re, size), b.div(p.im, size)};
}

/// conj(z) / |z|^2: what a quotient with 1 would add and subtract is 0.
Parts complexmath::inverse(PrimBuilder &b, Parts z) {
  Value size = b.add(b.mul(z.re, z.re), b.mul(z.im, z.im));
  return {b.div(z.re, size), b.div(b.neg(z.im), size)};
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

static Parts exponential(PrimBuilder &b, Parts z) {
  Value e = b.exp(z.re);
  return {b.mul(e, cosine(b, z.im)), b.mul(e, sine(b, z.im))};
}

static Parts scaled(PrimBuilder &b, Parts z, double by) {
  return {b.mul(z.re, by), b.mul(z.im, by)};
}

static Parts exponentialOf2(PrimBuilder &b, Parts z) {
  return exponential(b, scaled(b, z, std::numbers::ln2));
}

/// e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2)
static Parts exponentialLess1(PrimBuilder &b, Parts z) {
  Value half = sine(b, b.mul(z.im, 0.5)), e = b.unary<prim::Expm1Op>(z.re);
  return {b.sub(b.mul(e, cosine(b, z.im)), b.mul(b.mul(half, half), 2.0)),
          b.mul(b.exp(z.re), sine(b, z.im))};
}

static Parts logarithm(PrimBuilder &b, Parts z) {
  return {b.log(magnitude(b, z)), b.binary<prim::Atan2Op>(z.im, z.re)};
}
static Parts logarithmTo2(PrimBuilder &b, Parts z) {
  return scaled(b, logarithm(b, z), std::numbers::log2e);
}
static Parts logarithmTo10(PrimBuilder &b, Parts z) {
  return scaled(b, logarithm(b, z), std::numbers::log10e);
}
/// |1 + z|^2 = 1 + (2 x + x^2 + y^2)
static Parts logarithmOf1Plus(PrimBuilder &b, Parts z) {
  Value more = b.add(b.mul(z.re, b.add(z.re, 2.0)), b.mul(z.im, z.im));
  return {b.mul(b.unary<prim::Log1pOp>(more), 0.5),
          b.binary<prim::Atan2Op>(z.im, b.add(z.re, 1.0))};
}

static Parts one(PrimBuilder &b, Parts z) { return {number(b, z.re, 1), number(b, z.re, 0)}; }

static Parts logistic(PrimBuilder &b, Parts z) {
  Parts e = exponential(b, {b.neg(z.re), b.neg(z.im)});
  return quotient(b, one(b, z), {b.add(e.re, 1.0), e.im});
}

Parts complexmath::power(PrimBuilder &b, Parts x, Parts y) {
  Parts p = exponential(b, times(b, y, logarithm(b, x)));
  // 0 has no logarithm; to a power that is not on the right of 0 it is as torch has it, NaN.
  Value zero = b.binary<prim::AndOp>(b.compare(P::eq, x.re, 0.0), b.compare(P::eq, x.im, 0.0));
  zero = b.binary<prim::AndOp>(zero, b.compare(P::gt, y.re, 0.0));
  Value none = number(b, p.re, 0);
  return {b.select(zero, none, p.re), b.select(zero, none, p.im)};
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// With u = sqrt((|x| + |z|) / 2): (u, y / 2u) on the right, (|y| / 2u, +-u) on the left.
static Parts root(PrimBuilder &b, Parts z) {
  Value u = b.sqrt(b.mul(b.add(b.abs(z.re), magnitude(b, z)), 0.5));
  Value isZero = b.compare(P::eq, u, 0.0);
  Value other = b.div(b.abs(z.im), b.mul(b.select(isZero, number(b, u, 1), u), 2.0));
  Value right = b.compare(P::ge, z.re, 0.0);
  return {b.select(right, u, other), b.binary<prim::CopysignOp>(b.select(right, other, u), z.im)};
}

static Parts inverseRoot(PrimBuilder &b, Parts z) { return inverse(b, root(b, z)); }

//===----------------------------------------------------------------------===//
// Circular and hyperbolic functions
//===----------------------------------------------------------------------===//

/// i z and -i z, by which circular functions become hyperbolic ones.
static Parts timesI(PrimBuilder &b, Parts z) { return {b.neg(z.im), z.re}; }
static Parts timesMinusI(PrimBuilder &b, Parts z) { return {z.im, b.neg(z.re)}; }

static Parts hyperbolicSine(PrimBuilder &b, Parts z) {
  return {b.mul(b.unary<prim::SinhOp>(z.re), cosine(b, z.im)),
          b.mul(b.unary<prim::CoshOp>(z.re), sine(b, z.im))};
}
static Parts hyperbolicCosine(PrimBuilder &b, Parts z) {
  return {b.mul(b.unary<prim::CoshOp>(z.re), cosine(b, z.im)),
          b.mul(b.unary<prim::SinhOp>(z.re), sine(b, z.im))};
}
/// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), and (+-1, 4 sin y cos y e^-2|x|)
/// where the squares would overflow.
static Parts hyperbolicTangent(PrimBuilder &b, Parts z) {
  Value far = b.compare(P::gt, b.abs(z.re), 20.0), x = b.select(far, number(b, z.re, 0), z.re);
  Value sinh = b.unary<prim::SinhOp>(x), cosh = b.unary<prim::CoshOp>(x);
  Value sin = sine(b, z.im), cos = cosine(b, z.im), both = b.mul(sin, cos);
  Value size = b.add(b.mul(sinh, sinh), b.mul(cos, cos));
  Value tail = b.mul(b.mul(both, 4.0), b.exp(b.mul(b.abs(z.re), -2.0)));
  return {b.select(far, b.binary<prim::CopysignOp>(number(b, z.re, 1), z.re),
                   b.div(b.mul(sinh, cosh), size)),
          b.select(far, tail, b.div(both, size))};
}

static Parts circularSine(PrimBuilder &b, Parts z) {
  return timesMinusI(b, hyperbolicSine(b, timesI(b, z)));
}
static Parts circularCosine(PrimBuilder &b, Parts z) { return hyperbolicCosine(b, timesI(b, z)); }
static Parts circularTangent(PrimBuilder &b, Parts z) {
  return timesMinusI(b, hyperbolicTangent(b, timesI(b, z)));
}

/// sqrt(1 - z) and sqrt(1 + z).
static std::pair<Parts, Parts> rootsAround1(PrimBuilder &b, Parts z) {
  return {root(b, {b.sub(number(b, z.re, 1), z.re), b.neg(z.im)}),
          root(b, {b.add(z.re, 1.0), z.im})};
}
/// The parts of conj(x) y.
static Parts conjugateTimes(PrimBuilder &b, Parts x, Parts y) {
  return times(b, {x.re, b.neg(x.im)}, y);
}

static Parts arcSine(PrimBuilder &b, Parts z) {
  auto [less, more] = rootsAround1(b, z);
  return {b.binary<prim::Atan2Op>(z.re, times(b, less, more).re),
          b.unary<prim::AsinhOp>(conjugateTimes(b, less, more).im)};
}
static Parts arcCosine(PrimBuilder &b, Parts z) {
  auto [less, more] = rootsAround1(b, z);
  return {b.mul(b.binary<prim::Atan2Op>(less.re, more.re), 2.0),
          b.unary<prim::AsinhOp>(conjugateTimes(b, more, less).im)};
}
static Parts areaCosine(PrimBuilder &b, Parts z) {
  Parts less = root(b, {b.sub(z.re, 1.0), z.im}), more = root(b, {b.add(z.re, 1.0), z.im});
  return {b.unary<prim::AsinhOp>(conjugateTimes(b, less, more).re),
          b.mul(b.binary<prim::Atan2Op>(less.im, more.re), 2.0)};
}
static Parts areaSine(PrimBuilder &b, Parts z) { return timesMinusI(b, arcSine(b, timesI(b, z))); }
/// log1p(4 x / ((1 - x)^2 + y^2)) / 4, and half the angle of (1 - x) (1 + x) - y^2 + 2 i y.
static Parts areaTangent(PrimBuilder &b, Parts z) {
  Value less = b.sub(number(b, z.re, 1), z.re), square = b.mul(z.im, z.im);
  Value ratio = b.div(b.mul(z.re, 4.0), b.add(b.mul(less, less), square));
  Value angle =
      b.binary<prim::Atan2Op>(b.mul(z.im, 2.0), b.sub(b.mul(less, b.add(z.re, 1.0)), square));
  return {b.mul(b.unary<prim::Log1pOp>(ratio), 0.25), b.mul(angle, 0.5)};
}
static Parts arcTangent(PrimBuilder &b, Parts z) {
  return timesMinusI(b, areaTangent(b, timesI(b, z)));
}

Function complexmath::function(Operation *op) {
  static const llvm::StringMap<Function> kFunctions = {
      {prim::ExpOp::getOperationName(), exponential},
      {prim::Exp2Op::getOperationName(), exponentialOf2},
      {prim::Expm1Op::getOperationName(), exponentialLess1},
      {prim::LogOp::getOperationName(), logarithm},
      {prim::Log2Op::getOperationName(), logarithmTo2},
      {prim::Log10Op::getOperationName(), logarithmTo10},
      {prim::Log1pOp::getOperationName(), logarithmOf1Plus},
      {prim::LogisticOp::getOperationName(), logistic},
      {prim::SqrtOp::getOperationName(), root},
      {prim::RsqrtOp::getOperationName(), inverseRoot},
      {prim::SinhOp::getOperationName(), hyperbolicSine},
      {prim::CoshOp::getOperationName(), hyperbolicCosine},
      {prim::TanhOp::getOperationName(), hyperbolicTangent},
      {prim::SinOp::getOperationName(), circularSine},
      {prim::CosOp::getOperationName(), circularCosine},
      {prim::TanOp::getOperationName(), circularTangent},
      {prim::AsinOp::getOperationName(), arcSine},
      {prim::AcosOp::getOperationName(), arcCosine},
      {prim::AtanOp::getOperationName(), arcTangent},
      {prim::AsinhOp::getOperationName(), areaSine},
      {prim::AcoshOp::getOperationName(), areaCosine},
      {prim::AtanhOp::getOperationName(), areaTangent}};
  auto it = kFunctions.find(op->getName().getStringRef());
  return it == kFunctions.end() ? nullptr : it->second;
}

//===----------------------------------------------------------------------===//
// Products along an axis
//===----------------------------------------------------------------------===//

static Parts slice(PrimBuilder &b, Parts z, int64_t axis, Dim start, Dim size) {
  return {b.sliceAxis(z.re, axis, start, size), b.sliceAxis(z.im, axis, start, size)};
}

/// `count` places of 1 along the axis, before or behind those of z.
static Parts withOnes(PrimBuilder &b, Parts z, int64_t axis, Dim count, bool before) {
  Dims none(b.rank(z.re), b.dim(0)), some = none;
  some[axis] = count;
  auto padded = [&](Value v, double fill) {
    return b.pad(v, b.scalar(fill, b.elem(v)), before ? some : none, before ? none : some);
  };
  return {padded(z.re, 1), padded(z.im, 0)};
}

/// By halves, in a loop of as many turns as the extent has.
static Parts openProduct(PrimBuilder &b, Parts z, int64_t axis) {
  z = withOnes(b, z, axis, b.maxDims(b.subDims(b.dim(1), b.dim(z.re, axis)), b.dim(0)), false);
  auto more = [&](ValueRange v) { return b.compareDims(Cmp::sgt, b.dim(v[0], axis), b.dim(1)); };
  auto turn = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    Parts all{v[0], v[1]};
    Dim extent = b.dim(all.re, axis), half = b.ceilDivDims(extent, b.dim(2));
    Dim rest = b.subDims(extent, half);
    Parts other = withOnes(b, slice(b, all, axis, half, rest), axis, b.subDims(half, rest), false);
    Parts product = times(b, slice(b, all, axis, b.dim(0), half), other);
    return SmallVector<Value>{product.re, product.im};
  };
  SmallVector<Value> last = *b.loop({z.re, z.im}, more, turn);
  return slice(b, {last[0], last[1]}, axis, b.dim(0), b.dim(1));
}

/// By halves: the number of steps is the logarithm of the extent.
Parts complexmath::productOver(PrimBuilder &b, Parts z, int64_t axis) {
  auto known = b.known(b.dim(z.re, axis));
  if (!known)
    return openProduct(b, z, axis);
  int64_t extent = *known;
  auto part = [&](int64_t start, int64_t size) {
    return slice(b, z, axis, b.dim(start), b.dim(size));
  };
  if (extent == 0) {
    Dims rest = b.dims(z.re);
    rest[axis] = b.dim(1);
    Type t = b.elem(z.re);
    return {b.full(rest, 1, t), b.full(rest, 0, t)};
  }
  while (extent > 1) {
    int64_t half = extent / 2;
    Parts product = times(b, part(0, half), part(half, half));
    if (extent % 2) {
      Parts last = part(extent - 1, 1);
      product = {b.concat({product.re, last.re}, axis), b.concat({product.im, last.im}, axis)};
    }
    z = product;
    extent = half + extent % 2;
  }
  return z;
}

/// Doubling (Hillis and Steele 1986): after the step of d, each place has the product of the
/// 2 d places that end there.
Parts complexmath::runningProduct(PrimBuilder &b, Parts z, int64_t axis) {
  Dim extent = b.dim(z.re, axis);
  auto step = [&](Parts have, Dim d) {
    Parts before = slice(b, have, axis, b.dim(0), b.subDims(extent, d));
    return times(b, have, withOnes(b, before, axis, d, true));
  };
  if (auto known = b.known(extent)) {
    for (int64_t d = 1; d < *known; d *= 2)
      z = step(z, b.dim(d));
    return z;
  }
  auto more = [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], extent); };
  auto turn = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    // A loop carries unknown extents as `?`; these stay.
    Dims dims = b.dims(z.re);
    Parts next = step({b.reshape(v[1], dims), b.reshape(v[2], dims)}, v[0]);
    return SmallVector<Value>{b.indexValue(b.mulDims(v[0], b.dim(2))), next.re, next.im};
  };
  SmallVector<Value> last = *b.loop({b.indexValue(b.dim(1)), z.re, z.im}, more, turn);
  return {b.reshape(last[1], b.dims(z.re)), b.reshape(last[2], b.dims(z.re))};
}
