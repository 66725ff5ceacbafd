//===- TokenSearch.cpp - Sequences that a decoder continues -----------------===//
//
// com.microsoft's GreedySearch goes on with the token of the largest score. What follows the end of
// a sequence is `pad_token_id`, the end token included; ONNX Runtime leaves memory as it was where
// all have ended before `max_length`.
//
// Sampling draws a token by the softmax of the scores instead, from the smallest set of the
// likeliest ones whose probabilities add up to `top_p`: the others get `filter_value` first. A
// `seed` that is given repeats the tokens in every run; without one the context's generator draws.
//
// BeamSearch has `num_beams` rows of each prompt. A token's score is the logarithm of its
// probability, and a row's the sum of its tokens'; of all tokens of all rows of a prompt the best
// are looked at, twice as many as there are beams, so that enough remain where a beam ends. One
// that ends is a finished sequence (its end token is not part of it), the others are the next rows.
// The best `num_beams` finished sequences are kept, best first, by their sum over a power of their
// length. A prompt is done when it has as many and none that could still come is better, or at once
// with `early_stopping`; where it is not done at max_length, its rows are finished as they are.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/TokenSearch.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/RandomNumbers.h"
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/TokenLoop.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

/// The state: which rows have ended [B, 1].
class Greedy : public TokenLoop {
public:
  using TokenLoop::TokenLoop;
  LogicalResult search();

protected:
  /// The next tokens [B, 1] by their scores [B, V].
  virtual Value pick(Value scores, Value sequences) {
    return b.argReduce(K::max, scores, 1, /*keepDims=*/true);
  }

private:
  Choice choose(Value logits, Value sequences, ValueRange state) override {
    Value token = b.cast(pick(admitted(logits, sequences), sequences), word);
    Value ended = b.binary<prim::OrOp>(state[0], b.compare(P::eq, token, static_cast<double>(eos)));
    return {b.select(ended, b.scalar(static_cast<double>(pad), word), token), {}, {ended}};
  }
};

} // namespace

LogicalResult Greedy::search() {
  if (failed(read(/*rowsOfPrompt=*/1)))
    return failure();
  auto end = run(b.full({prompts(), b.dim(1)}, 0, b.builder().getI1Type()));
  if (failed(end))
    return failure();
  Dim rest = b.subDims(maxLength, b.dim(end->sequences, 1)), zero = b.dim(0);
  return c.give(
      b.pad(end->sequences, b.scalar(static_cast<double>(pad), word), {zero, zero}, {zero, rest}));
}

static constexpr TokenLoop::Operands kGreedy{
    .maxLength = 1, .minLength = 2, .penalty = 3, .vocabulary = 4, .first = 5, .mask = 6};

LogicalResult tcc::greedySearch(NodeContext &c) { return Greedy(c, kGreedy).search(); }

namespace {

class Sampled : public Greedy {
public:
  explicit Sampled(NodeContext &c) : Greedy(c, kGreedy) {}
  LogicalResult sample();

private:
  enum : size_t { kPresence = 7, kSeed };
  Value pick(Value scores, Value sequences) override;
  Value kept(Value likelihoods);

  double topP = 0;
  bool custom = false; ///< the sums are of the likelier tokens, else of the less likely ones
  Value seed;          ///< null: the context's generator
};

} // namespace

/// Which of the tokens are drawn from, by their probabilities in order [B, V]: the likeliest first
/// where `custom`, else last.
Value Sampled::kept(Value likelihoods) {
  Type index = b.builder().getI64Type();
  Value sums = prim::CumulativeOp::create(b.builder(), b.location(), likelihoods.getType(), K::sum,
                                          likelihoods, 1, /*exclusive=*/custom, /*reverse=*/false);
  Value place = b.unsqueeze(b.iota({b.dim(sums, 1)}, 0, index), {0});
  if (custom)
    return b.binary<prim::OrOp>(b.compare(P::le, sums, topP), b.compare(P::eq, place, 0.0));
  // The first place is filtered even where more tokens are to be kept than there are.
  Dim most = b.subDims(b.dim(sums, 1), b.dim(c.intAttr("min_tokens_to_keep", 0)));
  Value last = scalarOf(b, b.maxDims(most, b.dim(1)), index);
  return b.binary<prim::OrOp>(b.compare(P::gt, sums, static_cast<float>(1) - topP),
                              b.compare(P::ge, place, last));
}

