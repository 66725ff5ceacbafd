//===- ContribPacked.cpp - Sequences without their padding --------------------===//
//
// ONNX Runtime packs a batch of sequences of different lengths: RemovePadding keeps the tokens that
// are none of padding, one after the other, RestorePadding puts them back, and the packed attention
// operators work in between. `token_offset` [B, S] holds the place in the batch of each token,
// those of the sequences first and those of the padding after them.
//
// The packed operators restore the batch, attend with a mask of each sequence's keys, and take the
// tokens out again. The biases by relative position that stand beside them in such models are here
// too.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Attention.h"
#include "Decompose/Onnx/ContribAttention.h"
#include "Decompose/Onnx/Operands.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

Value flat(PrimBuilder &b, Value x) { return b.reshape(x, {b.productOf(b.dims(x))}); }

/// x [T, ..] as [B, S, ..], zeros where `offsets` names padding.
Value restored(PrimBuilder &b, Value x, Value offsets) {
  Type index = b.builder().getI64Type();
  Value places = b.cast(flat(b, offsets), index);
  Dim all = b.dim(places, 0), tokens = b.dim(x, 0);
  requireAtMost(b, tokens, all, "the tokens of a packed batch");
  requireInRange(b, places, all, IndexRange::positions);
  // Which token stands at each place; padding has the numbers after them, which name a row of 0.
  Value from = prim::ScatterAlongOp::create(b.builder(), b.location(), places.getType(),
                                            prim::ScatterKind::assign, b.full({all}, 0, index),
                                            places, b.iota({all}, 0, index), 0);
  Dims low(b.rank(x), b.dim(0)), high = low;
  high[0] = b.dim(1);
  Value rows = b.take(b.pad(x, b.scalar(0, b.elem(x)), low, high),
                      b.minimum(from, scalarOf(b, tokens, index)), 0);
  Dims shape = b.dims(offsets);
  for (int64_t i = 1; i < b.rank(x); ++i)
    shape.push_back(b.dim(x, i));
  return b.reshape(rows, shape);
}

/// Of x [B, S, ..] the first `count` tokens that `offsets` names.
Value packed(PrimBuilder &b, Value x, Value offsets, Dim count) {
  Dims rows = {b.mulDims(b.dim(x, 0), b.dim(x, 1))};
  for (int64_t i = 2; i < b.rank(x); ++i)
    rows.push_back(b.dim(x, i));
  Value places =
      b.sliceAxis(b.cast(flat(b, offsets), b.builder().getI64Type()), 0, b.dim(0), count);
  return b.take(b.reshape(x, rows), places, 0);
}

/// input [B, S, H], the number of tokens of each sequence [B].
LogicalResult removePadding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), counts = c.in(1);
  if (b.rank(x) != 3 || b.rank(counts) != 1)
    return c.fail("needs an input of rank 3 and a vector of counts");
  requireSame(b, b.dim(x, 0), b.dim(counts, 0), "RemovePadding: the batch");
  Type index = b.builder().getI64Type(), i32 = b.builder().getI32Type();
  Value count = b.cast(counts, index);
  Value real =
      b.compare(P::lt, b.unsqueeze(b.iota({b.dim(x, 1)}, 0, index), {0}), b.unsqueeze(count, {1}));
  real = flat(b, real);
  Value kept = flat(b, b.nonzero(real)), padding = flat(b, b.nonzero(b.logicalNot(real)));
  Value offsets = b.reshape(b.cast(b.concat({kept, padding}, 0), i32), {b.dim(x, 0), b.dim(x, 1)});
  (void)c.give(1, offsets);
  Dim zero = b.dim(0);
  Value before = b.pad(count, b.scalar(0, index), {b.dim(1)}, {zero});
  Value sums = prim::CumulativeOp::create(b.builder(), b.location(), before.getType(), K::sum,
                                          before, 0, /*exclusive=*/false, /*reverse=*/false);
  (void)c.give(2, b.cast(sums, i32));
  requireElements(b, b.dim(count, 0), {b.dim(1)}, "the longest of no sequences");
  (void)c.give(3, b.cast(b.reduce(K::max, count, {0}, true), i32));
  return c.give(packed(b, x, offsets, b.dim(kept, 0)));
}

