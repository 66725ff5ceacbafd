//===- Fourier.cpp - ATen's Fourier transforms ----------------------------===//
//
// One axis after the other: lines of known length by prim.fourier, which takes real ones and
// gives them. Of others, real input becomes complex first, and a real result of n elements is
// made from the n/2 + 1 that its spectrum has, whose rest is conjugate to it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Fourier.h"
#include "Decompose/AllRules.h"
#include "Decompose/Aten/FourierSteps.h"
#include "Decompose/Idioms/ComplexMath.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using namespace tcc::complexmath;
using P = prim::ComparePredicate;

namespace {

using Axes = SmallVector<int64_t>;

Value realOf(PrimBuilder &b, Value x) {
  if (!isa<FloatType>(b.elem(x)))
    x = b.cast(x, b.builder().getF32Type());
  return b.cast(x, AtenNode::wide(b.elem(x)));
}
/// Complex, or real.
Value fieldOf(PrimBuilder &b, Value x) { return isa<ComplexType>(b.elem(x)) ? x : realOf(b, x); }
Value toComplex(PrimBuilder &b, Value x) {
  if (isa<ComplexType>(b.elem(x)))
    return x;
  x = realOf(b, x);
  return joined(b, {x, b.full(b.dims(x), 0, b.elem(x))});
}

/// The length of what prim.fourier takes: f32 or f64, and known.
std::optional<int64_t> knownLength(PrimBuilder &b, Type element, Dim length) {
  auto n = b.known(length);
  return n && *n > 0 && (element.isF32() || element.isF64()) ? n : std::nullopt;
}

} // namespace

Value aten::transformed(AtenNode &a, Value z, int64_t axis, bool inverse, double scale) {
  PrimBuilder &b = a.b;
  if (auto n = knownLength(b, realType(b.elem(z)), b.dim(z, axis))) {
    bool isReal = !isa<ComplexType>(b.elem(z));
    ComplexParts in = isReal ? ComplexParts{z, {}} : ComplexParts{realPart(b, z), partsOf(b, z).im};
    ComplexParts out = fourierLines(b, in, axis, *n, inverse, scale);
    return joined(b, {out.re, out.im});
  }
  z = toComplex(b, z);
  // prim.fft divides the inverse by n; conj(F(conj z)) does not.
  Value in = inverse ? conjugate(b, z) : z;
  Value out =
      prim::FftOp::create(b.builder(), b.location(), in.getType(), in, axis, false).getResult();
  return inverse ? conjugate(b, out) : out;
}

namespace {

Value scaled(AtenNode &a, Value x, Value factor) {
  PrimBuilder &b = a.b;
  if (!isa<ComplexType>(b.elem(x)))
    return b.mul(x, b.cast(factor, b.elem(x)));
  Value re = realPart(b, x), im = partsOf(b, x).im, f = b.cast(factor, b.elem(re));
  return joined(b, {b.mul(re, f), b.mul(im, f)});
}

/// `length` elements on the axis: cut, or followed by zeros.
Value fitted(PrimBuilder &b, Value x, int64_t axis, Dim length) {
  if (b.same(b.dim(x, axis), length))
    return x;
  auto fit = [&](Value part) {
    Dims low(b.rank(part), b.dim(0)), high = low;
    high[axis] = b.subDims(length, b.dim(part, axis));
    return b.pad(part, b.scalar(0, b.elem(part)), low, high);
  };
  if (!isa<ComplexType>(b.elem(x)))
    return fit(x);
  return joined(b, {fit(realPart(b, x)), fit(partsOf(b, x).im)});
}

Value sliced(PrimBuilder &b, Value z, int64_t axis, Dim start, Dim size) {
  return joined(b, {b.sliceAxis(realPart(b, z), axis, start, size),
                    b.sliceAxis(partsOf(b, z).im, axis, start, size)});
}

Dim halfOf(PrimBuilder &b, Dim length) {
  return b.addDims(b.floorDivDims(length, b.dim(2)), b.dim(1));
}

} // namespace

Value aten::spectrum(AtenNode &a, Value x, int64_t axis, double scale) {
  PrimBuilder &b = a.b;
  if (auto n = knownLength(b, b.elem(x), b.dim(x, axis))) {
    ComplexParts out = fourierLines(b, {x, {}}, axis, *n / 2 + 1, false, scale);
    return joined(b, {out.re, out.im});
  }
  Value z = transformed(a, x, axis, false);
  return sliced(b, z, axis, b.dim(0), halfOf(b, b.dim(x, axis)));
}

