//===- Loss.cpp - ATen losses ---------------------------------------------===//
//
// An elementwise distance, then the reduction that `reduction` names (0 none,
// 1 mean, 2 sum). Losses over classes weigh what they pick and divide by the
// sum of those weights.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/LabelMargins.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Softmax.h"
#include "llvm/ADT/StringSwitch.h"
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Value sumAll(PrimBuilder &b, Value x) { return b.reduce(K::sum, x, allAxes(b.rank(x)), false); }

int64_t reductionOf(AtenNode &a) { return a.integer("reduction", kMean); }

LogicalResult giveReduced(AtenNode &a, Value loss, int64_t reduction) {
  PrimBuilder &b = a.b;
  if (reduction == kNone)
    return a.give(loss);
  return a.give(reduction == kSum ? sumAll(b, loss) : b.mean(loss, allAxes(b.rank(loss)), false));
}
LogicalResult giveReduced(AtenNode &a, Value loss) { return giveReduced(a, loss, reductionOf(a)); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult squared(AtenNode &a) {
  Value d = a.b.sub(a.wideTensor("self"), a.wideTensor("target"));
  return giveReduced(a, a.b.mul(d, d));
}

LogicalResult absolute(AtenNode &a) {
  Type common = a.wide(a.promoted({"self", "target"}));
  auto wide = [&](StringRef name) { return a.cast(a.tensor(name), common); };
  return giveReduced(a, a.magnitude(a.b.sub(wide("self"), wide("target"))));
}

/// d^2 / 2 up to `knee`, from there on linear with that slope.
Value roundedDistance(PrimBuilder &b, Value d, double knee) {
  Value far = b.mul(b.sub(d, 0.5 * knee), knee);
  return b.select(b.compare(P::le, d, knee), b.mul(b.mul(d, d), 0.5), far);
}

LogicalResult huber(AtenNode &a) {
  Value d = a.b.abs(a.b.sub(a.wideTensor("self"), a.wideTensor("target")));
  return giveReduced(a, roundedDistance(a.b, d, a.real("delta", 1)));
}

LogicalResult smoothAbsolute(AtenNode &a) {
  double beta = a.real("beta", 1);
  Value d = a.b.abs(a.b.sub(a.wideTensor("self"), a.wideTensor("target")));
  return giveReduced(a, beta == 0 ? d : a.b.div(roundedDistance(a.b, d, beta), beta));
}

LogicalResult binaryCrossEntropy(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self"), t = a.wideTensor("target");
  Value yes = b.maximum(b.log(x), -100.0);
  Value no = b.maximum(b.unary<prim::Log1pOp>(b.neg(x)), -100.0);
  // (t - 1) no - t yes
  Value loss = b.sub(b.mul(b.sub(t, 1.0), no), b.mul(t, yes));
  if (a.tensor("weight"))
    loss = b.mul(loss, a.wideTensor("weight"));
  return giveReduced(a, loss);
}

LogicalResult binaryCrossEntropyWithLogits(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self"), t = a.wideTensor("target");
  // -log sigmoid(x), weighted where the target holds; plus (1 - t) x.
  Value log = b.add(b.unary<prim::Log1pOp>(b.exp(b.neg(b.abs(x)))), b.maximum(b.neg(x), 0.0));
  if (a.tensor("pos_weight"))
    log = b.mul(log, b.add(b.mul(b.sub(a.wideTensor("pos_weight"), 1.0), t), 1.0));
  Value loss = b.add(b.mul(b.sub(b.scalar(1, b.elem(x)), t), x), log);
  if (a.tensor("weight"))
    loss = b.mul(loss, a.wideTensor("weight"));
  return giveReduced(a, loss);
}

/// x log y, 0 where x is 0.
Value xLogY(PrimBuilder &b, Value x, Value y) {
  return b.select(b.compare(P::eq, x, 0.0), b.scalar(0, b.elem(x)), b.mul(x, b.log(y)));
}

LogicalResult divergence(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self"), t = a.wideTensor("target");
  if (a.flag("log_target", false))
    return giveReduced(a, b.mul(b.exp(t), b.sub(t, x)));
  return giveReduced(a, b.sub(xLogY(b, t, t), b.mul(t, x)));
}

LogicalResult softMargin(AtenNode &a) {
  Value x = a.wideTensor("self"), t = a.wideTensor("target");
  return giveReduced(a, a.b.unary<prim::Log1pOp>(a.b.exp(a.b.neg(a.b.mul(t, x)))));
}

/// max(0, margin - x)
Value shortOf(PrimBuilder &b, Value x, double margin) {
  return b.maximum(b.sub(b.scalar(margin, b.elem(x)), x), 0.0);
}

LogicalResult hingeEmbedding(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self"), t = a.wideTensor("target"), zero = b.scalar(0, b.elem(x));
  Value apart = b.select(b.compare(P::ne, t, 1.0), shortOf(b, x, a.real("margin", 1)), zero);
  return giveReduced(a, b.add(apart, b.select(b.compare(P::ne, t, -1.0), x, zero)));
}

LogicalResult marginRanking(AtenNode &a) {
  PrimBuilder &b = a.b;
  double margin = a.real("margin", 0);
  Value d = a.difference("input1", "input2"), t = a.tensor("target");
  Type common = a.promoted({"input1", "input2", "target"});
  if (!isa<IntegerType>(common))
    return giveReduced(a, shortOf(b, b.mul(a.wideTensor("target"), a.cast(d, a.wide())), margin));
  // Integers wrap, the negative of the target in its own type.
  Value reversed = b.mul(a.cast(b.neg(t), common), a.cast(d, common));
  return giveReduced(a, b.maximum(b.add(a.cast(reversed, a.wide()), margin), 0.0));
}

LogicalResult poisson(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("input"), t = a.wideTensor("target");
  Value loss = a.flag("log_input", true) ? b.sub(b.exp(x), b.mul(t, x))
                                         : b.sub(x, b.mul(t, b.log(b.add(x, a.real("eps", 1e-8)))));
  if (a.flag("full", false)) { // Stirling's approximation of log t!
    Value log = b.log(t);
    Value s =
        b.add(b.sub(b.mul(t, log), t), b.mul(b.add(log, std::log(2 * std::numbers::pi)), 0.5));
    loss = b.add(loss, b.select(b.compare(P::le, t, 1.0), b.scalar(0, b.elem(t)), s));
  }
  return giveReduced(a, loss);
}

LogicalResult cosineEmbedding(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("input1"), y = a.wideTensor("input2"), t = a.wideTensor("target");
  int64_t last = std::max(b.rank(x), b.rank(y)) - 1;
  if (last < 0)
    return a.fail("needs vectors");
  auto sum = [&](Value v) { return b.reduce(K::sum, v, {last}, false); };
  b.broadcastTogether(x, y);
  constexpr double eps = 1e-12;
  Value size = b.sqrt(b.mul(b.add(sum(b.mul(x, x)), eps), b.add(sum(b.mul(y, y)), eps)));
  Value cosine = b.div(sum(b.mul(x, y)), size), zero = b.scalar(0, b.elem(x));
  Value apart = b.maximum(b.sub(cosine, a.real("margin", 0)), 0.0);
  Value near = b.sub(b.scalar(1, b.elem(x)), cosine);
  return giveReduced(a, b.add(b.select(b.compare(P::eq, t, 1.0), near, zero),
                              b.select(b.compare(P::eq, t, -1.0), apart, zero)));
}

/// |x - y + eps|, by the p-norm over the last axis.
Value pairDistance(AtenNode &a, StringRef x, StringRef y, double p, double eps) {
  PrimBuilder &b = a.b;
  Value d = a.difference(x, y);
  if (isa<IntegerType>(b.elem(d)))
    d = a.cast(d, a.wide());
  d = a.magnitude(b.add(d, eps));
  int64_t last = b.rank(d) - 1;
  if (p == 2)
    return b.sqrt(b.reduce(K::sum, b.mul(d, d), {last}, false));
  if (p == 1)
    return b.reduce(K::sum, d, {last}, false);
  return b.pow(b.reduce(K::sum, b.pow(d, p), {last}, false), 1 / p);
}

LogicalResult tripletMargin(AtenNode &a) {
  PrimBuilder &b = a.b;
  if (b.rank(a.tensor("anchor")) == 0)
    return a.fail("needs vectors");
  double p = a.real("p", 2), eps = a.real("eps", 1e-6);
  Value near = pairDistance(a, "anchor", "positive", p, eps);
  Value far = pairDistance(a, "anchor", "negative", p, eps);
  if (a.flag("swap", false))
    far = b.minimum(far, pairDistance(a, "positive", "negative", p, eps));
  return giveReduced(a, shortOf(b, b.sub(far, near), a.real("margin", 1)));
}

//===----------------------------------------------------------------------===//
// Over classes
//===----------------------------------------------------------------------===//

/// What losses over classes share: log-probabilities [N, C, ...] (or [C]), the
/// target's classes, and the weight of each place, 0 where it is to be ignored.
struct Classes {
  Value logs, target, weight, counted;
  int64_t axis;
};

FailureOr<Classes> classesOf(AtenNode &a, Value logs) {
  PrimBuilder &b = a.b;
  Classes k;
  k.logs = logs;
  k.axis = b.rank(logs) == 1 ? 0 : 1;
  Type i64 = b.builder().getI64Type(), wide = b.elem(logs);
  Value target = a.cast(a.tensor("target"), i64);
  if (b.rank(logs) < 1 || b.rank(target) != b.rank(logs) - 1)
    return a.fail("logits and classes differ in rank");
  k.counted = b.compare(P::ne, target, static_cast<double>(a.integer("ignore_index", -100)));
  k.target = b.select(k.counted, target, b.scalar(0, i64));
  requireInRange(b, k.target, b.dim(logs, k.axis), IndexRange::positions);
  Value weight = a.tensor("weight");
  Value each = weight ? b.take(a.cast(weight, wide), k.target, 0)
                      : b.broadcastTo(b.scalar(1, wide), b.dims(target));
  k.weight = b.select(k.counted, each, b.scalar(0, wide));
  return k;
}

/// -log p of the target's class, weighted.
Value negativeLikelihood(PrimBuilder &b, const Classes &k) {
  Value picked = b.takeAlong(k.logs, b.unsqueeze(k.target, {k.axis}), k.axis);
  Value loss = b.mul(b.neg(b.squeeze(picked, {k.axis})), k.weight);
  return b.select(k.counted, loss, b.scalar(0, b.elem(loss)));
}

Value reduceWeighted(AtenNode &a, Value loss, Value weight, int64_t reduction) {
  if (reduction == kNone)
    return loss;
  Value sum = sumAll(a.b, loss);
  return reduction == kSum ? sum : a.b.div(sum, sumAll(a.b, weight));
}

LogicalResult negativeLogLikelihood(AtenNode &a) {
  auto k = classesOf(a, a.wideTensor("self"));
  if (failed(k))
    return failure();
  Value loss = negativeLikelihood(a.b, *k);
  if (a.c.numResults() > 1)
    (void)a.give(1, a.integer("reduction", kMean) == kNone ? a.b.scalar(0, a.wide())
                                                           : sumAll(a.b, k->weight));
  return a.give(reduceWeighted(a, loss, k->weight, reductionOf(a)));
}

/// Targets that are probabilities: every class counts.
LogicalResult crossEntropyOfProbabilities(AtenNode &a, Value logs, int64_t axis,
                                          int64_t reduction) {
  PrimBuilder &b = a.b;
  Value target = a.wideTensor("target");
  double smoothing = a.real("label_smoothing", 0);
  Value count = a.extentTensor(b.dim(logs, axis), b.elem(logs));
  if (smoothing > 0)
    target = b.add(b.mul(target, 1 - smoothing), b.div(b.scalar(smoothing, b.elem(logs)), count));
  Value loss = b.mul(b.neg(logs), target);
  if (a.tensor("weight"))
    loss = b.mul(loss, alongAxis(b, a.wideTensor("weight"), axis, b.rank(logs)));
  loss = b.reduce(K::sum, loss, {axis}, false);
  return giveReduced(a, loss, reduction);
}

/// Of what a model gives for each class, x.
LogicalResult crossEntropyOf(AtenNode &a, Value x, int64_t reduction) {
  PrimBuilder &b = a.b;
  if (b.rank(x) == 0)
    return a.fail("needs an axis of classes");
  int64_t axis = b.rank(x) == 1 ? 0 : 1;
  Value logs = logSoftmaxOver(b, x, {axis});
  if (isa<FloatType>(b.elem(a.tensor("target"))))
    return crossEntropyOfProbabilities(a, logs, axis, reduction);
  auto k = classesOf(a, logs);
  if (failed(k))
    return failure();
  Value loss = negativeLikelihood(b, *k);
  double smoothing = a.real("label_smoothing", 0);
  if (smoothing > 0) {
    Value each = a.tensor("weight")
                     ? b.mul(logs, alongAxis(b, a.wideTensor("weight"), axis, b.rank(logs)))
                     : logs;
    Value all = b.neg(b.reduce(K::sum, each, {axis}, false));
    all = b.select(k->counted, all, b.scalar(0, b.elem(all)));
    Value share =
        b.div(b.scalar(smoothing, b.elem(all)), a.extentTensor(b.dim(logs, axis), b.elem(all)));
    loss = b.add(b.mul(loss, 1 - smoothing), b.mul(all, share));
  }
  return a.give(reduceWeighted(a, loss, k->weight, reduction));
}
LogicalResult crossEntropy(AtenNode &a) {
  return crossEntropyOf(a, a.wideTensor("self"), reductionOf(a));
}

/// Of a linear layer. PyTorch computes it in chunks, which do not change it; with it, if training
/// wants them, the gradients.
template <Reduction otherwise> LogicalResult linearCrossEntropy(AtenNode &a) {
  PrimBuilder &b = a.b;
  for (StringRef name : {"input", "linear_weight", "linear_bias"})
    if (a.flag(("compute_" + name + "_grad").str(), false))
      return a.fail("gradients are not computed here: export without them (torch.no_grad)");
  Value x = a.wideTensor("input"), w = a.wideTensor("linear_weight");
  if (b.rank(x) != 2 || b.rank(w) != 2 || !b.broadcastable({b.dim(x, 1)}, {b.dim(w, 1)}))
    return a.fail("needs rows and a matrix of weights that fits them");
  Value y = b.matmul(x, b.transpose(w, {1, 0}));
  if (a.tensor("linear_bias"))
    y = b.add(y, a.wideTensor("linear_bias"));
  for (size_t i = 1; i < a.c.numResults(); ++i)
    if (auto none = dyn_cast<RankedTensorType>(a.c.node.getResult(i).getType()))
      (void)a.give(i, b.full(Dims(none.getRank(), b.dim(0)), 0, a.own(i)));
  auto reduction = llvm::StringSwitch<Reduction>(a.text("reduction"))
                       .Case("none", kNone)
                       .Case("mean", kMean)
                       .Case("sum", kSum)
                       .Default(otherwise);
  return crossEntropyOf(a, y, reduction);
}

/// What is above 0; nothing of NaN, which torch finds to be no violation of a margin.
Value violation(PrimBuilder &b, Value z) {
  return b.select(b.compare(P::gt, z, 0.0), z, b.scalar(0, b.elem(z)));
}

/// Every other class counts by how far it comes near the target's.
LogicalResult multiMargin(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self"), target = a.cast(a.tensor("target"), b.builder().getI64Type());
  double p = a.real("p", 1), margin = a.real("margin", 1);
  if (b.rank(x) < 1 || b.rank(x) > 2 || b.rank(target) > 1)
    return a.fail("needs a batch of class scores");
  if (b.rank(x) == 1)
    x = b.unsqueeze(x, {0});
  if (b.rank(target) == 0)
    target = b.unsqueeze(target, {0});
  requireInRange(b, target, b.dim(x, 1), IndexRange::positions);
  Value own = b.takeAlong(x, b.unsqueeze(target, {1}), 1);
  Value z = violation(b, b.add(b.sub(x, own), margin));
  if (p != 1)
    z = b.mul(z, z);
  if (a.tensor("weight"))
    z = b.mul(z, b.unsqueeze(b.take(a.wideTensor("weight"), target, 0), {1}));
  Value other =
      b.compare(P::ne, b.iota(b.dims(x), 1, b.builder().getI64Type()), b.unsqueeze(target, {1}));
  Value loss = b.mean(b.select(other, z, b.scalar(0, b.elem(z))), {1}, false);
  if (b.rank(a.tensor("self")) == 1 && a.integer("reduction", kMean) == kNone)
    loss = b.squeeze(loss, {0});
  return giveReduced(a, loss);
}

/// How far each class that is no target comes near each that is, over the number of classes.
/// Result 1: which classes are targets.
LogicalResult multiLabelMargin(AtenNode &a) {
  PrimBuilder &b = a.b;
  FailureOr<LabelMargins> margins = labelMargins(a);
  if (failed(margins))
    return failure();
  Value near = violation(b, margins->ofPairs);
  near = b.select(margins->counted, near, b.scalar(0, b.elem(near)));
  Value loss = b.reduce(K::sum, near, {1, 2}, false);
  loss = b.div(loss, a.extentTensor(margins->rows[1], b.elem(loss)));
  if (margins->shape.size() < 2 && a.integer("reduction", kMean) == kNone)
    loss = b.squeeze(loss, {0});
  if (a.c.numResults() > 1)
    (void)a.give(1, b.reshape(margins->isTarget, margins->shape));
  return giveReduced(a, loss);
}

} // namespace