LogicalResult restorePadding(NodeContext &c) {
  PrimBuilder &b = c.b;
  if (b.rank(c.in(0)) != 2 || b.rank(c.in(1)) != 2)
    return c.fail("needs tokens and offsets of rank 2");
  return c.give(restored(b, c.in(0), c.in(1)));
}

/// q, k and v [B, N, S, H] of a batch whose tokens are `count`; `first` is the operand with the
/// offsets, after which the sums of the lengths and a bias of the scores stand.
LogicalResult attendPacked(NodeContext &c, Value q, Value k, Value v, Dim count, size_t first) {
  PrimBuilder &b = c.b;
  Value offsets = c.in(first), sums = c.in(first + 1);
  if (b.rank(sums) != 1)
    return c.fail("needs a vector of sums of lengths");
  Dim batch = b.dim(offsets, 0);
  requireSame(b, b.dim(sums, 0), b.addDims(batch, b.dim(1)),
              "the sums of a packed batch's lengths");
  Attention a{q, k, v};
  a.scale = c.floatAttr("scale", 0);
  Type index = b.builder().getI64Type();
  Value ends = b.cast(sums, index);
  Value length =
      b.sub(b.sliceAxis(ends, 0, b.dim(1), batch), b.sliceAxis(ends, 0, b.dim(0), batch));
  Value key = alongAxis(b, b.iota({b.dim(offsets, 1)}, 0, index), 3, 4);
  a.allowed = b.compare(P::lt, key, alongAxis(b, length, 0, 4));
  if (c.has(first + 2))
    a.bias = b.cast(c.in(first + 2), wideType(b.elem(q)));
  return c.give(packed(b, mergeHeads(b, attend(b, a).result), offsets, count));
}

/// input [T, I], weights [I, 3 N H], bias, token_offset, sums, attention_bias.
LogicalResult packedAttention(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  if (heads < 1 || b.rank(c.in(0)) != 2 || b.rank(c.in(1)) != 2 || b.rank(c.in(3)) != 2)
    return c.fail("needs 'num_heads', and tokens, weights and offsets of rank 2");
  Value projected = b.add(b.matmul(c.in(0), c.in(1)), c.in(2));
  SmallVector<Value> qkv = splitProjection(c, restored(b, projected, c.in(3)), heads);
  return attendPacked(c, qkv[0], qkv[1], qkv[2], b.dim(c.in(0), 0), 3);
}

/// query [T, N H], key, value, bias, token_offset, sums, attention_bias; or all in the query,
/// [T, N, 3, H].
LogicalResult packedMultiHeadAttention(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  Value parts[3] = {c.in(0), c.inOr(1, {}), c.inOr(2, {})};
  Dim count = b.dim(c.in(0), 0), start = b.dim(0);
  if (b.rank(parts[0]) == 4) {
    if (parts[1] || parts[2])
      return c.fail("a key or a value beside queries, keys and values in one is not supported");
    Dims rows = {count, b.mulDims(b.dim(c.in(0), 1), b.dim(c.in(0), 3))};
    for (int64_t i = 0; i < 3; ++i)
      parts[i] = b.reshape(b.squeeze(b.sliceAxis(c.in(0), 2, b.dim(i), b.dim(1)), {2}), rows);
  }
  if (heads < 1 || b.rank(c.in(4)) != 2)
    return c.fail("needs 'num_heads' and offsets of rank 2");
  for (Value &part : parts) {
    if (!part || b.rank(part) != 2)
      return c.fail("needs queries, keys and values of rank 2, or all in one of rank 4");
    if (c.has(3)) { // [Q | K | V]
      Dim width = b.dim(part, 1);
      part = b.add(part, b.sliceAxis(c.in(3), 0, start, width));
      start = b.addDims(start, width);
    }
    part = splitHeads(b, restored(b, part, c.in(4)), heads);
  }
  return attendPacked(c, parts[0], parts[1], parts[2], count, 4);
}