Value aten::realSignal(AtenNode &a, Value z, int64_t axis, Dim length, double scale) {
  PrimBuilder &b = a.b;
  z = fitted(b, z, axis, halfOf(b, length));
  if (auto n = knownLength(b, realType(b.elem(z)), length))
    return realFourierLines(b, {realPart(b, z), partsOf(b, z).im}, axis, *n, true, scale);
  Type i64 = b.builder().getI64Type();
  Value k = b.iota({length}, 0, i64), n = a.extentTensor(length, i64), twice = b.mul(k, 2.0);
  Value mirrored = b.compare(P::gt, twice, n);
  Value from = b.select(mirrored, b.sub(n, k), k);
  Value re = b.take(realPart(b, z), from, axis), im = b.take(partsOf(b, z).im, from, axis);
  Type t = b.elem(re);
  Value sign = b.select(mirrored, b.scalar(-1, t), b.scalar(1, t));
  // The imaginary parts of the constant and of the middle do not count.
  Value edge = b.binary<prim::OrOp>(b.compare(P::eq, k, 0.0), b.compare(P::eq, twice, n));
  sign = b.select(edge, b.scalar(0, t), sign);
  Value full = joined(b, {re, b.mul(im, alongAxis(b, sign, axis, b.rank(im)))});
  return realPart(b, transformed(a, full, axis, true));
}

