//===- BackwardDistance.cpp - Gradients of distances, margins and norms ---===//
//
// A distance's slope along one axis is sign(d) (|d| / distance)^(p - 1), 0 where the distance is;
// a margin's is that of its violation, which the target's score gets with the other sign.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Aten/LabelMargins.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Checks.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;
using S = prim::ScatterKind;

namespace {

Value zero(PrimBuilder &b, Value like) { return b.scalar(0, b.elem(like)); }

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

/// g times the slopes of `distance` = |d|_p along d's last axis; both have an axis of 1 there.
Value distanceSlopes(PrimBuilder &b, Value g, Value d, Value distance, double p) {
  Value sign = b.unary<prim::SignOp>(d), size = b.abs(d);
  if (p == 0)
    return b.mul(d, 0.0);
  if (p == 1)
    return b.mul(g, sign);
  if (std::isinf(p)) {
    Value isFarthest = b.compare(P::eq, size, distance);
    return b.select(isFarthest, b.mul(g, sign), zero(b, g));
  }
  Value near = b.compare(P::eq, distance, 0.0);
  if (p < 1) // of infinite slope where d is 0
    near = b.binary<prim::OrOp>(near, b.compare(P::eq, d, 0.0));
  Value slope =
      p == 2 ? b.div(d, distance) : b.div(b.mul(sign, b.pow(size, p - 1)), b.pow(distance, p - 1));
  return b.select(near, zero(b, g), b.mul(g, slope));
}

/// All pairs of rows of x1 and x2; the gradient of x1.
LogicalResult cdist(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value x = a.cast(a.tensor("x1"), wide), y = a.cast(a.tensor("x2"), wide);
  Value g = a.cast(a.tensor("grad_output"), wide), distance = a.cast(a.tensor("cdist"), wide);
  int64_t rank = b.rank(g);
  if (rank < 2 || b.rank(distance) != rank || b.rank(x) < 2 || b.rank(y) < 2)
    return a.fail("needs rows, and a gradient for each pair of them");
  Value d = b.sub(b.unsqueeze(x, {b.rank(x) - 1}), b.unsqueeze(y, {b.rank(y) - 2}));
  Value slopes =
      distanceSlopes(b, b.unsqueeze(g, {rank}), d, b.unsqueeze(distance, {rank}), a.real("p", 2));
  return a.give(b.reduce(K::sum, slopes, {b.rank(slopes) - 2}, false));
}

LogicalResult pdist(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value x = a.cast(a.tensor("self"), wide), g = a.cast(a.tensor("grad_output"), wide);
  Value distance = a.cast(a.tensor("pdist"), wide);
  auto pairs = rowPairs(a, x);
  if (failed(pairs))
    return failure();
  if (b.rank(g) != 1 || b.rank(distance) != 1)
    return a.fail("needs a gradient and a distance of each pair of rows");
  auto [from, to] = *pairs;
  Value slopes = distanceSlopes(b, b.unsqueeze(g, {1}), b.sub(b.take(x, from, 0), b.take(x, to, 0)),
                                b.unsqueeze(distance, {1}), a.real("p", 2));
  Value sum = b.full(b.dims(x), 0, wide);
  for (auto [at, part] : {std::pair(from, slopes), std::pair(to, b.neg(slopes))})
    sum = prim::ScatterAlongOp::create(b.builder(), b.location(), sum.getType(), S::add, sum,
                                       b.broadcastTo(b.unsqueeze(at, {1}), b.dims(part)), part, 0);
  return a.give(sum);
}

/// v g / |v|: what g's axes lack was summed over.
LogicalResult weightNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value w = a.cast(a.tensor("grad_w"), wide), v = a.cast(a.tensor("saved_v"), wide);
  Value g = a.cast(a.tensor("saved_g"), wide), norm = a.cast(a.tensor("saved_norms"), wide);
  int64_t axis = a.integer("dim", 0), rank = b.rank(v);
  if (axis < 0 || axis >= rank || b.rank(w) != rank || b.rank(g) != rank || b.rank(norm) != rank)
    return a.fail("the magnitudes do not fit the weight");
  SmallVector<int64_t> others = allAxes(rank);
  others.erase(others.begin() + axis);
  Value sums = b.reduce(K::sum, b.mul(w, v), others, true);
  Value along = b.div(sums, b.mul(norm, norm));
  (void)a.give(0, b.mul(b.div(g, norm), b.sub(w, b.mul(v, along))));
  return a.give(1, b.div(sums, norm));
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

enum Reduction { kNone = 0, kMean = 1 };

/// The gradient of each row, [rows, 1], over how many rows the loss is the mean of.
Value rowGradients(AtenNode &a, Dim rows) {
  PrimBuilder &b = a.b;
  Value g = a.cast(a.tensor("grad_output"), a.wide());
  Dims shape = b.rank(g) == 0 ? Dims{b.dim(1), b.dim(1)} : Dims{b.dim(g, 0), b.dim(1)};
  g = b.reshape(g, shape);
  if (a.integer("reduction", kMean) == kMean)
    g = b.div(g, a.extentTensor(rows, b.elem(g)));
  return g;
}

LogicalResult multiMargin(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  Value x = a.cast(a.tensor("self"), a.wide()), target = a.cast(a.tensor("target"), i64);
  double p = a.real("p", 1), margin = a.real("margin", 1);
  if (b.rank(x) > 2 || b.rank(target) > 1)
    return a.fail("needs a batch of class scores");
  Dims shape = b.dims(x);
  Dims rows = {shape.size() == 2 ? shape[0] : b.dim(1), shape.empty() ? b.dim(1) : shape.back()};
  x = b.reshape(x, rows);
  target = b.reshape(target, {rows[0], b.dim(1)});
  requireInRange(b, target, rows[1], IndexRange::positions);
  Value z = b.add(b.sub(x, b.takeAlong(x, target, 1)), margin);
  Value isOwn = b.compare(P::eq, b.iota(rows, 1, i64), target);
  Value counts = b.binary<prim::AndOp>(b.compare(P::gt, z, 0.0), b.logicalNot(isOwn));
  Value g = b.div(rowGradients(a, rows[0]), a.extentTensor(rows[1], b.elem(x)));
  if (p != 1)
    g = b.mul(b.mul(g, z), 2.0);
  if (a.tensor("weight"))
    g = b.mul(g, b.take(a.cast(a.tensor("weight"), b.elem(x)), target, 0));
  Value others = b.select(counts, g, zero(b, x));
  Value own = b.neg(b.reduce(K::sum, others, {1}, true));
  return a.give(b.reshape(b.select(isOwn, own, others), shape));
}

/// Every target against every other class.
LogicalResult multiLabelMargin(AtenNode &a) {
  PrimBuilder &b = a.b;
  FailureOr<LabelMargins> margins = labelMargins(a);
  if (failed(margins))
    return failure();
  Type wide = b.elem(margins->ofPairs);
  Value violates = b.binary<prim::AndOp>(b.compare(P::gt, margins->ofPairs, 0.0), margins->counted);
  Value one = b.cast(violates, wide);
  Value ofClass = b.reduce(K::sum, one, {1}, false);
  Value ofTarget = b.reduce(K::sum, one, {2}, true); // [row, target, 1]
  Value own = b.reduce(K::sum, b.mul(b.cast(margins->isOwn, wide), ofTarget), {1}, false);
  Value g = b.div(rowGradients(a, margins->rows[0]), a.extentTensor(margins->rows[1], wide));
  return a.give(b.reshape(b.mul(b.sub(ofClass, own), g), margins->shape));
}

} // namespace

void tcc::populateAtenBackwardDistanceRules(RuleSet &rules) {
  addRules(rules,
           {{"_cdist_backward", "default", "grad_output x1 x2 cdist", cdist},
            {"_pdist_backward", "default", "grad_output self pdist", pdist},
            {"_weight_norm_interface_backward", "default", "grad_w saved_v saved_g saved_norms",
             weightNorm},
            {"multi_margin_loss_backward", "default", "grad_output self target", multiMargin},
            {"multilabel_margin_loss_backward", "default", "grad_output self target",
             multiLabelMargin}});
}