Value Sampled::pick(Value scores, Value sequences) {
  Type index = b.builder().getI64Type();
  if (c.has(kPresence)) {
    Value penalty = b.scalar(c.floatAttr("presence_penalty", 0), b.elem(scores));
    scores = b.sub(scores, b.mul(b.cast(c.in(kPresence), b.elem(scores)), penalty));
  }
  auto order = prim::SortOp::create(b.builder(), b.location(), scores.getType(),
                                    b.type(scores).clone(index), scores, 1, custom);
  Value ordered = order.getValues();
  Value filtered = b.scalar(c.floatAttr("filter_value", -1e20), b.elem(scores));
  ordered = b.select(kept(softmaxOver(b, ordered, 1)), ordered, filtered);
  RandomNumbers numbers =
      seed ? RandomNumbers(b, seed, lengthOf(sequences, index)) : RandomNumbers(b);
  Value drawn = numbers.classes(softmaxOver(b, ordered, 1), b.dim(1));
  return b.takeAlong(order.getIndices(), drawn, 1);
}

LogicalResult Sampled::sample() {
  topP = c.floatAttr("top_p", 0);
  custom = c.intAttr("custom", 0) != 0;
  if (double by = c.floatAttr("temperature", 1); by > 0 && by != 1)
    temperature = b.scalar(by, b.builder().getF32Type());
  if (c.has(kPresence) && b.rank(c.in(kPresence)) != 2)
    return c.fail("needs a presence mask [B, V]");
  if (c.has(kSeed)) {
    auto given = scalarOperand(c, kSeed);
    if (failed(given))
      return failure();
    seed = b.cast(*given, b.builder().getI64Type());
  }
  return search();
}

LogicalResult tcc::sampling(NodeContext &c) { return Sampled(c).sample(); }

namespace {

/// The state: which prompts are done [B, 1], the sums of the rows [B, N], the finished sequences
/// [B, N, max_length] and their scores [B, N], best first, -inf where there is none; if asked for,
/// what each turn had to choose from [turns, B, N, V].
class Beams : public TokenLoop {
public:
  using TokenLoop::TokenLoop;
  LogicalResult search(size_t temperatureOperand);

private:
  enum : unsigned { kDone, kSums, kFinished, kScores, kChoices };
  Choice choose(Value logits, Value sequences, ValueRange state) override;
  void finish(Value &finished, Value &scores, Value sequence, Value sum, Value length,
              Value active);
  Value normalized(Value sum, Value length) { return b.div(sum, b.pow(length, lengthPower)); }
  Value column(Value v, int64_t i) { return b.sliceAxis(v, 1, b.dim(i), b.dim(1)); }
  /// [B, N, max_length] of the rows [B * N, L].
  Value ofPrompts(Value sequences);
  Value bestPossible(Value sums);

  int64_t beams = 0;
  Value lengthPower;
  bool early = false;
};

} // namespace

Value Beams::ofPrompts(Value sequences) {
  Dim length = b.dim(sequences, 1), zero = b.dim(0);
  Value whole = b.pad(sequences, b.scalar(static_cast<double>(pad), word), {zero, zero},
                      {zero, b.subDims(maxLength, length)});
  return b.reshape(whole, {prompts(), b.dim(beams), maxLength});
}

/// Puts `sequence` [B, max_length] among the finished ones where `active` [B, 1] holds: before
/// those that are worse. The last one falls out.
void Beams::finish(Value &finished, Value &scores, Value sequence, Value sum, Value length,
                   Value active) {
  Type index = b.builder().getI64Type();
  Value score = normalized(sum, length);
  Value better = b.cast(b.compare(P::ge, scores, score), index);
  Value place = b.reduce(K::sum, better, {1}, /*keepDims=*/true);
  place = b.select(active, place, b.scalar(static_cast<double>(beams), index));
  Value at = b.unsqueeze(b.iota({b.dim(beams)}, 0, index), {0});
  Value stays = b.compare(P::lt, at, place), isPlace = b.compare(P::eq, at, place);
  auto insert = [&](Value all, Value one, Value stays, Value isPlace) {
    Value later =
        beams == 1 ? all
                   : b.concat({column(all, 0), b.sliceAxis(all, 1, b.dim(0), b.dim(beams - 1))}, 1);
    return b.select(stays, all, b.select(isPlace, one, later));
  };
  finished = insert(finished, b.unsqueeze(sequence, {1}), b.unsqueeze(stays, {2}),
                    b.unsqueeze(isPlace, {2}));
  scores = insert(scores, score, stays, isPlace);
}