namespace {

//===----------------------------------------------------------------------===//
// What is transformed, and how it is scaled
//===----------------------------------------------------------------------===//

/// The product of the lengths to the power that `norm` asks for.
enum class Scale { None, Root, Whole };
Scale scaleOf(AtenNode &a, bool inverse) {
  StringRef norm = a.text("norm", "backward");
  if (norm == "ortho")
    return Scale::Root;
  return (norm == "forward") != inverse ? Scale::Whole : Scale::None;
}
Scale scaleOf(int64_t normalization) { return static_cast<Scale>(normalization); }

Value divided(AtenNode &a, Value x, Scale scale, ArrayRef<Dim> lengths) {
  PrimBuilder &b = a.b;
  if (scale == Scale::None || lengths.empty())
    return x;
  Value n = a.extentTensor(b.productOf(lengths), b.builder().getF64Type());
  if (scale == Scale::Root)
    n = b.sqrt(n);
  return scaled(a, x, b.div(b.scalar(1, b.elem(n)), n));
}

/// What the last transform along an axis multiplies by, if that is known; what is left to do.
struct Factor {
  double value = 1;
  Scale rest = Scale::None;
};
Factor factorOf(AtenNode &a, Scale scale, ArrayRef<Dim> lengths, Type part) {
  if (scale == Scale::None || lengths.empty())
    return {};
  double n = 1;
  for (Dim length : lengths) {
    auto known = knownLength(a.b, part, length);
    if (!known)
      return {1, scale};
    n *= static_cast<double>(*known);
  }
  return {1 / (scale == Scale::Root ? std::sqrt(n) : n), Scale::None};
}

struct Plan {
  Axes axes;
  std::optional<Dims> lengths; ///< of those axes
};

/// `n` and `dim` of the transforms along one axis, `s` and `dim` of the others.
FailureOr<Plan> readPlan(AtenNode &a, bool one, ArrayRef<int64_t> defaults) {
  PrimBuilder &b = a.b;
  int64_t rank = b.rank(a.tensor("self"));
  Plan plan;
  if (a.has(one ? "n" : "s"))
    plan.lengths = a.extents(one ? "n" : "s");
  if (auto given = a.has("dim") ? a.integers("dim") : std::nullopt)
    plan.axes = *given;
  else if (!defaults.empty())
    plan.axes.assign(defaults.begin(), defaults.end());
  else if (plan.lengths)
    plan.axes = axesFrom(rank - plan.lengths->size(), rank);
  else
    plan.axes = allAxes(rank);
  if (rank == 0 || (plan.lengths && plan.lengths->size() != plan.axes.size()))
    return a.fail("lengths and axes differ in number");
  for (int64_t &axis : plan.axes) {
    auto inside = a.within(axis, rank);
    if (failed(inside))
      return failure();
    axis = *inside;
  }
  if (plan.lengths) // -1: as it is
    for (auto [length, axis] : llvm::zip(*plan.lengths, plan.axes))
      if (b.known(length) == -1)
        length = b.dim(a.tensor("self"), axis);
  return plan;
}

Value fittedTo(PrimBuilder &b, Value x, const Plan &plan) {
  if (plan.lengths)
    for (auto [axis, length] : llvm::zip(plan.axes, *plan.lengths))
      x = fitted(b, x, axis, length);
  return x;
}

Dims extentsOf(PrimBuilder &b, Value x, ArrayRef<int64_t> axes) {
  Dims extents;
  for (int64_t axis : axes)
    extents.push_back(b.dim(x, axis));
  return extents;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

using Defaults = SmallVector<int64_t>;

LogicalResult complexToComplex(AtenNode &a, bool one, const Defaults &defaults, bool inverse) {
  PrimBuilder &b = a.b;
  auto plan = readPlan(a, one, defaults);
  if (failed(plan))
    return failure();
  Value z = fieldOf(b, fittedTo(b, a.tensor("self"), *plan));
  Dims lengths = extentsOf(b, z, plan->axes);
  Factor factor = factorOf(a, scaleOf(a, inverse), lengths, realType(b.elem(z)));
  for (auto [i, axis] : llvm::enumerate(plan->axes))
    z = transformed(a, z, axis, inverse, i + 1 == plan->axes.size() ? factor.value : 1);
  return a.give(divided(a, toComplex(b, z), factor.rest, lengths));
}

/// rfft and its kin; with `inverse`, ihfft: the conjugate, scaled as an inverse.
LogicalResult realToComplex(AtenNode &a, bool one, const Defaults &defaults, bool inverse) {
  PrimBuilder &b = a.b;
  auto plan = readPlan(a, one, defaults);
  if (failed(plan) || plan->axes.empty())
    return a.fail("needs an axis");
  Value x = realOf(b, fittedTo(b, a.tensor("self"), *plan));
  Dims lengths = extentsOf(b, x, plan->axes);
  Factor factor = factorOf(a, scaleOf(a, inverse), lengths, b.elem(x));
  Value z = spectrum(a, x, plan->axes.back(), factor.value);
  for (int64_t axis : ArrayRef(plan->axes).drop_back())
    z = transformed(a, z, axis, false);
  if (inverse)
    z = conjugate(b, z);
  return a.give(divided(a, z, factor.rest, lengths));
}

/// irfft and its kin; without `inverse`, hfft: of the conjugate, scaled as a forward one.
LogicalResult complexToReal(AtenNode &a, bool one, const Defaults &defaults, bool inverse) {
  PrimBuilder &b = a.b;
  auto plan = readPlan(a, one, defaults);
  if (failed(plan) || plan->axes.empty())
    return a.fail("needs an axis");
  Value z = toComplex(b, a.tensor("self"));
  int64_t last = plan->axes.back();
  Dim length = plan->lengths ? plan->lengths->back()
                             : b.mulDims(b.subDims(b.dim(z, last), b.dim(1)), b.dim(2));
  Plan others = *plan;
  others.axes.pop_back();
  if (others.lengths)
    others.lengths->pop_back();
  z = fittedTo(b, z, others);
  if (!inverse)
    z = conjugate(b, z);
  for (int64_t axis : others.axes)
    z = transformed(a, z, axis, true);
  Dims lengths = extentsOf(b, z, others.axes);
  lengths.push_back(length);
  Factor factor = factorOf(a, scaleOf(a, inverse), lengths, realType(b.elem(z)));
  return a.give(divided(a, realSignal(a, z, last, length, factor.value), factor.rest, lengths));
}

FailureOr<Axes> coreAxes(AtenNode &a) {
  auto given = a.integers("dim");
  if (!given || given->empty())
    return a.fail("needs axes");
  for (int64_t &axis : *given) {
    auto inside = a.within(axis, a.b.rank(a.tensor("self")));
    if (failed(inside))
      return failure();
    axis = *inside;
  }
  return *given;
}

LogicalResult coreComplex(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto axes = coreAxes(a);
  if (failed(axes))
    return failure();
  Value z = fieldOf(b, a.tensor("self"));
  Dims lengths = extentsOf(b, z, *axes);
  Factor factor = factorOf(a, scaleOf(a.integer("normalization", 0)), lengths, realType(b.elem(z)));
  for (auto [i, axis] : llvm::enumerate(*axes))
    z = transformed(a, z, axis, !a.flag("forward", true), i + 1 == axes->size() ? factor.value : 1);
  return a.give(divided(a, z, factor.rest, lengths));
}

LogicalResult coreFromReal(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto axes = coreAxes(a);
  if (failed(axes))
    return failure();
  Value x = realOf(b, a.tensor("self"));
  Dims lengths = extentsOf(b, x, *axes);
  Factor factor = factorOf(a, scaleOf(a.integer("normalization", 0)), lengths, b.elem(x));
  bool oneSided = a.flag("onesided", true);
  Value z = oneSided ? spectrum(a, x, axes->back(), factor.value)
                     : transformed(a, x, axes->back(), false, factor.value);
  for (int64_t axis : ArrayRef(*axes).drop_back())
    z = transformed(a, z, axis, false);
  return a.give(divided(a, z, factor.rest, lengths));
}

LogicalResult coreToReal(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto axes = coreAxes(a);
  auto length = a.extent("last_dim_size");
  if (failed(axes) || !length)
    return a.fail("needs axes and a length");
  Value z = a.tensor("self");
  for (int64_t axis : ArrayRef(*axes).drop_back())
    z = transformed(a, z, axis, true);
  Dims lengths = extentsOf(b, z, ArrayRef(*axes).drop_back());
  lengths.push_back(*length);
  Factor factor = factorOf(a, scaleOf(a.integer("normalization", 0)), lengths, realType(b.elem(z)));
  Value x = realSignal(a, z, axes->back(), *length, factor.value);
  return a.give(divided(a, x, factor.rest, lengths));
}

/// Half of each axis moved to its other end.
template <bool inverse> LogicalResult shift(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axes = a.axes("dim", b.rank(x));
  if (failed(axes))
    return failure();
  for (int64_t axis : *axes) {
    Dim n = b.dim(x, axis), half = b.floorDivDims(n, b.dim(2));
    Dim first = inverse ? half : b.subDims(n, half);
    x = b.concat(
        {b.sliceAxis(x, axis, first, b.subDims(n, first)), b.sliceAxis(x, axis, b.dim(0), first)},
        axis);
  }
  return a.give(x);
}

/// 0, 1, .., then (unless one-sided) the negative ones, over n d.
template <bool oneSided> LogicalResult frequencies(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto n = a.extent("n");
  if (!n)
    return a.fail("needs a length");
  Type i64 = b.builder().getI64Type(), wide = a.wide();
  Value k = b.iota({oneSided ? halfOf(b, *n) : *n}, 0, i64), count = a.extentTensor(*n, i64);
  if (!oneSided) {
    Value half = a.extentTensor(b.floorDivDims(b.addDims(*n, b.dim(1)), b.dim(2)), i64);
    k = b.select(b.compare(P::ge, k, half), b.sub(k, count), k);
  }
  return a.give(b.div(b.cast(k, wide), b.mul(b.cast(count, wide), a.real("d", 1))));
}

using Transform = LogicalResult (*)(AtenNode &, bool, const Defaults &, bool);

/// The names of one transform: along one axis, over two and over any.
void addFamily(RuleSet &rules, StringRef prefix, StringRef name, Transform transform,
               bool inverse) {
  struct Member {
    StringRef suffix;
    bool one;
    Defaults defaults;
  };
  for (const Member &m :
       {Member{"", true, {-1}}, Member{"2", false, {-2, -1}}, Member{"n", false, {}}})
    addRules(rules, {{(prefix + name + m.suffix).str(), "default", "self",
                      [=](AtenNode &a) { return transform(a, m.one, m.defaults, inverse); }}});
}

} // namespace

void tcc::populateAtenFourierRules(RuleSet &rules) {
  addFamily(rules, "fft_", "fft", complexToComplex, false);
  addFamily(rules, "fft_", "ifft", complexToComplex, true);
  addFamily(rules, "fft_", "rfft", realToComplex, false);
  addFamily(rules, "fft_", "ihfft", realToComplex, true);
  addFamily(rules, "fft_", "irfft", complexToReal, true);
  addFamily(rules, "fft_", "hfft", complexToReal, false);
  addRules(rules, {{"_fft_c2c", "default", "self", coreComplex},
                   {"_fft_r2c", "default", "self", coreFromReal},
                   {"_fft_c2r", "default", "self", coreToReal},
                   {"fft_fftshift", "default", "self", shift<false>},
                   {"fft_ifftshift", "default", "self", shift<true>},
                   {"fft_fftfreq", "default", "", frequencies<false>},
                   {"fft_rfftfreq", "default", "", frequencies<true>}});
}