FailureOr<LabelMargins> aten::labelMargins(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  Value x = a.wideTensor("self"), target = b.cast(a.tensor("target"), i64);
  int64_t rank = b.rank(x);
  if (rank > 2 || b.rank(target) != rank)
    return a.fail("needs rows of scores and of classes");
  LabelMargins margins;
  Dims shape = b.dims(x), rows = {rank == 2 ? shape[0] : b.dim(1), rank ? shape.back() : b.dim(1)};
  for (auto [have, want] : llvm::zip(b.dims(target), shape))
    requireSame(b, have, want, "scores and classes");
  x = b.reshape(x, rows);
  target = b.reshape(target, rows);
  Value ended = b.cast(b.compare(P::lt, target, 0.0), i64);
  ended = prim::CumulativeOp::create(b.builder(), b.location(), ended.getType(), K::max, ended, 1,
                                     false, false);
  Value counts = b.compare(P::eq, ended, 0.0);
  Value at = b.select(counts, target, b.scalar(0, i64));
  requireInRange(b, at, rows[1], IndexRange::positions);
  margins.shape = shape;
  margins.rows = rows;
  margins.isOwn = b.binary<prim::AndOp>(
      b.compare(P::eq, b.unsqueeze(at, {2}), b.iota({rows[1]}, 0, i64)), b.unsqueeze(counts, {2}));
  margins.isTarget = b.reduce(K::any, margins.isOwn, {1}, false);
  margins.counted = b.binary<prim::AndOp>(b.unsqueeze(counts, {2}),
                                          b.unsqueeze(b.logicalNot(margins.isTarget), {1}));
  Value own = b.unsqueeze(b.takeAlong(x, at, 1), {2});
  margins.ofPairs = b.add(b.sub(b.unsqueeze(x, {1}), own), 1.0);
  return margins;
}