/// The largest of `sums` [B, 2 N] that could still become a finished sequence, [B, 1]. ONNX Runtime
/// looks for it from place N b on where prompt b has its own from 2 N b on.
Value Beams::bestPossible(Value sums) {
  Type index = b.builder().getI64Type();
  Value begin = b.mul(b.unsqueeze(b.iota({prompts()}, 0, index), {1}), static_cast<double>(beams));
  Value places = b.add(begin, b.unsqueeze(b.iota({b.dim(2 * beams)}, 0, index), {0}));
  Value all = b.reshape(sums, {b.mulDims(prompts(), b.dim(2 * beams))});
  return b.reduce(K::max, b.take(all, places, 0), {1}, /*keepDims=*/true);
}

TokenLoop::Choice Beams::choose(Value logits, Value sequences, ValueRange state) {
  Type index = b.builder().getI64Type(), f32 = b.builder().getF32Type();
  Value done = state[kDone], finished = state[kFinished], scores = state[kScores];
  Dim words = b.dim(logits, 1), several = b.dim(beams), looked = b.dim(2 * beams);
  Value shifted = b.sub(logits, b.reduce(K::max, logits, {1}, true));
  Value y = b.sub(shifted, b.log(b.reduce(K::sum, b.exp(shifted), {1}, true)));
  y = admitted(y, sequences);
  Value all = b.reshape(y, {prompts(), several, words});
  all = b.add(all, b.unsqueeze(state[kSums], {2}));
  Value turn = b.unsqueeze(all, {0});
  all = b.reshape(all, {prompts(), b.mulDims(several, words)});
  requireAtMost(b, looked, b.mulDims(several, words), "twice the beams and all tokens");
  auto order = [&](Value x, int64_t count, bool largest) {
    Dims dims = {b.dim(x, 0), b.dim(count)};
    return prim::TopKOp::create(b.builder(), b.location(), b.typeOf(dims, b.elem(x)),
                                b.typeOf(dims, index), x, Value(), 1, largest);
  };
  auto best = order(all, 2 * beams, /*largest=*/true);
  Value sums = best.getValues(), size = b.cast(b.fromHost({words}, {}, index), index);
  Value rows = b.div(best.getIndices(), size);
  Value tokens = b.cast(b.sub(best.getIndices(), b.mul(rows, size)), word);
  Value ends = b.compare(P::eq, tokens, static_cast<double>(eos));
  Value goesOn = b.logicalNot(done), length = lengthOf(sequences, f32);
  Value whole = ofPrompts(sequences);
  if (eos >= 0)
    for (int64_t j = 0; j < beams; ++j) {
      Value row =
          b.broadcastTo(b.unsqueeze(column(rows, j), {2}), {prompts(), b.dim(1), maxLength});
      Value sequence = b.squeeze(b.takeAlong(whole, row, 1), {1});
      finish(finished, scores, sequence, column(sums, j), length,
             b.binary<prim::AndOp>(goesOn, column(ends, j)));
    }
  // The first ones that do not end, in their order.
  Value place = b.broadcastTo(b.unsqueeze(b.iota({looked}, 0, index), {0}), {prompts(), looked});
  place = b.select(ends, b.add(place, static_cast<double>(2 * beams)), place);
  Value next = order(place, beams, /*largest=*/false).getIndices();
  auto chosen = [&](Value v) { return b.takeAlong(v, next, 1); };
  Value full = b.compare(P::gt, column(scores, beams - 1), extremeOf(b, f32, -1));
  if (!early) {
    Value possible = normalized(bestPossible(sums), length);
    full = b.binary<prim::AndOp>(full, b.compare(P::ge, column(scores, beams - 1), possible));
  }
  Value first = b.unsqueeze(b.iota({prompts()}, 0, index), {1});
  Value from = b.add(chosen(rows), b.mul(first, static_cast<double>(beams)));
  Dim count = b.mulDims(prompts(), several);
  Choice choice{b.reshape(chosen(tokens), {count, b.dim(1)}),
                b.reshape(from, {count}),
                {b.binary<prim::OrOp>(done, full), chosen(sums), finished, scores}};
  if (state.size() > kChoices)
    choice.state.push_back(b.concat({state[kChoices], turn}, 0));
  return choice;
}

