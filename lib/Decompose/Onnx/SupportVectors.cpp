//===- SupportVectors.cpp - LinearClassifier and the SVMs of ai.onnx.ml ------===//
//
// A support vector machine compares samples with its vectors by a kernel function,
// and what it says of a sample is a sum of those with coefficients. The classifier
// has one such sum for each pair of classes, i before j: vectors of class i count
// with row j - 1 of the coefficients, those of class j with row i. All pairs are
// one product with a [vectors, pairs] matrix made here. Each pair gives one class a
// vote.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Matrices.h"
#include "Decompose/Onnx/Classes.h"
#include "Decompose/Onnx/MachineLearning.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

/// A list attribute as a [rows, columns] tensor of x's type; null when it has another length.
static Value matrixAttr(NodeContext &c, StringRef name, int64_t rows, Value x, Dim columns) {
  Value list = floatTable(c, name, c.b.elem(x));
  auto count = list ? c.b.known(c.b.dim(list, 0)) : std::nullopt;
  if (!count || rows < 1 || *count % rows ||
      c.b.known(columns).value_or(*count / rows) != *count / rows)
    return {};
  return c.b.reshape(list, {rows, *count / rows});
}

/// x [samples, features] times the rows of w, [samples, rows].
static Value products(PrimBuilder &b, Value x, Value w) { return b.dot(x, w, {}, {}, {1}, {1}); }

/// The kernel function of each sample and each row; null when it has no rule.
static Value kernelOf(NodeContext &c, Value x, Value rows) {
  PrimBuilder &b = c.b;
  auto params = c.floatsAttr("kernel_params").value_or(SmallVector<double>());
  params.resize(3, 0);
  std::string name = c.stringAttr("kernel_type", "LINEAR");
  if (name == "RBF") {
    Value apart = b.sub(b.unsqueeze(x, {1}), b.unsqueeze(rows, {0}));
    return b.exp(b.mul(b.reduce(K::sum, b.mul(apart, apart), {2}, false), -params[0]));
  }
  Value dot = products(b, x, rows);
  if (name == "LINEAR")
    return dot;
  Value affine = b.add(b.mul(dot, params[0]), params[1]);
  return name == "POLY" ? b.pow(affine, params[2]) : name == "SIGMOID" ? b.tanh(affine) : Value();
}

/// Two scores from one: what speaks for the second class, and against it.
static Value pairOf(NodeContext &c, Value score) {
  PrimBuilder &b = c.b;
  if (isProbit(c))
    return {};
  bool plain = c.stringAttr("post_transform", "NONE") == "NONE";
  return b.concat({plain ? b.neg(score) : b.sub(b.scalar(1, b.elem(score)), score), score}, 1);
}

/// 1 where the score of [samples, 1] is positive.
static Value positive(PrimBuilder &b, Value score) {
  return b.cast(b.squeeze(b.compare(P::gt, score, 0.0), {1}), b.builder().getI64Type());
}

static LogicalResult linearClassifier(NodeContext &c) {
  PrimBuilder &b = c.b;
  FailureOr<Value> x = samples(c);
  auto labels = classLabels(c, "classlabels_ints");
  if (failed(x) || failed(labels))
    return failure();
  Value f = b.cast(*x, b.builder().getF32Type()), shift = floatTable(c, "intercepts", b.elem(f));
  int64_t classes = labels->size(), rows = shift ? *b.known(b.dim(shift, 0)) : classes;
  Value w = matrixAttr(c, "coefficients", rows, f, b.dim(f, 1));
  if (!w || (rows != classes && (rows != 1 || classes != 2)))
    return c.fail("has the wrong number of coefficients");
  Value y = products(b, f, w);
  y = shift ? b.add(y, shift) : y;
  if (rows == 1 && classes == 2) {
    std::string name = c.stringAttr("post_transform", "NONE");
    Value at = positive(b, y);
    if (name == "LOGISTIC")
      return giveClasses(c, *labels, at, b.logistic(b.concat({b.neg(y), y}, 1)));
    Value pair = b.concat({b.sub(b.scalar(1, b.elem(y)), y), y}, 1);
    return giveClasses(c, *labels, at, isProbit(c) ? Value() : pair);
  }
  return giveClasses(c, *labels, largestClass(b, y), transformScores(c, y));
}