/// T5's: the distance of a query and a key names one of few buckets, each with a number a head. The
/// table lies as [heads, buckets], whatever its shape says.
LogicalResult relativePositionBias(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value table = c.in(0);
  auto queries = hostInt(c, 1), keys = hostInt(c, 2);
  if (failed(queries) || failed(keys))
    return failure();
  int64_t farthest = c.intAttr("max_distance", 0);
  bool both = c.intAttr("is_bidirectional", 0);
  auto all = b.rank(table) == 2 ? b.known(b.dim(table, 0)) : std::nullopt;
  int64_t buckets = all.value_or(0) / (both ? 2 : 1), exact = buckets / 2;
  if (exact < 1 || farthest <= exact)
    return c.fail("needs a table of known extents and a 'max_distance' above half its buckets");
  Type index = b.builder().getI64Type(), f32 = b.builder().getF32Type();
  Value query = alongAxis(b, b.iota({*queries}, 0, index), 0, 2);
  Value key = alongAxis(b, b.iota({*keys}, 0, index), 1, 2);
  Value away = b.sub(key, query), first = b.scalar(0, index);
  if (both)
    first = b.select(b.compare(P::gt, away, 0.0), b.scalar(buckets, index), first);
  Value distance = both ? b.abs(away) : b.maximum(b.neg(away), 0.0);
  // Beyond `exact`, buckets grow with the logarithm of the distance.
  Value ratio = b.mul(b.cast(b.maximum(distance, 1.0), f32), 1.0 / exact);
  double step = (buckets - exact) / std::log(static_cast<double>(farthest) / exact);
  Value far = b.add(b.cast(b.mul(b.log(ratio), step), index), static_cast<double>(exact));
  far = b.minimum(far, static_cast<double>(buckets - 1));
  Value bucket =
      b.add(first, b.select(b.compare(P::lt, distance, static_cast<double>(exact)), distance, far));
  Value lines = b.reshape(table, {b.dim(table, 1), b.dim(table, 0)});
  return c.give(b.unsqueeze(b.take(lines, bucket, 1), {0}));
}

/// query, its bias, rel_pos [1, N, S, S], weight [H, D], bias [D], eco_a [1, N, 1, 1],
/// token_offset: rel_pos times a gate that each query makes of itself.
LogicalResult gatedPositionBias(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  Value q = c.in(0), weight = c.in(3);
  if (c.has(6)) {
    if (b.rank(q) != 2 || b.rank(c.in(6)) != 2)
      return c.fail("needs packed queries and offsets of rank 2");
    q = restored(b, q, c.in(6));
  }
  if (heads < 1 || b.rank(q) != 3 || b.rank(weight) != 2)
    return c.fail("needs 'num_heads', queries of rank 3 and a weight of rank 2");
  Type own = b.elem(q), wide = wideType(own);
  q = splitHeads(b, b.add(q, c.in(1)), heads);
  Value gates = b.add(b.matmul(q, weight, wide), b.cast(c.in(4), wide)); // [B, N, S, D]
  Dims split = b.dims(gates);
  requireDivisor(b, split[3], b.dim(2));
  Dim half = b.floorDivDims(split[3], b.dim(2));
  split[3] = b.dim(2);
  split.push_back(half);
  gates = b.logistic(b.reduce(K::sum, b.reshape(gates, split), {4}, false)); // [B, N, S, 2]
  Value u = b.sliceAxis(gates, 3, b.dim(0), b.dim(1)),
        r = b.sliceAxis(gates, 3, b.dim(1), b.dim(1));
  Value gate = b.add(b.mul(u, b.add(b.mul(r, b.cast(c.in(5), wide)), -1.0)), 2.0);
  return c.give(b.cast(b.mul(gate, b.cast(c.in(2), wide)), own));
}

} // namespace

void tcc::populateOnnxContribPackedRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"GatedRelativePositionBias", gatedPositionBias},
      {"PackedAttention", packedAttention},
      {"PackedMultiHeadAttention", packedMultiHeadAttention},
      {"RelativePositionBias", relativePositionBias},
      {"RemovePadding", removePadding},
      {"RestorePadding", restorePadding}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
}
