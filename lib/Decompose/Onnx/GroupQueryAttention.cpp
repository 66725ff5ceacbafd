//===- GroupQueryAttention.cpp - com.microsoft's attention with a cache -------===//
//
// GroupQueryAttention, and SparseAttention, whose queries see blocks of keys by a table.
//
// What decoders exported for ONNX Runtime contain: new tokens are turned by their positions, their
// keys and values written into the cache, and all that the cache holds then is attended to. Each
// sequence of a batch has a length of its own, which is data; the longest one is an extent, since
// the cache grows to it. Writing is a scatter along the sequence, which a plan may do in place.
//
// Beyond a sequence's length the cache keeps what it had (as ONNX Runtime does where the old cache
// and the new one share their memory), and queries that only fill up a prompt get numbers that mean
// nothing.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/GroupQueryAttention.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Attention.h"
#include "Decompose/Idioms/Standardize.h"
#include "Decompose/Onnx/AttentionCache.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

namespace {

enum Operand { kQuery, kKey, kValue, kPastKey, kPastValue };

/// Which operands the others are; those that an operator does not have come after all.
struct Places {
  static constexpr size_t none = 99;
  size_t lengths; ///< [B], of each sequence with its new tokens; less one unless `wholeLengths`
  size_t longest; ///< of these, one element
  size_t cos, sin;
  size_t positions = none, bias = none, sink = none;
  size_t queryNorm = none, keyNorm = none;
  size_t rows = none, columns = none; ///< the blocks that are seen, in compressed rows
  bool wholeLengths = false;
};

class GroupQueryAttention {
public:
  GroupQueryAttention(NodeContext &c, const Places &in)
      : c(c), b(c.b), in(in), index(b.builder().getI64Type()) {}
  LogicalResult run();

private:
  LogicalResult readOperands();
  LogicalResult normalize();
  LogicalResult turn();
  Value positions();
  Value written(Value fresh, Operand past);
  Value allowedKeys();
  FailureOr<Value> allowedBlocks();

  NodeContext &c;
  PrimBuilder &b;
  const Places &in;
  Type index;
  int64_t heads = 0, shared = 0;
  Value q, k, v; ///< [B, N, S, H], k and v with the shared heads
  Dim longest;   ///< tokens of the longest sequence, the new ones among them
  Dim isPrompt;  ///< whether nothing lies before the new tokens
  Value first;   ///< [B, 1], the place of each sequence's first new token
  Value end;     ///< [B, 1], how many tokens each has in the end
  Dim places;    ///< of the cache in the end
};

} // namespace

LogicalResult GroupQueryAttention::readOperands() {
  heads = c.intAttr("num_heads", 0);
  shared = c.intAttr("kv_num_heads", 0);
  if (heads < 1 || shared < 1 || heads % shared != 0)
    return c.fail("needs 'num_heads' that 'kv_num_heads' divides");
  Value x = c.in(kQuery);
  if (b.rank(x) != 3)
    return c.fail("needs a query of rank 3");
  if (c.has(kKey) != c.has(kValue) || c.has(kPastKey) != c.has(kPastValue) ||
      c.has(in.cos) != c.has(in.sin))
    return c.fail("needs both a key and a value, both parts of a cache, both tables, or neither");
  for (Operand past : {kPastKey, kPastValue})
    if (c.has(past) && b.rank(c.in(past)) != 4)
      return c.fail("needs caches [batch, heads, tokens, size]");
  if (c.has(kKey)) {
    if (b.rank(c.in(kKey)) != 3 || b.rank(c.in(kValue)) != 3)
      return c.fail("needs keys and values of rank 3");
    q = splitHeads(b, x, heads);
    k = splitHeads(b, c.in(kKey), shared);
    v = splitHeads(b, c.in(kValue), shared);
  } else { // queries, keys and values beside one another
    Dim width = b.floorDivDims(b.dim(x, 2), b.dim(heads + 2 * shared)), start = b.dim(0);
    auto next = [&](int64_t count) {
      Dim size = b.mulDims(width, b.dim(count));
      Value part = splitHeads(b, b.sliceAxis(x, 2, start, size), count);
      start = b.addDims(start, size);
      return part;
    };
    q = next(heads);
    k = next(shared);
    v = next(shared);
  }
  auto total = hostInt(c, in.longest);
  if (failed(total))
    return failure();
  longest = *total;
  Dim fresh = b.dim(q, 2);
  isPrompt = b.compareDims(Cmp::eq, fresh, longest);
  end = b.unsqueeze(b.cast(b.reshape(c.in(in.lengths), {b.dim(q, 0)}), index), {1});
  if (!in.wholeLengths)
    end = b.add(end, 1.0);
  Value length = scalarOf(b, fresh, index);
  // A prompt starts at 0 even where it is filled up behind its end.
  first = b.mul(b.sub(end, length), scalarOf(b, b.selectDims(isPrompt, b.dim(0), b.dim(1)), index));
  places = c.has(kPastKey) ? b.maxDims(b.dim(c.in(kPastKey), 2), longest) : longest;
  return success();
}

