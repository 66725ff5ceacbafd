//===- ContribAttention.cpp - Attention operators of com.microsoft ------------===//
//
// ONNX Runtime's attention operators differ in how queries, keys, values, caches and masks are
// packed; what they compute is one thing. Each rule unpacks its operands and calls the idiom, and
// refuses inputs that it does not read, because a mask that is ignored gives plausible wrong
// numbers.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/ContribAttention.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Attention.h"
#include "Decompose/Onnx/AttentionCache.h"
#include "Decompose/Onnx/GroupQueryAttention.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

SmallVector<Value> tcc::splitProjection(NodeContext &c, Value x, int64_t heads) {
  PrimBuilder &b = c.b;
  SmallVector<Value> parts;
  Dim start = b.dim(0), third = b.floorDivDims(b.dim(x, 2), b.dim(3));
  auto sizes = c.intsAttr("qkv_hidden_sizes");
  for (size_t i = 0; i < 3; ++i) {
    Dim size = sizes && sizes->size() == 3 ? b.dim((*sizes)[i]) : third;
    parts.push_back(splitHeads(b, b.sliceAxis(x, 2, start, size), heads));
    start = b.addDims(start, size);
  }
  return parts;
}

namespace {

/// Which keys [B, 1, 1, T] each sequence sees by a mask of rank 1: up to its number
/// of keys [B]; from its start to its end, ends first [2 B]; or the numbers again,
/// with sums over sequences that only packed ones need after them [3 B + 2].
Value keysInRange(PrimBuilder &b, Value mask, Dim keys, Dim batch, bool takesStarts) {
  Type index = b.builder().getI64Type();
  auto isLength = [&](int64_t times, int64_t more) {
    Dim length = b.addDims(b.mulDims(batch, b.dim(times)), b.dim(more));
    return b.compareDims(Cmp::eq, b.dim(mask, 0), length);
  };
  Dim hasStarts = takesStarts ? isLength(2, 0) : Dim(b.builder().getBoolAttr(false));
  Dim fits = b.orDims(b.orDims(isLength(1, 0), isLength(3, 2)), hasStarts);
  constexpr StringRef kWhy = "a mask of rank 1 has another length than the batch says";
  if (b.known(fits) == 0)
    b.fault(kWhy);
  else
    b.check(fits, kWhy);
  Value column = alongAxis(b, b.iota({keys}, 0, index), 3, 4);
  auto part = [&](Dim start) {
    return alongAxis(b, b.sliceAxis(b.cast(mask, index), 0, start, batch), 0, 4);
  };
  Value seen = b.compare(P::lt, column, part(b.dim(0)));
  if (b.known(hasStarts) == 0)
    return seen;
  Value starts = part(b.selectDims(hasStarts, batch, b.dim(0)));
  Value first = b.mul(starts, scalarOf(b, b.selectDims(hasStarts, b.dim(1), b.dim(0)), index));
  return b.binary<prim::AndOp>(seen, b.compare(P::ge, column, first));
}

/// A key mask as what is added to the scores [B, N, S, T]. ONNX Runtime takes one of
/// rank 1, as above, or a 0/1 mask of rank 2 (keys), 3 (queries and keys) or 4.
FailureOr<Value> maskBias(NodeContext &c, Value mask, Dim keys, Dim batch, bool takesStarts,
                          Type type) {
  PrimBuilder &b = c.b;
  double hidden = c.floatAttr("mask_filter_value", -10000);
  Value seen;
  if (b.rank(mask) == 1) {
    seen = keysInRange(b, mask, keys, batch, takesStarts);
  } else {
    seen = b.elem(mask).isInteger(1) ? mask : b.compare(P::ne, mask, 0.0);
    if (b.rank(mask) == 2)
      seen = b.unsqueeze(seen, {1, 2});
    else if (b.rank(mask) == 3)
      seen = b.unsqueeze(seen, {1});
    else if (b.rank(mask) != 4)
      return c.fail("the mask has rank " + llvm::Twine(b.rank(mask)));
  }
  return b.select(seen, b.scalar(0, type), b.scalar(hidden, type));
}

constexpr size_t kNone = 99; ///< an operand that an operator does not have

/// What the attention operators share once q, k and v are split into heads.
struct Masks {
  Value mask; ///< as above, or null
  Value bias; ///< added to the scores, or null
  bool causal = false;
  bool takesStarts = true; ///< a mask of rank 1 may have the first keys as well
};

FailureOr<Attended> attendMasked(NodeContext &c, Value q, Value k, Value v, Dim past,
                                 const Masks &m) {
  PrimBuilder &b = c.b;
  Attention a{q, k, v};
  a.scale = c.floatAttr("scale", 0);
  a.softcap = c.floatAttr("softcap", 0);
  Type wide = wideType(b.elem(q));
  if (m.bias)
    a.bias = b.cast(m.bias, wide);
  if (m.mask) {
    auto bias = maskBias(c, m.mask, b.dim(k, 2), b.dim(q, 0), m.takesStarts, wide);
    if (failed(bias))
      return failure();
    a.bias = a.bias ? b.add(a.bias, *bias) : *bias;
  }
  if (m.causal)
    a.allowed = causalMask(b, b.dim(q, 2), b.dim(k, 2), past);
  return attend(b, a);
}

/// Appends to a cache [2, B, N, P, H]; gives the new cache.
Value appendPast(PrimBuilder &b, const AttentionCache &cache, Value past, Value &k, Value &v,
                 Dim &length) {
  Value keys = k, values = v;
  if (past) {
    auto half = [&](int64_t i) { return b.squeeze(b.sliceAxis(past, 0, b.dim(i), b.dim(1)), {0}); };
    Value before = half(0);
    length = cache.before(before);
    keys = cache.append(before, k);
    values = cache.append(half(1), v);
  }
  return b.concat({b.unsqueeze(keys, {0}), b.unsqueeze(values, {0})}, 0);
}

/// From the projected [B, S, 3 N H] on.
LogicalResult attendProjected(NodeContext &c, Value projected, Value mask, Value past, Value bias,
                              const AttentionCache::Operands &lengths) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  if (heads < 1 || b.rank(projected) != 3)
    return c.fail("needs 'num_heads' and an operand of rank 3");
  if (past && b.rank(past) != 5)
    return c.fail("needs a past [2, batch, heads, tokens, size]");
  SmallVector<Value> qkv = splitProjection(c, projected, heads);
  Dim length = b.dim(0);
  bool shares = c.intAttr("past_present_share_buffer", 0) != 0;
  if (shares && !past)
    return c.fail("needs a past for 'past_present_share_buffer'");
  auto cache = AttentionCache::read(c, lengths, shares);
  if (failed(cache))
    return failure();
  Value present = appendPast(b, *cache, past, qkv[1], qkv[2], length);
  Masks m{mask, bias, c.intAttr("unidirectional", 0) != 0};
  auto result = attendMasked(c, qkv[0], qkv[1], qkv[2], length, m);
  if (failed(result))
    return failure();
  if (c.numResults() > 1)
    (void)c.give(1, present);
  return c.give(mergeHeads(b, result->result));
}

