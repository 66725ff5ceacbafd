//===- ContribWords.cpp - Words of com.microsoft ------------------------------===//
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

/// ONNX Runtime's example of an operator of its own.
LogicalResult sample(NodeContext &c) { return c.give(c.in(0)); }

} // namespace

void tcc::populateOnnxContribWordRules(RuleSet &rules) {
  rules.add("com.microsoft", "GreedySearch", greedySearch);
  rules.add("com.microsoft", "MurmurHash3", murmurHash);
  rules.add("com.microsoft", "SampleOp", sample);
  rules.add("com.microsoft", "WordConvEmbedding", wordEmbedding);
}