/// Each head of the queries and keys by its root mean square, times a vector.
LogicalResult GroupQueryAttention::normalize() {
  if (c.has(in.queryNorm) != c.has(in.keyNorm))
    return c.fail("needs both q_norm_weight and k_norm_weight, or neither");
  if (!c.has(in.queryNorm))
    return success();
  double epsilon = c.floatAttr("qk_norm_epsilon", 1e-6);
  Type own = b.elem(q), wide = wideType(own);
  for (auto [x, weight] : {std::pair(&q, in.queryNorm), std::pair(&k, in.keyNorm)}) {
    if (b.rank(c.in(weight)) != 1)
      return c.fail("needs norm weights of rank 1");
    Value scaled = scaleByRms(b, b.cast(*x, wide), {3}, epsilon).value;
    *x = b.cast(b.mul(scaled, alongAxis(b, b.cast(c.in(weight), wide), 3, 4)), own);
  }
  return success();
}

/// Of each new token [B, S].
Value GroupQueryAttention::positions() {
  Value counted = b.unsqueeze(b.iota({b.dim(q, 2)}, 0, index), {0});
  if (!c.has(in.positions))
    return b.add(first, counted);
  // Of a prompt, ONNX Runtime reads the first position alone and counts on.
  Value given = b.cast(c.in(in.positions), index);
  auto prompt = b.known(isPrompt);
  if (prompt == 0)
    return given;
  Value start = b.slice(given, {b.dim(0), b.dim(0)}, {b.dim(1), b.dim(1)}, {1, 1});
  Value whole = b.broadcastTo(b.add(start, counted), b.dims(given));
  if (prompt)
    return whole;
  Value choice = scalarOf(b, b.selectDims(isPrompt, b.dim(1), b.dim(0)), index);
  return b.select(b.compare(P::ne, choice, 0.0), whole, given);
}

LogicalResult GroupQueryAttention::turn() {
  if (c.intAttr("do_rotary", 0) == 0)
    return success();
  if (!c.has(in.cos) || b.rank(c.in(in.cos)) != 2 || b.rank(c.in(in.sin)) != 2 ||
      (c.has(in.positions) && b.rank(c.in(in.positions)) != 2))
    return c.fail("needs tables and positions of rank 2 for 'do_rotary'");
  Value at = positions();
  auto angles = [&](Value table) {
    requireInRange(b, at, b.dim(table, 0), IndexRange::positions);
    return b.unsqueeze(b.take(table, at, 0), {1});
  };
  Value cos = angles(c.in(in.cos)), sin = angles(c.in(in.sin));
  auto half = b.known(b.dim(c.in(in.cos), 1));
  if (!half)
    return c.fail("needs tables whose width is known");
  bool interleaved = c.intAttr("rotary_interleaved", 0) != 0;
  q = rotate(b, q, cos, sin, 2 * *half, interleaved);
  k = rotate(b, k, cos, sin, 2 * *half, interleaved);
  return success();
}

/// The cache with the new keys or values.
Value GroupQueryAttention::written(Value fresh, Operand past) {
  if (!c.has(past)) {
    requireSame(b, b.dim(fresh, 2), longest, "GroupQueryAttention: tokens without a cache");
    return fresh;
  }
  Value cache = c.in(past);
  Dim zero = b.dim(0);
  if (!b.same(b.dim(cache, 2), places))
    cache = b.pad(cache, b.scalar(0, b.elem(cache)), {zero, zero, zero, zero},
                  {zero, zero, b.subDims(places, b.dim(cache, 2)), zero});
  Value at = b.add(first, b.unsqueeze(b.iota({b.dim(fresh, 2)}, 0, index), {0}));
  return writeTokens(b, cache, at, fresh);
}

/// Which keys each query sees [B, 1, S, T].
Value GroupQueryAttention::allowedKeys() {
  Value key = alongAxis(b, b.iota({b.dim(k, 2)}, 0, index), 3, 4);
  if (c.intAttr("causal", 1) == 0)
    return b.compare(P::lt, key, b.unsqueeze(end, {2, 3}));
  Value query =
      b.add(b.unsqueeze(first, {2, 3}), alongAxis(b, b.iota({b.dim(q, 2)}, 0, index), 2, 4));
  Value seen = b.compare(P::le, key, query);
  int64_t window = c.intAttr("local_window_size", -1);
  if (window <= 0)
    return seen;
  Value oldest = b.sub(query, static_cast<double>(window));
  return b.binary<prim::AndOp>(seen, b.compare(P::gt, key, oldest));
}