/// input, weights, bias, mask_index, past, attention_bias, past_sequence_length. Of one token the
/// same has, to search by beams, a beam_width and a cache_indirection.
LogicalResult attention(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value projected = b.matmul(c.in(0), c.in(1));
  if (c.has(2))
    projected = b.add(projected, c.in(2));
  return attendProjected(c, projected, c.inOr(3, {}), c.inOr(4, {}), c.inOr(5, {}), {6, 7, 8});
}

/// input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point,
/// weight_zero_point, past.
LogicalResult quantizedAttention(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  Value sum = b.cast(integerProduct(b, c.in(0), c.in(1), c.inOr(6, {}), c.inOr(7, {})), f32);
  auto xScale = scalarOperand(c, 3);
  auto wScale = spreadParameter(c, c.in(4), c.in(1), -1);
  if (failed(xScale) || failed(wScale))
    return failure();
  Value scale = b.mul(*xScale, *wScale);
  if (b.rank(scale) == 2)
    scale = b.unsqueeze(scale, {0});
  Value projected = b.mul(sum, scale);
  if (c.has(2))
    projected = b.add(projected, c.in(2));
  return attendProjected(c, projected, c.inOr(5, {}), c.inOr(8, {}), {}, {kNone, kNone, kNone});
}

/// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value,
/// past_sequence_length, cache_indirection.
LogicalResult multiHeadAttention(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  Value q = c.in(0);
  if (heads < 1)
    return c.fail("needs 'num_heads'");
  Value k, v;
  if (b.rank(q) == 5) { // [B, S, N, 3, H]
    if (c.has(1) || c.has(2) || c.has(3))
      return c.fail("a key, a value or a bias beside queries, keys and values in one is not "
                    "supported");
    auto part = [&](int64_t i) {
      return b.transpose(b.squeeze(b.sliceAxis(q, 3, b.dim(i), b.dim(1)), {3}), {0, 2, 1, 3});
    };
    k = part(1);
    v = part(2);
    q = part(0);
  } else {
    if (b.rank(q) != 3 || !c.has(1))
      return c.fail("needs a query of rank 3 and a key");
    Value bias = c.inOr(3, {});
    Dim offset = b.dim(0);
    auto shifted = [&](Value x) { // its part of the bias [Q | K | V]
      if (!bias)
        return x;
      Value part = b.sliceAxis(bias, 0, offset, b.dim(x, 2));
      offset = b.addDims(offset, b.dim(x, 2));
      return b.add(x, part);
    };
    k = c.in(1);
    q = splitHeads(b, shifted(q), heads);
    if (b.rank(k) == 5) { // [B, T, N, 2, H]
      if (c.has(2) || bias)
        return c.fail("a value or a bias beside keys and values in one is not supported");
      auto part = [&](int64_t i) {
        return b.transpose(b.squeeze(b.sliceAxis(k, 3, b.dim(i), b.dim(1)), {3}), {0, 2, 1, 3});
      };
      v = part(1);
      k = part(0);
    } else if (b.rank(k) == 4) { // already [B, N, T, H]
      v = c.inOr(2, {});
    } else {
      k = splitHeads(b, shifted(k), heads);
      v = c.has(2) ? splitHeads(b, shifted(c.in(2)), heads) : Value();
    }
  }
  if (!v || b.rank(v) != 4)
    return c.fail("needs a value");
  Dim past = b.dim(0);
  if (c.has(6) != c.has(7))
    return c.fail("needs both past_key and past_value, or neither");
  for (size_t i : {6, 7})
    if (c.has(i) && b.rank(c.in(i)) != 4)
      return c.fail("needs a past [batch, heads, tokens, size]");
  auto cache = AttentionCache::read(c, {8, kNone, 9}, c.has(6) && c.has(8));
  if (failed(cache))
    return failure();
  Value keys = k, values = v;
  if (c.has(6)) {
    past = cache->before(c.in(6));
    keys = cache->append(c.in(6), k);
    values = cache->append(c.in(7), v);
  }
  Masks m{c.inOr(4, {}), c.inOr(5, {}), c.intAttr("unidirectional", 0) != 0,
          /*takesStarts=*/false};
  auto result = attendMasked(c, q, k, v, past, m);
  if (failed(result))
    return failure();
  if (c.numResults() > 1)
    (void)c.give(1, keys);
  if (c.numResults() > 2)
    (void)c.give(2, values);
  if (c.numResults() > 3) { // as the softmax gets them, where what is hidden is the least float
    Value scores = b.maximum(result->masked, std::numeric_limits<float>::lowest());
    (void)c.give(3, b.cast(scores, b.elem(q)));
  }
  return c.give(mergeHeads(b, result->result));
}

