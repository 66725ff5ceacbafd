//===- Reduction.cpp - ATen reductions ------------------------------------===//
//
// Sums, means and variances are taken in f32 for narrower floats. A variance is
// the mean of the squared distance from the mean (two passes).
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Softmax.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

using Axes = SmallVector<int64_t>;

/// `dim` and `keepdim`; everything when there is no `dim`.
struct Over {
  Axes axes;
  bool keep;
};
FailureOr<Over> over(AtenNode &a) {
  auto axes = a.axes("dim", a.b.rank(a.tensor("self")));
  if (failed(axes))
    return failure();
  return Over{*axes, a.flag("keepdim", false)};
}

Value reduce(AtenNode &a, K kind, Value x, const Over &o) {
  return a.b.reduce(kind, x, o.axes, o.keep);
}

template <K kind> LogicalResult sumLike(AtenNode &a) {
  auto o = over(a);
  return failed(o) ? failure() : a.give(reduce(a, kind, a.cast(a.tensor("self"), a.wide()), *o));
}

LogicalResult mean(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  return a.give(a.b.mean(a.cast(a.tensor("self"), a.wide()), o->axes, o->keep));
}

/// The exclusive or of all elements as 64 bits: of floats those of f64, of integers those of i64. A
/// bit is there when an odd number of elements have it.
LogicalResult hash(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto o = over(a);
  if (failed(o))
    return failure();
  if (a.integer("mode", 0) != 0)
    return a.fail("needs mode 0");
  Value x = a.tensor("self");
  if (isa<ComplexType>(b.elem(x)))
    return a.fail("needs real numbers");
  bool isReal = isa<FloatType>(b.elem(x));
  Type i64 = b.builder().getI64Type(), u64 = b.builder().getIntegerType(64, /*isSigned=*/false);
  x = b.cast(x, isReal ? Type(b.builder().getF64Type()) : i64);
  Value bits = prim::BitcastOp::create(b.builder(), b.location(), b.type(x).clone(u64), x);
  Value place = b.iota({b.dim(64)}, 0, u64), one = b.scalar(1, u64);
  bits = b.unsqueeze(bits, {b.rank(bits)});
  Value each = b.binary<prim::AndOp>(b.binary<prim::ShiftRightOp>(bits, place), one);
  Value odd = b.binary<prim::AndOp>(reduce(a, K::sum, each, *o), one);
  Value words = b.binary<prim::ShiftLeftOp>(odd, place);
  return a.give(b.reduce(K::sum, words, {b.rank(words) - 1}, false));
}

/// Sums that leave NaN out.
template <bool average> LogicalResult nanSum(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto o = over(a);
  if (failed(o))
    return failure();
  Value x = a.cast(a.tensor("self"), a.wide());
  if (!isa<FloatType>(b.elem(x)))
    return a.give(reduce(a, K::sum, x, *o));
  Value isNan = b.predicate<prim::IsNanOp>(x);
  Value sum = reduce(a, K::sum, b.select(isNan, b.scalar(0, b.elem(x)), x), *o);
  if (!average)
    return a.give(sum);
  Value count = reduce(a, K::sum, b.cast(b.logicalNot(isNan), b.elem(x)), *o);
  return a.give(b.div(sum, count));
}

/// An extreme is one of the elements, so there must be some, also where no result is.
void requireSome(PrimBuilder &b, Value x, ArrayRef<int64_t> axes) {
  for (int64_t axis : axes)
    requireElements(b, b.dim(x, axis), {}, "the largest or smallest");
}

template <K kind> LogicalResult extremumOver(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  requireSome(a.b, a.tensor("self"), o->axes);
  return a.give(reduce(a, kind, a.tensor("self"), *o));
}

template <K kind> LogicalResult anyAll(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  Value x = a.cast(a.tensor("self"), a.b.builder().getI1Type());
  return a.give(reduce(a, kind, x, *o));
}

LogicalResult countNonzero(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  Value set = a.cast(a.tensor("self"), a.b.builder().getI1Type());
  return a.give(reduce(a, K::sum, a.cast(set, a.own()), *o));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

template <K kind> LogicalResult argExtremum(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x);
  bool keep = a.flag("keepdim", false);
  if (a.has("dim") && rank > 0) {
    auto axis = a.axis("dim", 0, rank);
    if (failed(axis))
      return failure();
    requireSome(b, x, *axis);
    return a.give(b.argReduce(kind, x, *axis, keep));
  }
  Value at = b.argReduce(kind, b.reshape(x, {b.productOf(b.dims(x))}), 0, false);
  return a.give(keep ? b.reshape(at, Axes(rank, 1)) : at);
}