LogicalResult Beams::search(size_t temperatureOperand) {
  Type f32 = b.builder().getF32Type();
  auto count = c.has(3) ? hostInt(c, 3) : FailureOr<Dim>(b.dim(1));
  auto wanted = c.has(4) ? hostInt(c, 4) : FailureOr<Dim>(b.dim(1));
  auto power = c.has(5) ? scalarOperand(c, 5) : FailureOr<Value>(b.scalar(1, f32));
  auto by = c.has(temperatureOperand) ? scalarOperand(c, temperatureOperand) : FailureOr(Value());
  if (failed(count) || failed(wanted) || failed(power) || failed(by))
    return failure();
  temperature = *by ? b.cast(*by, f32) : Value();
  beams = b.known(*count).value_or(0);
  if (beams < 1 || beams > 64)
    return c.fail("needs a constant number of beams, of 1 to 64");
  if (failed(read(beams)))
    return failure();
  requireAtMost(b, *wanted, *count, "the sequences to return and the beams");
  lengthPower = b.cast(*power, f32);
  early = c.intAttr("early_stopping", 0) != 0;
  // All rows of a prompt are the same at first: only the first one counts.
  Value later = b.compare(P::gt, b.iota({b.dim(beams)}, 0, f32), 0.0);
  Value sums = b.select(later, b.scalar(-1e9, f32), b.scalar(0, f32));
  Value none = b.full({prompts(), b.dim(beams)}, extremeOf(b, f32, -1));
  SmallVector<Value> state = {
      b.full({prompts(), b.dim(1)}, 0, b.builder().getI1Type()),
      b.broadcastTo(b.unsqueeze(sums, {0}), {prompts(), b.dim(beams)}),
      b.full({prompts(), b.dim(beams), maxLength}, static_cast<double>(pad), word), none};
  if (c.wants(2)) {
    auto tokens = words();
    if (!tokens)
      return c.fail("needs a known number of tokens for their scores");
    state.push_back(b.full({b.dim(0), prompts(), b.dim(beams), b.dim(*tokens)}, 0, f32));
  }
  auto end = run(state);
  if (failed(end))
    return failure();
  Value finished = end->state[kFinished], scores = end->state[kScores];
  Value whole = ofPrompts(end->sequences), goesOn = b.logicalNot(end->state[kDone]);
  for (int64_t j = 0; j < beams; ++j)
    finish(finished, scores, b.squeeze(column(whole, j), {1}), column(end->state[kSums], j),
           lengthOf(end->sequences, f32), goesOn);
  if (c.wants(2)) { // turns that there were not have 0; what is not allowed has the least float
    Value turns = b.maximum(end->state[kChoices], std::numeric_limits<float>::lowest());
    Dim zero = b.dim(0), most = b.subDims(maxLength, begun());
    Dims low(4, zero), high(4, zero);
    high[0] = b.subDims(most, b.dim(turns, 0));
    (void)c.give(2, b.pad(turns, b.scalar(0, f32), low, high));
  }
  if (c.wants(1) || c.numResults() > 1)
    (void)c.give(1, b.sliceAxis(scores, 1, b.dim(0), *wanted));
  return c.give(b.sliceAxis(finished, 1, b.dim(0), *wanted));
}

static constexpr TokenLoop::Operands kBeams{.maxLength = 1,
                                            .minLength = 2,
                                            .penalty = 6,
                                            .vocabulary = 7,
                                            .first = 8,
                                            .mask = 9,
                                            .starts = 10,
                                            .processor = 11};

LogicalResult tcc::beamSearch(NodeContext &c) {
  return Beams(c, kBeams).search(c.node.getTarget() == "WhisperBeamSearch" ? 14 : 12);
}
