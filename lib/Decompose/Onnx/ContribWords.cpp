//===- ContribWords.cpp - Words of com.microsoft ------------------------------===//
//
// Operators of ONNX Runtime that read words: hashes of elements and of n-grams, words made of their
// characters, and searches that write a sentence token by token, whose rules are TokenSearch's.
//
// Hashes wrap at the width of their type, as the originals do in C. What lies before a sentence is
// joined to it before anything is read, and what lies before the text that a token belongs to is
// replaced by a select, so that no place is out of bounds.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/TokenSearch.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

/// The 32-bit MurmurHash3 of the bytes of each element.
LogicalResult murmurHash(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Type word = b.builder().getIntegerType(32, /*isSigned=*/false);
  unsigned bits = b.elem(x).getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64)
    return c.fail("needs elements of 32 or 64 bits");
  auto bitcast = [&](Value v, Type t) -> Value {
    return b.folded(prim::BitcastOp::create(b.builder(), b.location(), b.type(v).clone(t), v));
  };
  auto times = [&](Value v, uint32_t by) { return b.mul(v, static_cast<double>(by)); };
  auto exclusive = [&](Value v, Value w) { return b.binary<prim::XorOp>(v, w); };
  auto right = [&](Value v, int by) {
    return b.binary<prim::ShiftRightOp>(v, b.scalar(by, b.elem(v)));
  };
  auto rotated = [&](Value v, int by) {
    Value left = b.binary<prim::ShiftLeftOp>(v, b.scalar(by, word));
    return b.binary<prim::OrOp>(left, right(v, 32 - by));
  };
  SmallVector<Value> words;
  if (bits == 32) {
    words = {bitcast(x, word)};
  } else {
    Value both = bitcast(x, b.builder().getIntegerType(64, /*isSigned=*/false));
    Value low = b.binary<prim::AndOp>(both, b.scalar(4294967295.0, b.elem(both)));
    words = {b.cast(low, word), b.cast(right(both, 32), word)};
  }
  Value hash = b.scalar(static_cast<double>(static_cast<uint32_t>(c.intAttr("seed", 0))), word);
  for (Value k : words) {
    k = times(rotated(times(k, 0xcc9e2d51), 15), 0x1b873593);
    hash = b.add(times(rotated(exclusive(hash, k), 13), 5), b.scalar(0xe6546b64, word));
  }
  hash = exclusive(hash, b.scalar(bits / 8, word));
  hash = times(exclusive(hash, right(hash, 16)), 0x85ebca6b);
  hash = times(exclusive(hash, right(hash, 13)), 0xc2b2ae35);
  hash = exclusive(hash, right(hash, 16));
  return c.give(c.intAttr("positive", 1) ? hash : bitcast(hash, b.builder().getIntegerType(32)));
}

