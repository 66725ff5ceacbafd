//===- Attention.cpp - Attention and RotaryEmbedding of ai.onnx ---------------===//
#include "Decompose/Idioms/Attention.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

Value conjunction(PrimBuilder &b, Value x, Value y) {
  return !x ? y : !y ? x : b.binary<prim::AndOp>(x, y);
}

/// Which keys (of `keys`) each query sees by position: i1 [S, T], or [B, 1, S, T]
/// when the offset of a batch entry is data; null when all.
Value positionMask(NodeContext &c, Dim queries, Dim keys, Dim past) {
  PrimBuilder &b = c.b;
  Type index = b.builder().getI64Type();
  bool causal = c.intAttr("is_causal", 0);
  int64_t left = c.intAttr("left_window_size", -1), right = c.intAttr("right_window_size", -1);
  Value valid;
  if (!causal && left < 0 && right < 0 && !c.has(6))
    return valid;
  // A query's distance to each key: how far the key lies before it.
  Value row = b.unsqueeze(b.iota({queries}, 0, index), {1});
  Value column = b.unsqueeze(b.iota({keys}, 0, index), {0});
  Value position = b.add(row, scalarOf(b, past, index));
  if (c.has(6)) {
    Value lengths = alongAxis(b, b.cast(c.in(6), index), 0, 4);
    valid = b.compare(P::lt, column, lengths);
    position = b.add(row, b.sub(lengths, scalarOf(b, queries, index)));
  }
  Value distance = b.sub(position, column);
  if (causal)
    valid = conjunction(b, valid, b.compare(P::ge, distance, 0.0));
  if (left >= 0)
    valid = conjunction(b, valid, b.compare(P::le, distance, static_cast<double>(left)));
  if (right >= 0)
    valid = conjunction(b, valid, b.compare(P::ge, distance, static_cast<double>(-right)));
  return valid;
}

/// A mask that covers fewer keys hides the rest.
Value fittedMask(PrimBuilder &b, Value mask, Dim keys) {
  Dims low(b.rank(mask), b.dim(0)), high = low;
  Dim have = b.dim(mask, b.rank(mask) - 1);
  if (b.same(have, keys) || b.known(have) == 1)
    return mask;
  requireAtMost(b, have, keys, "the mask's keys");
  high.back() = b.subDims(keys, have);
  double hidden = isa<FloatType>(b.elem(mask)) ? -std::numeric_limits<double>::infinity() : 0;
  return b.pad(mask, b.scalar(hidden, b.elem(mask)), low, high);
}

/// Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
LogicalResult attention(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value q = c.in(0), k = c.in(1), v = c.in(2);
  bool flat = b.rank(q) == 3;
  if (flat) {
    int64_t heads = c.intAttr("q_num_heads", 0), shared = c.intAttr("kv_num_heads", 0);
    if (heads < 1 || shared < 1 || b.rank(k) != 3 || b.rank(v) != 3)
      return c.fail("needs the numbers of heads for operands of rank 3");
    q = splitHeads(b, q, heads);
    k = splitHeads(b, k, shared);
    v = splitHeads(b, v, shared);
  }
  if (b.rank(q) != 4 || b.rank(k) != 4 || b.rank(v) != 4)
    return c.fail("needs operands of rank 3 or 4");
  requireSame(b, b.dim(v, 1), b.dim(k, 1), "heads of K and V");
  Dim past = b.dim(0);
  if (c.has(4) && c.has(5)) {
    past = b.dim(c.in(4), 2);
    k = b.concat({c.in(4), k}, 2);
    v = b.concat({c.in(5), v}, 2);
  }
  Attention a{q, k, b.cast(v, b.elem(q))}; // V may be of another type; the result is of Q's
  a.scale = c.floatAttr("scale", 0);
  a.softcap = c.floatAttr("softcap", 0);
  a.allowed = positionMask(c, b.dim(q, 2), b.dim(k, 2), past);
  if (c.has(3)) {
    Value mask = fittedMask(b, c.in(3), b.dim(k, 2));
    if (b.elem(mask).isInteger(1))
      a.allowed = conjunction(b, a.allowed, mask);
    else
      a.bias = mask;
  }
  a.emptyRows = c.has(3) || c.has(6) || c.intAttr("left_window_size", -1) >= 0;
  Attended r = attend(b, a);
  (void)c.give(0, flat ? mergeHeads(b, r.result) : r.result);
  if (c.numResults() > 1)
    (void)c.give(1, k);
  if (c.numResults() > 2)
    (void)c.give(2, v);
  Value stages[] = {r.scores, r.capped, r.masked, r.weights};
  int64_t mode = c.intAttr("qk_matmul_output_mode", 0);
  if (c.numResults() > 3) {
    if (mode < 0 || mode > 3)
      return c.fail("has an unknown qk_matmul_output_mode");
    (void)c.give(3, b.cast(stages[mode], b.elem(q)));
  }
  return success();
}

/// X, cos_cache, sin_cache, position_ids.
LogicalResult rotaryEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), cos = c.in(1), sin = c.in(2);
  if (c.has(3)) {
    for (Value table : {cos, sin})
      requireInRange(b, c.in(3), b.dim(table, 0), IndexRange::positions);
    cos = b.take(cos, c.in(3), 0);
    sin = b.take(sin, c.in(3), 0);
  }
  bool flat = b.rank(x) == 3;
  int64_t heads = c.intAttr("num_heads", 0), interleaved = c.intAttr("interleaved", 0);
  if (interleaved != 0 && interleaved != 1)
    return c.fail("attribute 'interleaved' is " + llvm::Twine(interleaved) + "; it is 0 or 1");
  if ((flat && heads < 1) || (!flat && b.rank(x) != 4) || b.rank(cos) != 3 || b.rank(sin) != 3)
    return c.fail("needs x of rank 4, or of rank 3 with 'num_heads'");
  Dims have = b.dims(x);
  if (flat) // [B, S, N, H]
    x = b.reshape(x, {have[0], have[1], b.dim(heads),
                      wholeQuotient(b, have[2], b.dim(heads), "features in heads")});
  int64_t headAxis = flat ? 2 : 1, turned = c.intAttr("rotary_embedding_dim", 0);
  Dim width = turned > 0 ? b.dim(turned) : b.dim(x, 3);
  for (Value table : {cos, sin}) {
    requireBroadcast(b, b.dim(table, 0), b.dim(x, 0));
    requireBroadcast(b, b.dim(table, 1), b.dim(x, flat ? 1 : 2));
    requireSame(b, b.dim(table, 2), b.floorDivDims(width, b.dim(2)), "angles and features");
  }
  Value result =
      rotate(b, x, b.unsqueeze(cos, {headAxis}), b.unsqueeze(sin, {headAxis}), turned, interleaved);
  return c.give(flat ? b.reshape(result, have) : result);
}

} // namespace

void tcc::populateOnnxAttentionRules(RuleSet &rules) {
  rules.add("onnx", "Attention", attention);
  rules.add("onnx", "RotaryEmbedding", rotaryEmbedding);
}