static LogicalResult svmRegressor(NodeContext &c) {
  PrimBuilder &b = c.b;
  FailureOr<Value> x = samples(c);
  if (failed(x))
    return failure();
  Value f = b.cast(*x, b.builder().getF32Type());
  int64_t vectors = c.intAttr("n_supports", 0);
  auto rho = c.floatsAttr("rho");
  Value y;
  if (vectors > 0) {
    Value rows = matrixAttr(c, "support_vectors", vectors, f, b.dim(f, 1));
    Value weight = matrixAttr(c, "coefficients", 1, f, b.dim(vectors));
    Value kernel = rows && weight ? kernelOf(c, f, rows) : Value();
    y = kernel ? products(b, kernel, weight) : Value();
  } else if (Value weight = matrixAttr(c, "coefficients", 1, f, b.dim(f, 1))) {
    y = products(b, f, weight);
  }
  if (!y || !rho || rho->empty() || c.stringAttr("post_transform", "NONE") != "NONE")
    return c.fail("needs vectors and coefficients that fit, rho, and no transform after");
  y = b.add(y, rho->front());
  if (c.intAttr("one_class", 0))
    y = b.select(b.compare(P::gt, y, 0.0), b.scalar(1, b.elem(y)), b.scalar(-1, b.elem(y)));
  return c.give(y);
}