/// Words [S, L] of characters, with 0 after the last, as the largest responses of filters along
/// their embedded characters, in tanh. A word that begins with 0 has none, and is zeros here: ONNX
/// Runtime leaves its row as it was.
LogicalResult wordEmbedding(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value words = c.in(0), filters = c.in(1), bias = c.in(2), table = c.in(3);
  if (b.rank(words) != 2 || b.rank(filters) != 4 || b.rank(bias) != 1 || b.rank(table) != 2)
    return c.fail("needs words [S, L], filters [F, 1, K, E], a bias [F] and characters [V, E]");
  auto width = b.known(b.dim(filters, 2)), features = b.known(b.dim(filters, 3));
  if (!width || !features || b.known(b.dim(filters, 1)) != 1)
    return c.fail("needs filters of one channel and a known window");
  requireSame(b, b.dim(table, 1), b.dim(*features), "the embedded characters and the filters");
  for (auto [name, have] : {std::pair<StringRef, Dim>{"embedding_size", b.dim(filters, 0)},
                            {"conv_window_size", b.dim(filters, 2)},
                            {"char_embedding_size", b.dim(filters, 3)}})
    if (c.hasAttr(name) && c.intAttr(name, -1) != -1)
      requireSame(b, have, b.dim(c.intAttr(name, -1)), name);
  requireAtMost(b, b.dim(*width), b.dim(words, 1), "the window of characters");
  Type index = b.builder().getI64Type();
  Value any = b.compare(P::gt, words, 0.0);
  Value length = b.reduce(K::sum, b.cast(any, index), {1}, /*keepDims=*/true);
  Value empty = b.logicalNot(b.sliceAxis(any, 1, b.dim(0), b.dim(1))); // [S, 1]
  Value taken = b.maximum(length, static_cast<double>(*width));
  Value place = b.unsqueeze(b.iota({b.dim(words, 1)}, 0, index), {0});
  Value read = b.binary<prim::AndOp>(b.compare(P::lt, place, taken), b.logicalNot(empty));
  Value at = b.select(read, b.cast(words, index), b.scalar(0, index));
  requireInRange(b, at, b.dim(table, 0), IndexRange::positions);
  Value characters = b.unsqueeze(b.take(table, at, 0), {1}); // [S, 1, L, E]
  PrimBuilder::Window window;
  window.window = {*width, *features};
  window.strides = window.dilations = window.inputDilation = {1, 1};
  window.low = window.high = {0, 0};
  Value response = b.squeeze(b.conv(characters, filters, window, /*groups=*/1), {3}); // [S, F, U]
  Value u = b.unsqueeze(b.iota({b.dim(response, 2)}, 0, index), {0});
  Value counts = b.compare(P::le, u, b.sub(taken, static_cast<double>(*width))); // [S, U]
  Value none = b.scalar(-std::numeric_limits<double>::infinity(), b.elem(response));
  Value best = b.reduce(K::max, b.select(b.unsqueeze(counts, {1}), response, none), {2}, false);
  Value value = b.tanh(b.add(best, alongAxis(b, bias, 1, 2)));
  return c.give(b.select(empty, b.scalar(0, b.elem(value)), value));
}