/// Which keys each query sees by blocks [B, N, S, T]. The blocks of the layouts are in compressed
/// rows, [L, R + 1] starts of rows and [L, E] columns; head h has layout h modulo L.
FailureOr<Value> GroupQueryAttention::allowedBlocks() {
  int64_t size = c.intAttr("sparse_block_size", 0);
  Value starts = c.in(in.rows), columns = c.in(in.columns);
  if (size < 1 || b.rank(starts) != 2 || b.rank(columns) != 2)
    return c.fail("needs a 'sparse_block_size' and tables of blocks of rank 2");
  starts = b.cast(starts, index);
  columns = b.cast(columns, index);
  Dim layouts = b.dim(starts, 0), entries = b.dim(columns, 1), one = b.dim(1);
  Dim rows = b.subDims(b.dim(starts, 1), one), cells = b.mulDims(rows, rows);
  requireSame(b, layouts, b.dim(columns, 0), "SparseAttention: the layouts");
  requireAtMost(b, one, layouts, "SparseAttention: a layout");
  requireAtMost(b, b.ceilDivDims(b.dim(k, 2), b.dim(size)), rows,
                "SparseAttention: blocks of keys");
  // An entry's row is the number of rows that end at or before it; what fills up goes past all.
  Value entry = alongAxis(b, b.iota({entries}, 0, index), 1, 3);
  Value ends = b.unsqueeze(b.sliceAxis(starts, 1, one, rows), {1}); // [L, 1, R]
  Value before = b.cast(b.compare(P::le, ends, entry), index);
  Value row = b.reduce(prim::ReduceKind::sum, before, {2}, false); // [L, E]
  Value cell = b.add(b.mul(row, scalarOf(b, rows, index)), columns);
  Value last = scalarOf(b, cells, index);
  Value real = b.compare(P::lt, row, scalarOf(b, rows, index));
  real = b.binary<prim::AndOp>(real, b.compare(P::ge, columns, 0.0));
  requireInRange(b, columns, rows);
  cell = b.select(real, cell, last);
  Value none = b.full({layouts, b.addDims(cells, one)}, 0, index);
  Value seen = prim::ScatterAlongOp::create(b.builder(), b.location(), none.getType(),
                                            prim::ScatterKind::assign, none, cell,
                                            b.full({layouts, entries}, 1, index), 1);
  seen = b.reshape(b.sliceAxis(seen, 1, b.dim(0), cells), {layouts, rows, rows});
  auto blockOf = [&](Value position) { return b.div(position, static_cast<double>(size)); };
  Value query = b.add(first, b.unsqueeze(b.iota({b.dim(q, 2)}, 0, index), {0}));
  // A prompt's queries behind its end may lie behind the table as well.
  Value at = b.minimum(blockOf(query), scalarOf(b, b.subDims(rows, one), index));
  seen = b.take(seen, at, 1);                                       // [L, B, S, R]
  seen = b.take(seen, blockOf(b.iota({b.dim(k, 2)}, 0, index)), 3); // [L, B, S, T]
  Value layout =
      b.binary<prim::ModOp>(b.iota({b.dim(heads)}, 0, index), scalarOf(b, layouts, index));
  seen = b.transpose(b.take(seen, layout, 0), {1, 0, 2, 3});
  return b.compare(P::ne, seen, 0.0);
}

LogicalResult GroupQueryAttention::run() {
  if (failed(readOperands()) || failed(normalize()) || failed(turn()))
    return failure();
  k = written(k, kPastKey);
  v = written(v, kPastValue);
  Attention a{q, k, v};
  a.scale = c.floatAttr("scale", 0);
  a.softcap = c.floatAttr("softcap", 0);
  a.allowed = allowedKeys();
  if (c.has(in.rows)) {
    auto blocks = allowedBlocks();
    if (failed(blocks))
      return failure();
    a.allowed = b.binary<prim::AndOp>(a.allowed, *blocks);
    a.emptyRows = true;
  }
  if (c.has(in.bias)) { // has the keys of the longest sequence; the others are hidden
    Value bias = c.in(in.bias);
    if (b.rank(bias) != 4)
      return c.fail("needs an attention_bias of rank 4");
    Dim zero = b.dim(0);
    a.bias = b.pad(bias, b.scalar(0, b.elem(bias)), {zero, zero, zero, zero},
                   {zero, zero, zero, b.subDims(places, b.dim(bias, 3))});
  }
  if (c.has(in.sink))
    a.sink = alongAxis(b, c.in(in.sink), 1, 4);
  else if (c.intAttr("smooth_softmax", 0) != 0)
    a.sink = b.full({b.dim(1), b.dim(1), b.dim(1), b.dim(1)}, 0, b.elem(q));
  Attended result = attend(b, a);
  if (c.numResults() > 1)
    (void)c.give(1, k);
  if (c.numResults() > 2)
    (void)c.give(2, v);
  return c.give(mergeHeads(b, result.result));
}

LogicalResult tcc::groupQueryAttention(NodeContext &c) {
  static constexpr Places kPlaces{5, 6, 7, 8, 9, 10, 11, 14, 15};
  return GroupQueryAttention(c, kPlaces).run();
}

LogicalResult tcc::sparseAttention(NodeContext &c) {
  static constexpr Places kPlaces{.lengths = 8,
                                  .longest = 7,
                                  .cos = 9,
                                  .sin = 10,
                                  .rows = 5,
                                  .columns = 6,
                                  .wholeLengths = true};
  return GroupQueryAttention(c, kPlaces).run();
}