namespace {

/// The classifier whose vectors stand class after class.
struct Machine {
  SmallVector<int64_t> counts; ///< vectors of each class
  int64_t vectors = 0;
  int64_t classes() const { return counts.size(); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
};

} // namespace

/// [vectors, pairs]: what each vector counts in the sum of each pair.
static Value pairMatrix(PrimBuilder &b, const Machine &m, ArrayRef<double> coefficients) {
  SmallVector<float> matrix(m.vectors * m.pairs(), 0);
  SmallVector<int64_t> first{0};
  for (int64_t count : m.counts)
    first.push_back(first.back() + count);
  int64_t pair = 0;
  for (int64_t i = 0; i < m.classes(); ++i)
    for (int64_t j = i + 1; j < m.classes(); ++j, ++pair) {
      for (int64_t v = first[i]; v < first[i + 1]; ++v)
        matrix[v * m.pairs() + pair] = static_cast<float>(coefficients[(j - 1) * m.vectors + v]);
      for (int64_t v = first[j]; v < first[j + 1]; ++v)
        matrix[v * m.pairs() + pair] = static_cast<float>(coefficients[i * m.vectors + v]);
    }
  auto t = RankedTensorType::get({m.vectors, m.pairs()}, b.builder().getF32Type());
  return b.constant(DenseElementsAttr::get(t, ArrayRef(matrix)));
}

/// The class with the most votes, each pair's going to its first class where its sum is positive.
static Value elected(PrimBuilder &b, const Machine &m, Value sums) {
  SmallVector<float> won(m.pairs() * m.classes(), 0), lost(won);
  int64_t pair = 0;
  for (int64_t i = 0; i < m.classes(); ++i)
    for (int64_t j = i + 1; j < m.classes(); ++j, ++pair) {
      won[pair * m.classes() + i] = 1;
      lost[pair * m.classes() + j] = 1;
    }
  auto t = RankedTensorType::get({m.pairs(), m.classes()}, b.builder().getF32Type());
  Value first = b.unsqueeze(b.compare(P::gt, sums, 0.0), {2});
  Value votes = b.select(first, b.constant(DenseElementsAttr::get(t, ArrayRef(won))),
                         b.constant(DenseElementsAttr::get(t, ArrayRef(lost))));
  return largestClass(b, b.reduce(K::sum, votes, {1}, false));
}

/// A row of numbers, one for each pair.
static Value rowOf(PrimBuilder &b, const Machine &m, ArrayRef<double> numbers) {
  SmallVector<float> narrow(numbers.begin(), numbers.begin() + m.pairs());
  auto t = RankedTensorType::get({m.pairs()}, b.builder().getF32Type());
  return b.constant(DenseElementsAttr::get(t, ArrayRef(narrow)));
}

/// [samples, classes, classes]: how likely class i is where the sample is of class i or j, from a
/// sigmoid of each pair's sum; 0 on the diagonal.
static Value likelihoods(PrimBuilder &b, const Machine &m, Value sums, Value slope, Value shift) {
  constexpr double kLeast = 1e-7;
  Value p = b.logistic(b.neg(b.add(b.mul(sums, slope), shift)));
  p = b.minimum(b.maximum(p, kLeast), 1 - kLeast);
  Value both = b.concat(
      {b.full({b.dim(p, 0), b.dim(1)}, 0, b.elem(p)), p, b.sub(b.scalar(1, b.elem(p)), p)}, 1);
  SmallVector<int64_t> places(m.classes() * m.classes(), 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < m.classes(); ++i)
    for (int64_t j = i + 1; j < m.classes(); ++j, ++pair) {
      places[i * m.classes() + j] = 1 + pair;
      places[j * m.classes() + i] = 1 + m.pairs() + pair;
    }
  Dims shape = {b.dim(p, 0), b.dim(m.classes()), b.dim(m.classes())};
  return b.reshape(b.take(both, b.ints(places), 1), shape);
}

/// The probabilities of the classes that agree best with those of the pairs, as LIBSVM finds them
/// (Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling",
/// 2004, algorithm 2): class after class is fitted while the others stay, turn after turn, until
/// none of a sample is off by more than 0.005 / classes.
static Value coupled(PrimBuilder &b, const Machine &m, Value r) {
  int64_t k = m.classes();
  Type f32 = b.elem(r), i64 = b.builder().getI64Type();
  Dims rows = {b.dim(r, 0), b.dim(k)};
  Value turned = b.transpose(r, {0, 2, 1}), squares = b.mul(turned, turned);
  Value i = b.iota({b.dim(k)}, 0, i64), isOwn = b.compare(P::eq, b.unsqueeze(i, {1}), i);
  Value own = b.unsqueeze(b.reduce(K::sum, squares, {2}, false), {2});
  Value q = b.select(isOwn, own, b.neg(b.mul(turned, r)));
  // What a turn begins with, from the probabilities as they are.
  auto products = [&](Value p) {
    return b.reduce(K::sum, b.mul(q, b.unsqueeze(p, {1})), {2}, false);
  };
  auto total = [&](Value p, Value qp) { return b.reduce(K::sum, b.mul(p, qp), {1}, true); };
  auto isOff = [&](Value p) { // [samples, 1]
    Value qp = products(p), off = b.abs(b.sub(qp, total(p, qp)));
    return b.compare(P::ge, b.reduce(K::max, off, {1}, true), 0.005 / static_cast<double>(k));
  };
  auto fitOne = [&](Value t, ValueRange have) -> SmallVector<Value> {
    auto of = [&](Value v) { return b.unsqueeze(b.take(v, t, 1), {1}); };
    Value p = have[0], qp = have[1], sum = have[2], row = b.take(q, t, 1);
    Value step = b.div(b.sub(sum, of(qp)), of(row)), grown = b.add(step, 1.0);
    Value part = b.mul(step, b.add(b.mul(step, of(row)), b.mul(of(qp), 2.0)));
    sum = b.div(b.div(b.add(sum, part), grown), grown);
    qp = b.div(b.add(qp, b.mul(row, step)), grown);
    Value moved = b.select(b.compare(P::eq, i, t), b.add(p, step), p);
    return {b.div(moved, grown), qp, sum};
  };
  auto turn = [&](ValueRange have) -> std::optional<SmallVector<Value>> {
    Value p = have[0], open = have[1], qp = products(p);
    Value next = matrices::repeat(b, b.dim(k), {p, qp, total(p, qp)}, fitOne)[0];
    next = b.select(open, next, p);
    return SmallVector<Value>{next, b.binary<prim::AndOp>(open, isOff(next)), b.add(have[2], 1.0)};
  };
  auto more = [&](ValueRange have) {
    Value any = b.reduce(K::any, have[1], {0, 1}, false);
    Value few = b.compare(P::lt, have[2], static_cast<double>(std::max<int64_t>(100, k)));
    return b.readElements(b.binary<prim::AndOp>(any, few))[0];
  };
  Value even = b.full(rows, 1 / static_cast<double>(k), f32);
  auto result = b.loop({even, isOff(even), b.scalar(0, i64)}, more, turn);
  if (!result)
    b.fault("the loop's values change their types");
  return result ? result->front() : even;
}

/// Without vectors: a score for each class, straight from the features.
static LogicalResult linearMachine(NodeContext &c, Value f, ArrayRef<int64_t> labels, double rho) {
  PrimBuilder &b = c.b;
  int64_t classes = labels.size();
  auto list = c.floatsAttr("coefficients");
  Value w = matrixAttr(c, "coefficients", classes, f, b.dim(f, 1));
  if (!w)
    return c.fail("has the wrong number of coefficients");
  Value y = b.add(products(b, f, w), rho), at = largestClass(b, y);
  if (classes == 2 && !c.hasAttr("prob_a")) {
    bool mixed = llvm::any_of(*list, [](double v) { return v < 0; });
    Value most = b.reduce(K::max, y, {1}, false);
    Value sure = mixed ? b.compare(P::gt, most, 0.0) : b.compare(P::ge, most, 0.5);
    at = b.select(sure, b.scalar(1, b.elem(at)), at);
  }
  return giveClasses(c, labels, at, transformScores(c, y));
}

static LogicalResult svmClassifier(NodeContext &c) {
  PrimBuilder &b = c.b;
  FailureOr<Value> x = samples(c);
  auto labels = classLabels(c, "classlabels_ints");
  if (failed(x) || failed(labels))
    return failure();
  auto rho = c.floatsAttr("rho"), list = c.floatsAttr("coefficients");
  Value f = b.cast(*x, b.builder().getF32Type());
  Machine m{c.intsAttr("vectors_per_class").value_or(SmallVector<int64_t>())};
  if (!rho || rho->empty() || !list)
    return c.fail("needs coefficients and rho");
  if (m.counts.empty())
    return linearMachine(c, f, *labels, rho->front());
  for (int64_t count : m.counts)
    if (count < 0 || count > INT32_MAX)
      return c.fail("has a number of vectors that cannot be");
    else
      m.vectors += count;
  Value rows = matrixAttr(c, "support_vectors", m.vectors, f, b.dim(f, 1));
  if (!rows || m.classes() < 2 || m.classes() != static_cast<int64_t>(labels->size()) ||
      static_cast<int64_t>(list->size()) != (m.classes() - 1) * m.vectors ||
      static_cast<int64_t>(rho->size()) < m.pairs())
    return c.fail("needs vectors, coefficients and rho that fit its classes");
  auto slopes = c.floatsAttr("prob_a"), shift = c.floatsAttr("prob_b");
  bool estimates = slopes && !slopes->empty();
  if (estimates && (static_cast<int64_t>(slopes->size()) < m.pairs() || !shift ||
                    static_cast<int64_t>(shift->size()) < m.pairs()))
    return c.fail("needs a number in 'prob_a' and 'prob_b' for each pair of classes");
  Value kernel = kernelOf(c, f, rows);
  if (!kernel)
    return c.fail("has no rule for its kernel_type");
  Value sums = b.add(b.dot(kernel, pairMatrix(b, m, *list), {}, {}, {1}, {0}), rowOf(b, m, *rho));
  if (estimates) {
    Value pairs = likelihoods(b, m, sums, rowOf(b, m, *slopes), rowOf(b, m, *shift));
    return giveClasses(c, *labels, elected(b, m, sums), transformScores(c, coupled(b, m, pairs)));
  }
  Value scores = m.classes() == 2 ? pairOf(c, sums) : transformScores(c, sums);
  return giveClasses(c, *labels, elected(b, m, sums), scores);
}

void tcc::populateOnnxSupportVectorRules(RuleSet &rules) {
  rules.add("ai.onnx.ml", "LinearClassifier", linearClassifier);
  rules.add("ai.onnx.ml", "SVMClassifier", svmClassifier);
  rules.add("ai.onnx.ml", "SVMRegressor", svmRegressor);
}