void tcc::populateAtenLossRules(RuleSet &rules) {
  addRules(rules, {{"mse_loss", "default", "self target", squared},
                   {"l1_loss", "default", "self target", absolute},
                   {"huber_loss", "default", "self target", huber},
                   {"smooth_l1_loss", "default", "self target", smoothAbsolute},
                   {"binary_cross_entropy", "default", "self target", binaryCrossEntropy},
                   {"binary_cross_entropy_with_logits", "default", "self target",
                    binaryCrossEntropyWithLogits},
                   {"kl_div", "default", "self target", divergence},
                   {"soft_margin_loss", "default", "self target", softMargin},
                   {"hinge_embedding_loss", "default", "self target", hingeEmbedding},
                   {"margin_ranking_loss", "default", "input1 input2 target", marginRanking},
                   {"poisson_nll_loss", "default", "input target", poisson},
                   {"cosine_embedding_loss", "default", "input1 input2 target", cosineEmbedding},
                   {"triplet_margin_loss", "default", "anchor positive negative", tripletMargin},
                   {"nll_loss", "default", "self target", negativeLogLikelihood},
                   {"nll_loss_nd", "default", "self target", negativeLogLikelihood},
                   {"nll_loss2d", "default", "self target", negativeLogLikelihood},
                   {"nll_loss_forward", "default", "self target", negativeLogLikelihood},
                   {"nll_loss2d_forward", "default", "self target", negativeLogLikelihood},
                   {"cross_entropy_loss", "default", "self target", crossEntropy},
                   {"multilabel_margin_loss", "default", "self target", multiLabelMargin},
                   {"multilabel_margin_loss_forward", "default", "self target", multiLabelMargin},
                   {"multi_margin_loss", "default", "self target", multiMargin, "self"}});
  addRules(rules,
           {{"_linear_cross_entropy_batch_chunked", "default", "input linear_weight target",
             linearCrossEntropy<kMean>},
            {"_linear_cross_entropy_batch_chunked_no_reduction", "default",
             "input linear_weight target", linearCrossEntropy<kNone>}},
           "torch_nn");
}
