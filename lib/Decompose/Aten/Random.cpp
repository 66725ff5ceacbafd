//===- Random.cpp - ATen's random numbers ---------------------------------===//
//
// The distributions are torch's, the numbers are not: torch's come from another
// generator on every device. A traced graph says nothing of torch.manual_seed, so
// all nodes draw from the context's generator (tcc_context_set_seed).
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/RandomNumbers.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

/// `size`, or the shape of self.
FailureOr<Dims> shapeOf(AtenNode &a) {
  if (Value like = a.tensor("self"))
    return a.b.dims(like);
  auto size = a.extents("size");
  if (!size)
    return a.fail("needs a list of extents");
  if (llvm::any_of(*size, [&](Dim d) { return a.b.known(d).value_or(0) < 0; }))
    return a.fail("an extent is negative");
  return *size;
}

/// The type in which numbers for a result of `type` are drawn, and f32 or f64 for several steps.
FloatType drawnType(AtenNode &a, Type type) {
  auto real = dyn_cast<FloatType>(type);
  return real && real.getWidth() >= 16 ? real : FloatType(a.b.builder().getF32Type());
}
FloatType wideFloat(AtenNode &a, Type type) {
  return cast<FloatType>(type.isF64() ? Type(type) : Type(a.b.builder().getF32Type()));
}

/// The result, or both parts of a complex one, each of a draw of its own.
LogicalResult giveParts(AtenNode &a, function_ref<Value(Type)> draw) {
  auto complex = dyn_cast<ComplexType>(a.own());
  if (!complex)
    return a.give(draw(a.own()));
  Type type = complex.getElementType();
  Value real = a.cast(draw(type), type), imaginary = a.cast(draw(type), type);
  auto whole = a.b.type(real).clone(complex);
  return a.give(
      prim::ComplexOp::create(a.b.builder(), a.b.location(), whole, real, imaginary).getResult());
}

/// Uniform in [from, to), of which rand is [0, 1).
LogicalResult uniform(AtenNode &a) {
  auto shape = shapeOf(a);
  if (failed(shape))
    return failure();
  double from = a.real("from", 0), to = a.real("to", 1);
  return giveParts(a, [&](Type type) {
    Value drawn = RandomNumbers(a.b).uniform(*shape, drawnType(a, type));
    return a.b.add(a.b.mul(a.cast(drawn, wideFloat(a, type)), to - from), from);
  });
}

LogicalResult standardNormal(AtenNode &a) {
  auto shape = shapeOf(a);
  if (failed(shape))
    return failure();
  // The variance of a complex number is the sum of its parts'.
  double deviation = isa<ComplexType>(a.own()) ? std::numbers::sqrt2 / 2 : 1;
  return giveParts(a, [&](Type type) {
    return a.b.mul(RandomNumbers(a.b).normal(*shape, wideFloat(a, type)), deviation);
  });
}

LogicalResult normalNumbers(AtenNode &a) {
  PrimBuilder &b = a.b;
  FloatType wide = wideFloat(a, a.own());
  Value mean = a.number("mean", 0, wide), deviation = a.number("std", 1, wide);
  Dims shape = b.broadcastShapes(b.dims(mean), b.dims(deviation));
  if (a.tensor("self") || a.has("size")) {
    auto stated = shapeOf(a);
    if (failed(stated))
      return failure();
    shape = *stated;
  }
  Value drawn = RandomNumbers(b).normal(shape, wide);
  return a.give(b.add(b.mul(drawn, deviation), mean));
}

/// Integers of [low, high).
LogicalResult integers(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto shape = shapeOf(a);
  if (failed(shape))
    return failure();
  auto high = a.extent("high");
  if (!high)
    return a.fail("needs bounds");
  Dim low = a.extent("low", 0);
  Dim holds = b.compareDims(arith::CmpIPredicate::slt, low, *high);
  if (b.known(holds) == 0)
    return a.fail("needs a low bound below the high one");
  b.check(holds, "randint's low bound is not below the high one");
  Type i64 = b.builder().getI64Type();
  Value first = a.extentTensor(low, i64), end = a.extentTensor(*high, i64);
  return a.give(RandomNumbers(b).integers(*shape, first, b.sub(end, first)));
}