/// max.dim, min.dim: the value and where it is.
template <K kind> LogicalResult extremumAlong(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis))
    return failure();
  bool keep = a.flag("keepdim", false);
  if (b.rank(x) > 0)
    requireSome(b, x, *axis);
  if (!a.c.wants(1) || b.rank(x) == 0) {
    (void)a.give(0, b.reduce(kind, x, {*axis}, keep));
    return a.c.wants(1) ? a.give(1, b.argReduce(kind, x, *axis, keep)) : success();
  }
  // One walk over the tensor: the value is where the place says.
  Value place = b.argReduce(kind, x, *axis, true), value = b.takeAlong(x, place, *axis);
  (void)a.give(0, keep ? value : b.squeeze(value, {*axis}));
  return a.give(1, keep ? place : b.squeeze(place, {*axis}));
}

LogicalResult aminmax(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  requireSome(a.b, a.tensor("self"), o->axes);
  (void)a.give(0, reduce(a, K::min, a.tensor("self"), *o));
  return a.give(1, reduce(a, K::max, a.tensor("self"), *o));
}

//===----------------------------------------------------------------------===//
// Variance and norms
//===----------------------------------------------------------------------===//

struct Moments {
  Value variance, mean;
};

FailureOr<Moments> moments(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto o = over(a);
  if (failed(o))
    return failure();
  Value x = a.wideTensor("self");
  if (!AtenNode::isFloat(b.elem(x)))
    return a.fail("needs a float operand");
  double correction =
      a.has("correction") ? a.real("correction", 1) : (a.flag("unbiased", true) ? 1.0 : 0.0);
  Value centred = b.sub(x, b.mean(x, o->axes, true));
  Value mean = b.mean(x, o->axes, o->keep);
  if (isa<ComplexType>(b.elem(x)))
    centred = a.magnitude(centred);
  Value sum = reduce(a, K::sum, b.mul(centred, centred), *o);
  Dims counted;
  for (int64_t axis : o->axes)
    counted.push_back(b.dim(x, axis));
  Value count = a.extentTensor(b.productOf(counted), b.elem(sum));
  Value divisor = b.maximum(b.sub(count, correction), 0.0);
  return Moments{b.div(sum, divisor), mean};
}

template <bool root, bool withMean> LogicalResult variance(AtenNode &a) {
  auto m = moments(a);
  if (failed(m))
    return failure();
  (void)a.give(0, root ? a.b.sqrt(m->variance) : m->variance);
  return withMean ? a.give(1, m->mean) : success();
}

/// (sum |x|^p)^(1/p); p = 0 counts, infinite p takes the extreme.
Value norm(AtenNode &a, Value x, double p, const Over &o) {
  PrimBuilder &b = a.b;
  bool complex = isa<ComplexType>(b.elem(x));
  Value size = a.magnitude(x);
  if (std::isinf(p) || p < 0) // there is no neutral element
    requireSome(b, x, o.axes);
  if (std::isinf(p))
    return reduce(a, p > 0 ? K::max : K::min, size, o);
  if (p == 0)
    return reduce(a, K::sum, b.cast(b.compare(P::ne, size, 0.0), b.elem(x)), o);
  if (p == 1)
    return reduce(a, K::sum, size, o);
  if (p == 2)
    return b.sqrt(reduce(a, K::sum, complex ? b.mul(size, size) : b.mul(x, x), o));
  return b.pow(reduce(a, K::sum, b.pow(size, p), o), 1 / p);
}

LogicalResult vectorNorm(AtenNode &a, StringRef order) {
  auto o = over(a);
  if (failed(o))
    return failure();
  Value x = a.wideTensor("self");
  if (!AtenNode::isFloat(a.b.elem(x)))
    return a.fail("needs a float operand");
  return a.give(norm(a, x, a.real(order, 2), *o));
}
LogicalResult normByP(AtenNode &a) { return vectorNorm(a, "p"); }
LogicalResult normByOrder(AtenNode &a) { return vectorNorm(a, "ord"); }

/// sum |x|^p
LogicalResult powerSum(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto o = over(a);
  if (failed(o))
    return failure();
  Value x = a.wideTensor("self");
  double p = a.real("ord", 2);
  if (!AtenNode::isFloat(b.elem(x)) || p <= 0 || std::isinf(p))
    return a.fail("needs a float operand and a positive order");
  Value size = a.magnitude(x);
  return a.give(reduce(a, K::sum, p == 1 ? size : p == 2 ? b.mul(size, size) : b.pow(size, p), *o));
}

LogicalResult distance(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value d = b.sub(a.wideTensor("self"), a.wideTensor("other"));
  return a.give(norm(a, d, a.real("p", 2), {allAxes(b.rank(d)), false}));
}

