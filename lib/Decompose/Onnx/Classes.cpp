//===- Classes.cpp - What the classifiers of ai.onnx.ml share ---------------===//
#include "Decompose/Onnx/Classes.h"
#include "Decompose/Onnx/MachineLearning.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

/// Softmax over the scores that are not zero; those that are stay so.
static Value softmaxOfNonzero(PrimBuilder &b, Value x) {
  constexpr double kZero = 1e-7; // as ONNX Runtime has it
  Value there = b.compare(P::gt, b.abs(x), kZero);
  Value powers = b.exp(b.sub(x, b.reduce(K::max, x, {1}, true)));
  powers = b.select(there, powers, b.scalar(0, b.elem(x)));
  return b.div(powers, b.reduce(K::sum, powers, {1}, true));
}

/// The quantiles of the normal distribution, to three digits, by the formula that ONNX Runtime has.
static Value probit(PrimBuilder &b, Value p) {
  constexpr double kWinitzki = 0.147, kPi = 3.14159;
  Value x = b.sub(b.mul(p, 2.0), 1.0), one = b.scalar(1, b.elem(p));
  Value log = b.log(b.mul(b.sub(one, x), b.add(x, 1.0)));
  Value v = b.add(b.mul(log, 0.5), 2 / (kPi * kWinitzki));
  Value square = b.sub(b.mul(v, v), b.mul(log, 1 / kWinitzki));
  Value size = b.sqrt(b.sub(b.sqrt(square), v));
  return b.mul(b.select(b.compare(P::lt, x, 0.0), b.neg(size), size), 1.41421356);
}

bool tcc::isProbit(NodeContext &c) { return c.stringAttr("post_transform", "NONE") == "PROBIT"; }

Value tcc::transformScores(NodeContext &c, Value scores) {
  std::string name = c.stringAttr("post_transform", "NONE");
  if (name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return c.b.logistic(scores);
  if (name == "SOFTMAX")
    return c.b.softmax(scores, 1);
  if (name == "PROBIT")
    return probit(c.b, scores);
  return name == "SOFTMAX_ZERO" ? softmaxOfNonzero(c.b, scores) : Value();
}

FailureOr<SmallVector<int64_t>> tcc::classLabels(NodeContext &c, StringRef name) {
  auto labels = c.intsAttr(name);
  if (labels && !labels->empty())
    return *labels;
  return c.fail("calls its classes by text: export it with integer labels");
}

/// labels[at], as i64.
static Value labelled(PrimBuilder &b, ArrayRef<int64_t> labels, Value at) {
  for (auto [i, label] : llvm::enumerate(labels))
    if (label != static_cast<int64_t>(i))
      return b.take(b.ints(labels), at, 0);
  return at;
}

LogicalResult tcc::giveClasses(NodeContext &c, ArrayRef<int64_t> labels, Value at, Value scores) {
  Type f32 = c.b.builder().getF32Type();
  if (!scores)
    return c.fail("has no rule for its post_transform");
  return success(succeeded(c.give(0, labelled(c.b, labels, at))) &&
                 succeeded(c.give(1, c.b.cast(scores, f32))));
}

Value tcc::largestClass(PrimBuilder &b, Value scores) {
  Value best = b.reduce(K::max, scores, {1}, true);
  Dims dims = b.dims(scores);
  Value place = b.iota({dims[1]}, 0, b.builder().getI64Type());
  Value none = b.scalar(static_cast<double>(INT32_MAX), b.elem(place));
  Value first = b.reduce(K::min, b.select(b.compare(P::eq, scores, best), place, none), {1}, false);
  return b.select(b.compare(P::eq, first, none), b.scalar(0, b.elem(first)), first); // NaN
}

FailureOr<Value> tcc::samples(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  x = b.cast(x, b.elem(x).isF64() ? b.elem(x) : b.builder().getF32Type());
  if (b.rank(x) == 1)
    x = b.unsqueeze(x, {0});
  if (b.rank(x) != 2)
    return c.fail("needs samples of features");
  return x;
}

Value tcc::floatTable(NodeContext &c, StringRef name, Type element) {
  auto list = c.floatsAttr(name);
  if (!list || list->empty())
    return {};
  SmallVector<float> narrow(list->begin(), list->end());
  auto t = RankedTensorType::get({static_cast<int64_t>(narrow.size())}, c.b.builder().getF32Type());
  return c.b.cast(c.b.constant(DenseElementsAttr::get(t, ArrayRef(narrow))), element);
}