/// Integers that the type holds without a gap, from `from` or 0 on, below `to` if that is given.
LogicalResult integersOfType(AtenNode &a) {
  PrimBuilder &b = a.b;
  Dim from = a.extent("from", 0);
  auto to = a.extent("to");
  Type i64 = b.builder().getI64Type(), own = a.own();
  Value first = a.extentTensor(from, i64), count;
  if (to) {
    Dim holds = b.compareDims(arith::CmpIPredicate::slt, from, *to);
    if (b.known(holds) == 0)
      return a.fail("needs a low bound below the high one");
    b.check(holds, "random_'s low bound is not below the high one");
    count = b.sub(a.extentTensor(*to, i64), first);
  } else if (auto real = dyn_cast<FloatType>(own)) {
    int64_t most = int64_t(1) << real.getFPMantissaWidth();
    count = b.sub(a.extentTensor(b.dim(most + 1), i64), first);
  } else if (own.isInteger(1)) {
    count = b.sub(b.scalar(2, i64), first);
  } else if (auto integer = dyn_cast<IntegerType>(own); integer && integer.getWidth() <= 64) {
    unsigned digits = integer.getWidth() - !integer.isUnsigned();
    int64_t end = digits >= 63 ? INT64_MIN : int64_t(1) << digits; // the count, modulo 2^64
    count = b.sub(a.extentTensor(b.dim(end), i64), first);
  } else {
    return a.fail("needs numbers");
  }
  return a.give(RandomNumbers(b).integers(b.dims(a.tensor("self")), first, count));
}

/// The order in which drawn words sort. Words of 64 bits: with n of them, two are equal with a
/// probability of n^2 / 2^65, and those two then keep their order.
LogicalResult permutation(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto n = a.extent("n");
  if (!n || b.known(*n).value_or(0) < 0)
    return a.fail("needs a length");
  Value drawn = RandomNumbers(b).words({*n}, 64);
  auto sort = prim::SortOp::create(b.builder(), b.location(), drawn.getType(),
                                   b.type(drawn).clone(b.builder().getI64Type()), drawn, 0, false);
  return a.give(sort.getIndices());
}

/// Whether a number drawn for each element of `shape` is below its probability.
Value happens(AtenNode &a, ArrayRef<Dim> shape, Value probability) {
  auto type = cast<FloatType>(a.b.elem(probability));
  return a.b.compare(P::lt, RandomNumbers(a.b).uniform(shape, type), probability);
}

LogicalResult bernoulli(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value self = a.tensor("self");
  if (a.has("p"))
    return a.give(happens(a, b.dims(self), a.number("p", b.builder().getF64Type())));
  return a.give(happens(a, b.dims(self), a.cast(self, wideFloat(a, b.elem(self)))));
}

/// What is kept is divided by the probability of being kept.
LogicalResult dropout(AtenNode &a) {
  PrimBuilder &b = a.b;
  double p = a.real("p", 0.5);
  // What stands for dropout_ has "self".
  Value x = a.tensor("input") ? a.tensor("input") : a.tensor("self");
  if (!x)
    return a.fail("needs a tensor");
  if (p < 0 || p > 1)
    return a.fail("needs a probability from 0 to 1");
  bool drops = a.flag("train", true) && p > 0;
  Value kept = b.full(b.dims(x), 1, b.builder().getI1Type());
  if (drops) {
    FloatType wide = wideFloat(a, a.own());
    kept = happens(a, b.dims(x), b.scalar(1 - p, b.builder().getF64Type()));
    Value zero = b.scalar(0, wide);
    x = b.select(kept, b.mul(a.cast(x, wide), p < 1 ? 1 / (1 - p) : 0.0), zero);
  }
  (void)a.give(0, x);
  return a.c.numResults() > 1 ? a.give(1, kept) : success();
}