/// query [B, 1, N * H], key, value, mask, attention_bias, past_key, past_value,
/// past_sequence_length, beam_width, cache_indirection, bias: one token over a cache, or (keys of
/// rank 4) over what an encoder left.
LogicalResult decoderMaskedAttention(NodeContext &c) {
  PrimBuilder &b = c.b;
  int64_t heads = c.intAttr("num_heads", 0);
  Value q = c.in(0), bias = c.inOr(10, {});
  if (heads < 1 || b.rank(q) != 3 || b.known(b.dim(q, 1)).value_or(1) != 1)
    return c.fail("needs 'num_heads' and one query a sequence");
  if (c.has(1) != c.has(2) || c.has(5) != c.has(6))
    return c.fail("needs both a key and a value, and both parts of a cache, or neither");
  Value parts[3] = {q, c.inOr(1, {}), c.inOr(2, {})};
  if (!c.has(1)) {
    Dim width = b.floorDivDims(b.dim(q, 2), b.dim(3));
    for (int64_t i = 0; i < 3; ++i)
      parts[i] = b.sliceAxis(q, 2, b.mulDims(width, b.dim(i)), width);
  }
  bool cross = b.rank(parts[1]) == 4;
  if (b.rank(parts[1]) != b.rank(parts[2]) || (!cross && b.rank(parts[1]) != 3) ||
      (cross && c.has(5)))
    return c.fail("needs a key and a value of rank 3, or of rank 4 without a cache");
  Dim offset = b.dim(0);
  for (int64_t i = 0; i < (cross ? 1 : 3); ++i) {
    Value &part = parts[i];
    if (bias) { // [Q | K | V]
      Dim width = b.dim(part, 2);
      part = b.add(part, b.sliceAxis(bias, 0, offset, width));
      offset = b.addDims(offset, width);
    }
    part = splitHeads(b, part, heads);
  }
  bool shares = !cross && c.intAttr("past_present_share_buffer", 0) != 0;
  if (shares && !c.has(5))
    return c.fail("needs a past for 'past_present_share_buffer'");
  auto cache = AttentionCache::read(c, {7, 8, 9}, shares);
  if (failed(cache))
    return failure();

  Value presents[3] = {{}, parts[1], parts[2]};
  if (c.has(5))
    for (int64_t i : {1, 2})
      presents[i] = cache->append(c.in(4 + i), parts[i]);
  Masks m{c.inOr(3, {}), c.inOr(4, {}), false, /*takesStarts=*/false};
  auto result = attendMasked(c, parts[0], parts[1], parts[2], b.dim(0), m);
  if (failed(result))
    return failure();
  for (size_t i : {1, 2})
    if (c.numResults() > i)
      (void)c.give(i, presents[i]);
  return c.give(mergeHeads(b, result->result));
}