//===----------------------------------------------------------------------===//
// Softmax and its kin
//===----------------------------------------------------------------------===//

/// Complex numbers are shifted by the largest real part.
Value logSumExpOf(PrimBuilder &b, Value x, const Over &o) {
  Value ordered = x;
  if (auto complex = dyn_cast<ComplexType>(b.elem(x)))
    ordered = prim::RealOp::create(b.builder(), b.location(),
                                   b.type(x).clone(complex.getElementType()), x);
  Value top = b.reduce(K::max, ordered, o.axes, true);
  Value shift = b.select(b.predicate<prim::IsFiniteOp>(top), top, b.scalar(0, b.elem(top)));
  shift = b.cast(shift, b.elem(x));
  Value sum = b.reduce(K::sum, b.exp(b.sub(x, shift)), o.axes, true);
  Value result = b.add(b.log(sum), shift);
  return o.keep ? result : b.squeeze(result, o.axes);
}

LogicalResult logSumExp(AtenNode &a) {
  auto o = over(a);
  if (failed(o))
    return failure();
  return a.give(logSumExpOf(a.b, a.cast(a.tensor("self"), a.wide()), *o));
}

template <bool logarithm, bool negative = false> LogicalResult softmax(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (a.has("dtype") && !isa<ComplexType>(a.own()))
    x = complexmath::realPart(b, x); // as conversions in PyTorch do
  x = a.cast(x, a.wide());
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis))
    return failure();
  if (negative)
    x = b.neg(x);
  return a.give(logarithm ? logSoftmaxOver(b, x, {*axis}) : b.softmax(x, *axis));
}

/// Rows without anything finite give 0 instead of NaN.
LogicalResult safeSoftmax(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide());
  auto axis = a.axis("dim", -1, b.rank(x));
  if (failed(axis))
    return failure();
  Value top = b.reduce(K::max, x, {*axis}, true);
  Value nothing = b.compare(P::eq, top, -std::numeric_limits<double>::infinity());
  return a.give(b.select(nothing, b.scalar(0, b.elem(x)), b.softmax(x, *axis)));
}

} // namespace

void tcc::populateAtenReductionRules(RuleSet &rules) {
  addRules(rules,
           {{"hash_tensor", "default", "self", hash},
            {"sum", "default dim_IntList", "self", sumLike<K::sum>},
            {"prod", "default dim_int", "self", sumLike<K::prod>},
            {"mean", "default dim", "self", mean},
            {"nansum", "default", "self", nanSum<false>},
            {"nanmean", "default", "self", nanSum<true>},
            {"amax", "default", "self", extremumOver<K::max>},
            {"amin", "default", "self", extremumOver<K::min>},
            {"max", "default", "self", extremumOver<K::max>},
            {"min", "default", "self", extremumOver<K::min>},
            {"max", "dim", "self", extremumAlong<K::max>, "self"},
            {"min", "dim", "self", extremumAlong<K::min>, "self"},
            {"aminmax", "default", "self", aminmax},
            {"argmax", "default", "self", argExtremum<K::max>},
            {"argmin", "default", "self", argExtremum<K::min>},
            {"any", "default dim dims", "self", anyAll<K::any>},
            {"all", "default dim dims", "self", anyAll<K::all>},
            {"_is_any_true", "default", "self", anyAll<K::any>},
            {"_is_all_true", "default", "self", anyAll<K::all>},
            {"count_nonzero", "default dim_IntList", "self", countNonzero},
            {"var", "default dim correction", "self", variance<false, false>},
            {"std", "default dim correction", "self", variance<true, false>},
            {"var_mean", "default dim correction", "self", variance<false, true>},
            {"std_mean", "default dim correction", "self", variance<true, true>},
            {"norm", "Scalar ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype", "self", normByP},
            {"linalg_vector_norm", "default", "self", normByOrder},
            {"linalg__powsum", "default", "self", powerSum},
            {"dist", "default", "self other", distance},
            {"logsumexp", "default", "self", logSumExp},
            {"special_logsumexp", "default", "self", logSumExp},
            {"_softmax", "default", "self", softmax<false>, "self"},
            {"softmax", "int", "self", softmax<false>, "self"},
            {"special_softmax", "default", "self", softmax<false>, "self"},
            {"_safe_softmax", "default", "self", safeSoftmax, "self"},
            {"softmin", "int", "self", softmax<false, true>, "self"},
            {"_log_softmax", "default", "self", softmax<true>, "self"},
            {"log_softmax", "int", "self", softmax<true>, "self"},
            {"special_log_softmax", "default", "self", softmax<true>, "self"}});
}