/// Dropout of other kinds: whole channels, or to a value that is not 0.
LogicalResult noDropout(AtenNode &a) {
  if (a.flag("train", true) && a.real("p", 0.5) > 0)
    return a.fail("this dropout (train = true) is not supported; export the model in eval()");
  return dropout(a);
}

LogicalResult exponential(AtenNode &a) {
  PrimBuilder &b = a.b;
  Dims shape = b.dims(a.tensor("self"));
  return a.give(
      b.mul(RandomNumbers(b).exponential(shape, wideFloat(a, a.own())), 1 / a.real("lambd", 1)));
}

/// The trial that is the first to succeed: an exponential number in steps.
LogicalResult geometric(AtenNode &a) {
  PrimBuilder &b = a.b;
  double p = a.real("p", 0);
  if (!(p > 0 && p < 1))
    return a.fail("needs a probability between 0 and 1");
  FloatType wide = wideFloat(a, a.own());
  Value time = RandomNumbers(b).exponential(b.dims(a.tensor("self")), wide);
  return a.give(b.unary<prim::CeilOp>(b.mul(time, -1 / std::log1p(-p))));
}

LogicalResult cauchy(AtenNode &a) {
  PrimBuilder &b = a.b;
  FloatType wide = wideFloat(a, a.own());
  Value u = RandomNumbers(b).uniform(b.dims(a.tensor("self")), wide);
  Value angle = b.mul(b.sub(u, 0.5), std::numbers::pi);
  Value scaled = b.mul(b.unary<prim::TanOp>(angle), a.real("sigma", 1));
  return a.give(b.add(scaled, a.real("median", 0)));
}

LogicalResult logNormal(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value drawn = RandomNumbers(b).normal(b.dims(a.tensor("self")), wideFloat(a, a.own()));
  return a.give(b.exp(b.add(b.mul(drawn, a.real("std", 2)), a.real("mean", 1))));
}

/// Classes by their weights; without replacement, those of the largest w / e of
/// exponential e (Efraimidis and Spirakis).
LogicalResult multinomial(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value weights = a.tensor("self");
  auto samples = a.extent("num_samples");
  int64_t axis = b.rank(weights) - 1;
  if (!samples || axis < 0 || axis > 1)
    return a.fail("needs weights of classes and a number");
  if (a.flag("replacement", false))
    return a.give(RandomNumbers(b).classes(weights, *samples));
  FloatType wide = wideFloat(a, b.elem(weights));
  Value key = b.div(a.cast(weights, wide), RandomNumbers(b).exponential(b.dims(weights), wide));
  auto sort = prim::SortOp::create(b.builder(), b.location(), key.getType(),
                                   b.type(key).clone(b.builder().getI64Type()), key, axis, true);
  return a.give(b.sliceAxis(sort.getIndices(), axis, b.dim(0), *samples));
}

} // namespace

void tcc::populateAtenRandomRules(RuleSet &rules) {
  addRules(rules,
           {{"rand", "default generator", "", uniform},
            {"rand_like", "default generator", "self", uniform},
            {"randn", "default generator", "", standardNormal},
            {"randn_like", "default generator", "self", standardNormal},
            {"randint", "default low generator low_generator", "", integers},
            {"randint_like", "default low_dtype generator low_generator_dtype", "self", integers},
            {"random", "default from to", "self", integersOfType},
            {"randperm", "default generator", "", permutation},
            {"uniform", "default", "self", uniform},
            {"normal", "float_float Tensor_float float_Tensor Tensor_Tensor", "", normalNumbers},
            {"normal_functional", "default", "self", normalNumbers},
            {"bernoulli", "default p float Tensor", "self", bernoulli},
            {"exponential", "default", "self", exponential},
            {"geometric", "default", "self", geometric},
            {"cauchy", "default", "self", cauchy},
            {"log_normal", "default", "self", logNormal},
            {"multinomial", "default", "self", multinomial},
            {"dropout", "default", "", dropout},
            {"native_dropout", "default", "", dropout},
            {"feature_dropout", "default", "", noDropout},
            {"alpha_dropout", "default", "", noDropout},
            {"feature_alpha_dropout", "default", "", noDropout}});
}