/// x [B, S, N * H] or [B, N, S, H] turned by angles whose cosines and sines [B or 1, S, half]
/// `angles` gives of a table.
LogicalResult turned(NodeContext &c, llvm::function_ref<Value(Value table)> angles) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), cos = c.in(2), sin = c.in(3);
  bool flat = b.rank(x) == 3;
  Dims have = b.dims(x);
  Dim width = b.mulDims(b.dim(cos, 1), b.dim(2));
  int64_t heads = c.intAttr("num_heads", 0);
  if (flat) {
    Dim n = heads > 0 ? b.dim(heads) : b.floorDivDims(have[2], width);
    x = b.reshape(x, {have[0], have[1], n, b.floorDivDims(have[2], n)});
  } else if (b.rank(x) != 4) {
    return c.fail("needs x of rank 3 or 4");
  }
  int64_t headAxis = flat ? 2 : 1, rotated = c.intAttr("rotary_embedding_dim", 0);
  if (rotated < 0 || (rotated > 0 && heads <= 0))
    return c.fail("needs a positive 'num_heads' beside a positive 'rotary_embedding_dim'");
  if (rotated == 0)
    rotated = b.known(width).value_or(0);
  Value result = rotate(b, x, b.unsqueeze(angles(cos), {headAxis}),
                        b.unsqueeze(angles(sin), {headAxis}), rotated, c.intAttr("interleaved", 0));
  return c.give(flat ? b.reshape(result, have) : result);
}