/// Numbers of the n-grams, n = 2 .. N, that end at each token of ids [B, L], one for each of
/// `heads` tables: exclusive or of the n tokens, each times a number of its distance, modulo the
/// table's size. Before the sequence lie past ids [B, N - 1] or `pad_id`, and what lies before the
/// start of a text - an end token with reset_on_eos, another segment - is not seen either.
LogicalResult ngramHashes(NodeContext &c) {
  PrimBuilder &b = c.b;
  enum { kIds, kMultipliers, kSizes, kPast, kOffsets, kEnd, kSegments };
  Value ids = c.in(kIds), sizes = c.in(kSizes), multipliers = c.in(kMultipliers);
  int64_t longest = c.intAttr("max_ngram_size", 0), heads = c.intAttr("n_head_per_ngram", 0);
  constexpr int64_t kMany = 64;
  if (b.rank(ids) != 2 || b.rank(sizes) != 1 || b.rank(multipliers) != 1)
    return c.fail("needs ids [B, L] and lists of multipliers and sizes");
  if (longest < 2 || longest > kMany || heads < 1 || heads > (1 << 20))
    return c.fail("needs 'max_ngram_size' from 2 to 64 and a positive 'n_head_per_ngram'");
  Type word = b.elem(ids);
  Dim batch = b.dim(ids, 0), length = b.dim(ids, 1), before = b.dim(longest - 1);
  requireSame(b, b.dim(sizes, 0), b.dim((longest - 1) * heads), "the sizes of the tables");
  requireAtMost(b, b.dim(longest), b.dim(multipliers, 0), "the longest n-gram");
  auto end = c.has(kEnd) ? scalarOperand(c, kEnd) : FailureOr<Value>(Value());
  if (failed(end))
    return failure();
  Value fill = *end ? *end : b.scalar(static_cast<double>(c.intAttr("pad_id", 0)), word);
  Value past = c.has(kPast) ? c.in(kPast) : b.full({batch, before}, fill);
  if (b.rank(past) != 2)
    return c.fail("needs past ids [B, N - 1]");
  requireSame(b, b.dim(past, 0), batch, "the batch of the past ids");
  requireSame(b, b.dim(past, 1), before, "the length of the past ids");
  Value all = b.concat({past, ids}, 1); // [B, N - 1 + L]
  bool resets = *end && c.intAttr("reset_on_eos", 0) != 0;
  Value starts; // whether a segment starts at a token
  if (c.has(kSegments)) {
    Value segments = c.in(kSegments);
    if (b.rank(segments) != 2)
      return c.fail("needs segments [B, L]");
    for (int64_t axis : {0, 1})
      requireSame(b, b.dim(segments, axis), b.dim(ids, axis), "the segments and the ids");
    Dim zero = b.dim(0), one = b.dim(1);
    Value none = b.scalar(0, b.elem(segments));
    Value shifted = b.sliceAxis(b.pad(segments, none, {zero, one}, {zero, zero}), 1, zero, length);
    Value inside = b.compare(P::gt, b.iota({length}, 0, b.builder().getI64Type()), 0.0);
    Value differs = b.compare(P::ne, segments, shifted);
    differs = b.binary<prim::AndOp>(differs, b.unsqueeze(inside, {0}));
    starts = b.pad(differs, b.scalar(0, b.builder().getI1Type()), {zero, before}, {zero, zero});
  }
  auto seenAt = [&](Value of, int64_t distance) {
    return b.sliceAxis(of, 1, b.dim(longest - 1 - distance), length);
  };
  auto multiplier = [&](int64_t i) {
    return b.reshape(b.sliceAxis(multipliers, 0, b.dim(i), b.dim(1)), ArrayRef<Dim>());
  };
  Value mix = b.mul(seenAt(all, 0), multiplier(0)), hidden = {};
  SmallVector<Value> hashes;
  for (int64_t i = 1; i < longest; ++i) {
    Value token = seenAt(all, i);
    SmallVector<Value> why;
    if (resets)
      why.push_back(b.compare(P::eq, token, fill));
    if (starts)
      why.push_back(seenAt(starts, i - 1));
    for (Value each : why)
      hidden = hidden ? b.binary<prim::OrOp>(hidden, each) : each;
    if (hidden)
      token = b.select(hidden, fill, token);
    mix = b.binary<prim::XorOp>(mix, b.mul(token, multiplier(i)));
    Value table = alongAxis(b, b.sliceAxis(sizes, 0, b.dim((i - 1) * heads), b.dim(heads)), 2, 3);
    Value rest = b.binary<prim::RemOp>(b.unsqueeze(mix, {2}), table); // with the sign of mix
    hashes.push_back(b.select(b.compare(P::lt, rest, 0.0), b.add(rest, table), rest));
  }
  Value y = b.concat(hashes, 2);
  if (c.has(kOffsets)) {
    if (b.rank(c.in(kOffsets)) != 1)
      return c.fail("needs a list of offsets");
    requireSame(b, b.dim(c.in(kOffsets), 0), b.dim(sizes, 0), "the offsets of the tables");
    y = b.add(y, alongAxis(b, c.in(kOffsets), 2, 3));
  }
  if (c.numResults() > 1)
    (void)c.give(1, b.sliceAxis(all, 1, length, before));
  return c.give(y);
}

/// ONNX Runtime's example of an operator of its own.
LogicalResult sample(NodeContext &c) { return c.give(c.in(0)); }

} // namespace

void tcc::populateOnnxContribWordRules(RuleSet &rules) {
  rules.add("com.microsoft", "GreedySearch", greedySearch);
  rules.add("com.microsoft", "Sampling", sampling);
  rules.add("com.microsoft", "BeamSearch", beamSearch);
  rules.add("com.microsoft", "WhisperBeamSearch", beamSearch);
  rules.add("com.microsoft", "MurmurHash3", murmurHash);
  rules.add("com.microsoft", "NGramHashMapping", ngramHashes);
  rules.add("com.microsoft", "SampleOp", sample);
  rules.add("com.microsoft", "WordConvEmbedding", wordEmbedding);
}
