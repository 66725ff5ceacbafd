//===- BackwardAttention.cpp - Gradients of fused attention ---------------===//
//
// The weights are computed again from the scores and the logarithms of their
// sums. With D = rowsum(dO O): dV = W^T dO, dS = W (dO V^T - D) scale, dQ = dS K,
// dK = dS^T Q.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Attention.h"
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using matrices::transposed;

namespace {

LogicalResult attention(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  auto wideTensor = [&](StringRef name) { return a.cast(a.tensor(name), wide); };
  Value q = wideTensor("query"), k = wideTensor("key"), v = wideTensor("value");
  Value g = wideTensor("grad_out"), out = wideTensor("out"), sums = wideTensor("logsumexp");
  int64_t rank = b.rank(q);
  if (a.real("dropout_p", 0) != 0)
    return a.fail("random dropout is not supported");
  if (rank < 3 || b.rank(k) != rank || b.rank(v) != rank || b.rank(g) != rank ||
      b.rank(out) != rank || b.rank(sums) != rank - 1)
    return a.fail("query, key and value differ in rank");
  Value scale = attentionScale(a, q, wide), mask = a.tensor("attn_mask");
  Dim shared = rank > 3 ? b.dim(k, rank - 3) : b.dim(1);
  bool isGrouped = rank > 3 && !b.same(shared, b.dim(q, rank - 3));
  if (isGrouped) {
    k = repeatHeads(b, k, b.dim(q, rank - 3));
    v = repeatHeads(b, v, b.dim(q, rank - 3));
  }
  // What several heads read gets the sum of their gradients.
  auto together = [&](Value slopes) {
    if (!isGrouped)
      return slopes;
    Dims groups = b.dims(slopes);
    groups.insert(groups.begin() + rank - 3, shared);
    groups[rank - 2] = b.floorDivDims(groups[rank - 2], shared);
    return b.reduce(prim::ReduceKind::sum, b.reshape(slopes, groups), {rank - 2}, false);
  };
  Value scores = b.mul(b.matmul(q, transposed(b, k)), scale);
  if (mask && !b.broadcastable(b.dims(mask), b.dims(scores)))
    return a.fail("the mask does not fit the scores");
  scores = maskedScores(a, scores, mask, a.flag("is_causal", false));
  Value weights = b.exp(b.sub(scores, b.unsqueeze(sums, {rank - 1})));
  Value d = b.reduce(prim::ReduceKind::sum, b.mul(g, out), {rank - 1}, true);
  Value inner = b.mul(b.mul(weights, b.sub(b.matmul(g, transposed(b, v)), d)), scale);
  (void)a.give(0, b.matmul(inner, k));
  (void)a.give(1, together(b.matmul(transposed(b, inner), q)));
  return a.give(2, together(b.matmul(transposed(b, weights), g)));
}

} // namespace

void tcc::populateAtenBackwardAttentionRules(RuleSet &rules) {
  addRules(rules, {{"_scaled_dot_product_flash_attention_for_cpu_backward", "default",
                    "grad_out query key value out logsumexp", attention}});
}