/// Angles [B, S, H], and queries and keys [B, N, S, H], each with what it is when half a turn of
/// its features is made: both by the angles.
LogicalResult gemmaRotaryEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value angles = widen(b, c.in(0));
  if (b.rank(angles) != 3)
    return c.fail("needs angles [batch, tokens, features]");
  Value cos = b.unsqueeze(b.unary<prim::CosOp>(angles), {1});
  Value sin = b.unsqueeze(b.unary<prim::SinOp>(angles), {1});
  for (size_t i : {0, 1}) {
    Value x = c.in(1 + 2 * i), half = c.in(2 + 2 * i);
    if (b.rank(x) != 4 || b.rank(half) != 4)
      return c.fail("needs queries and keys of rank 4");
    auto by = [&](Value v, Value with) { return b.mul(v, b.cast(with, b.elem(x))); };
    (void)c.give(i, b.add(by(x, cos), by(half, sin)));
  }
  return success();
}

/// Rows of a table of angles.
Value anglesAt(PrimBuilder &b, Value table, Value positions) {
  requireInRange(b, positions, b.dim(table, 0), IndexRange::positions);
  return b.take(table, positions, 0);
}

/// input, position_ids, cos_cache, sin_cache.
LogicalResult rotaryEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value ids = c.in(1);
  if (b.rank(c.in(2)) != 2 || b.rank(c.in(3)) != 2)
    return c.fail("needs tables of rank 2");
  // One first position for all, or one position for each token.
  if (b.rank(ids) < 2) {
    Type index = b.builder().getI64Type();
    Dim length = b.dim(c.in(0), b.rank(c.in(0)) == 3 ? 1 : 2);
    ids = b.add(b.iota({length}, 0, index), b.cast(b.reshape(ids, ArrayRef<Dim>()), index));
    ids = b.unsqueeze(ids, {0});
  }
  return turned(c, [&](Value table) { return anglesAt(b, table, ids); });
}

/// The same with three positions a token [3, B, S], of time, height and width: each pair of
/// features is turned by one of them, in sections or by turns (`mrope_layout` 1).
LogicalResult multiRotaryEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value ids = c.in(1);
  auto sections = c.intsAttr("mrope_section");
  auto half = b.rank(c.in(2)) == 2 ? b.known(b.dim(c.in(2), 1)) : std::nullopt;
  int64_t layout = c.intAttr("mrope_layout", 0);
  if (b.rank(ids) != 3 || b.known(b.dim(ids, 0)).value_or(3) != 3 || b.rank(c.in(3)) != 2)
    return c.fail("needs position_ids [3, batch, tokens] and tables of rank 2");
  if (!half || !sections || sections->size() != 3 ||
      llvm::any_of(*sections, [](int64_t n) { return n < 0; }) ||
      (*sections)[0] + (*sections)[1] + (*sections)[2] != *half || layout < 0 || layout > 1)
    return c.fail("needs three sections that are as wide as the tables together");
  SmallVector<int64_t> stream(*half, 0);
  for (int64_t i = 0; i < *half; ++i)
    for (int64_t s = 1; s < 3; ++s)
      if (layout == 1 ? i % 3 == s && i < 3 * (*sections)[s]
                      : i >= (*sections)[0] + (s == 2 ? (*sections)[1] : 0))
        stream[i] = s;
  Value streams = b.ints(stream);
  return turned(c, [&](Value table) {
    Value result;
    for (int64_t s = 0; s < 3; ++s) {
      Value own = b.squeeze(b.sliceAxis(ids, 0, b.dim(s), b.dim(1)), {0});
      Value angles = anglesAt(b, table, own);
      Value is = b.compare(P::eq, streams, static_cast<double>(s));
      result = result ? b.select(is, angles, result) : angles;
    }
    return result;
  });
}

} // namespace

void tcc::populateOnnxContribAttentionRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"Attention", attention},
      {"DecoderMaskedMultiHeadAttention", decoderMaskedAttention},
      {"DecoderMaskedSelfAttention", attention},
      {"GemmaRotaryEmbedding", gemmaRotaryEmbedding},
      {"GroupQueryAttention", groupQueryAttention},
      {"QAttention", quantizedAttention},
      {"MultiHeadAttention", multiHeadAttention},
      {"MRotaryEmbedding", multiRotaryEmbedding},
      {"RotaryEmbedding", rotaryEmbedding},
      {"SparseAttention", sparseAttention}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
}
