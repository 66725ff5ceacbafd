//===- TokenLoop.cpp - A decoder run token by token --------------------------===//
//
// com.microsoft's searches run a decoder, which is a subgraph, token by token:
//
//   input_ids [R, S], position_ids [R, S], attention_mask [R, P + S], past_i [2, R, H, P, D]
//     -> logits [R, S, V], present_i [2, R, H, P + S, D]
//
// The first turn reads the prompt, with no past, and may have a decoder of its own; each later one
// reads the token that the turn before chose. So a search is one prim.while over
//
//   the sequences so far [R, L], what the decoder reads (tokens, and without an encoder positions
//   and a mask), the next positions [R, 1], what chooses tokens carries, and the past of each layer
//
// in which the number of tokens read, the length of the past and L are open extents. A prompt is
// padded on its left; where no mask is given, tokens of `pad_token_id` are not seen. Positions
// count the tokens that are seen.
//
// With an encoder (T5, Whisper) the prompt is the encoder's, which runs once, and the sequences
// begin with tokens of their own:
//
//   input_ids [R, 1], mask [R, E] of tokens, hidden [R, E, C]?,
//   self_i [R, H, P, D], cross_i [R, H, E, D]
//     -> logits [R, 1, V], self_i [R, H, P + 1, D]
//
// Such an encoder gives the keys and values of its tokens alone; one of the older form reads the
// first tokens as well, and gives their logits, the hidden states and the first past before those.
// That is then the first turn, of which each prompt has one row yet.
//
// A decoder that shares the memory of past and present has pasts of `max_length` places, and after
// them how many are filled [1], the number of beams [1], and which beam each token is of [B, N,
// max_length]. Rows take their cache with them here, so that is always their own.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/TokenLoop.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;
using Cmp = arith::CmpIPredicate;

/// The carried values: the sequences, the tokens; without an encoder positions, the mask, the next
/// positions; then the state and the pasts.
enum : unsigned { kSequences, kTokens, kPositions, kMask, kNext, kEnd };

size_t TokenLoop::leads() const { return kind == Kind::decoder ? kEnd : kPositions; }

/// [B, ..] with each element of the first axis as often as a prompt begins rows.
Value TokenLoop::eachRow(Value v) const {
  if (rowsOfPrompt == 1)
    return v;
  Dims dims = b.dims(v), rows = dims;
  rows[0] = b.mulDims(dims[0], b.dim(rowsOfPrompt));
  dims.insert(dims.begin() + 1, b.dim(rowsOfPrompt));
  return b.reshape(b.broadcastTo(b.unsqueeze(v, {1}), dims), rows);
}

/// Operand i, a mask of the vocabulary that counts while `first` (i1) holds, or null.
Value TokenLoop::seen(size_t i, Value first) const {
  if (!c.has(i))
    return {};
  Value seen = b.compare(P::ne, c.in(i), 0.0);
  seen = b.rank(seen) == 1 ? b.unsqueeze(seen, {0}) : eachRow(seen);
  return first ? b.binary<prim::OrOp>(seen, b.logicalNot(first)) : seen;
}

Value TokenLoop::lengthOf(Value sequences, Type type) const {
  return b.cast(b.fromHost({b.dim(sequences, 1)}, {}, b.builder().getI64Type()), type);
}

Value TokenLoop::admitted(Value y, Value sequences) const {
  if (penalty)
    y = withPenalty(b, sequences, y, penalty);
  if (ngram > 0)
    y = withoutRepeats(b, sequences, y, ngram);
  Value never = extremeOf(b, b.elem(y), -1);
  Value first = b.fromHost({b.compareDims(Cmp::eq, b.dim(sequences, 1), b.dim(starts, 1))}, {},
                           b.builder().getI1Type());
  for (Value mask : {seen(operands.vocabulary, {}), seen(operands.first, first)})
    if (mask) {
      requireSame(b, b.dim(mask, 1), b.dim(y, 1), "the vocabulary and its mask");
      y = b.select(mask, y, never);
    }
  if (b.known(minLength) != 0) {
    Value places = b.unsqueeze(b.iota({b.dim(y, 1)}, 0, word), {0});
    Value isEnd = b.compare(P::eq, places, static_cast<double>(eos));
    Dim early = b.compareDims(Cmp::slt, b.dim(sequences, 1), minLength);
    y = b.select(b.binary<prim::AndOp>(isEnd, b.fromHost({early}, {}, b.builder().getI1Type())),
                 never, y);
  }
  if (temperature)
    y = b.div(y, temperature);
  if (!times)
    return y;
  Value with = withTimes(b, sequences, y, *times);
  return timed ? b.select(timed, with, y) : with;
}

std::optional<SmallVector<Value>> TokenLoop::turn(Region &decoder, size_t states,
                                                  ValueRange carried) {
  std::vector<Lowered> arguments;
  auto pass = [&](ValueRange values) {
    for (Value v : values)
      arguments.push_back(Lowered::tensor(v));
  };
  Value read = carried[kTokens];
  if (kind == Kind::decoder) {
    pass(carried.slice(kTokens, kNext - kTokens));
  } else {
    // A decoder that reads more than one token reads them all.
    auto reads = dyn_cast<RankedTensorType>(decoder.getArgument(0).getType());
    if (!reads || reads.getRank() != 2 || reads.getDimSize(1) != 1)
      read = carried[kSequences];
    pass(read);
  }
  pass(encoded.before);
  ValueRange pasts = carried.drop_front(leads() + states);
  pass(pasts);
  pass(encoded.after);
  passCache(arguments, read, carried[kSequences]);
  auto results = c.inlineBody(decoder, arguments);
  if (failed(results) || results->size() != pasts.size() + 1)
    return std::nullopt;
  auto given = tensorsOf(*results);
  if (!given)
    return std::nullopt;
  return advanced(*given, states, carried);
}

void TokenLoop::passCache(std::vector<Lowered> &arguments, Value read, Value sequences) const {
  Value filled = b.fromHost({b.subDims(b.dim(sequences, 1), b.dim(read, 1))}, {1}, word);
  Value width = b.full({b.dim(1)}, static_cast<double>(rowsOfPrompt), word);
  Dims dims = {prompts(), maxLength, b.dim(rowsOfPrompt)};
  Value own = b.broadcastTo(b.iota({dims[2]}, 0, word), dims);
  Value all[] = {filled, width, b.transpose(own, {0, 2, 1})};
  for (Value v : ArrayRef(all).take_front(shared))
    arguments.push_back(Lowered::tensor(v));
}

std::optional<int64_t> TokenLoop::words() const {
  if (int64_t given = c.intAttr("vocab_size", -1); given > 0)
    return given;
  Region *decoder = c.node.body("decoder");
  TypeRange yielded;
  if (decoder)
    yielded = decoder->front().getTerminator()->getOperandTypes();
  auto logits = yielded.empty() ? nullptr : dyn_cast<RankedTensorType>(yielded.front());
  if (!logits || logits.getRank() != 3 || logits.isDynamicDim(2))
    return std::nullopt;
  return logits.getDimSize(2);
}

/// What is carried on after logits [R, S, V] and the present of each layer.
std::optional<SmallVector<Value>> TokenLoop::advanced(ArrayRef<Value> given, size_t states,
                                                      ValueRange carried) {
  Value logits = given[0], sequences = carried[kSequences];
  if (b.rank(logits) != 3)
    return std::nullopt;
  Value last = b.sliceAxis(logits, 1, b.subDims(b.dim(logits, 1), b.dim(1)), b.dim(1));
  last = b.cast(b.squeeze(last, {1}), b.builder().getF32Type());
  // A vocabulary may be filled up to a round number.
  if (int64_t words = c.intAttr("vocab_size", -1); words > 0) {
    requireAtMost(b, b.dim(words), b.dim(last, 1), "'vocab_size' and the logits");
    last = b.sliceAxis(last, 1, b.dim(0), b.dim(words));
  }
  Choice choice = choose(last, sequences, carried.slice(leads(), states));
  auto continued = [&](Value v, int64_t axis) {
    return choice.rows ? b.take(v, choice.rows, axis) : v;
  };
  SmallVector<Value> values = {b.concat({continued(sequences, 0), choice.tokens}, 1),
                               choice.tokens};
  if (kind == Kind::decoder) {
    Value mask = carried[kMask], next = carried[kNext];
    Value one = b.full({b.dim(mask, 0), b.dim(1)}, 1, word);
    // Rows of one prompt have one mask, and the same positions.
    values.append({next, b.concat({mask, one}, 1), b.add(next, 1.0)});
  }
  values.append(choice.state);
  for (Value present : given.drop_front())
    values.push_back(continued(present, kind == Kind::decoder ? 1 : 0));
  // Else a node of the decoder would be blamed in the next draft of the loop.
  fault = b.takeFault();
  return fault.empty() ? std::optional(values) : std::nullopt;
}

/// The sums of a mask [B, S] before each place, or up to it.
static Value countedBefore(PrimBuilder &b, Value mask, bool exclusive) {
  return prim::CumulativeOp::create(b.builder(), b.location(), mask.getType(), K::sum, mask, 1,
                                    exclusive, /*reverse=*/false);
}

/// The mask of the prompt: what is given, or what is no padding. For an encoder that is what stands
/// before the first other token.
FailureOr<Value> TokenLoop::promptMask(Value ids) const {
  if (!c.has(operands.mask)) {
    Value mask = b.cast(b.compare(P::ne, ids, static_cast<double>(pad)), b.elem(ids));
    if (kind == Kind::decoder)
      return mask;
    Value begun = b.compare(P::gt, countedBefore(b, mask, /*exclusive=*/false), 0.0);
    return b.cast(begun, b.elem(ids));
  }
  Value mask = c.in(operands.mask);
  if (b.rank(mask) != 2)
    return c.fail("needs an attention mask of rank 2");
  for (int64_t axis : {0, 1})
    requireSame(b, b.dim(mask, axis), b.dim(ids, axis), "the prompt and its mask");
  return b.cast(mask, b.elem(ids));
}

/// The operand that is the prompt, and what the sequences begin with.
LogicalResult TokenLoop::readPrompt() {
  Value ids = c.in(0);
  int64_t model = c.intAttr("model_type", c.node.getTarget() == "WhisperBeamSearch" ? 2 : 0);
  if (model < 0 || model > 2 || (model != 0) != (c.node.body("encoder") != nullptr))
    return c.fail(
        "needs an encoder for the model_type 1 or 2, none for 0, and no other model_type");
  kind = static_cast<Kind>(model);
  word = b.elem(c.in(operands.maxLength));
  if (b.rank(ids) != (kind == Kind::featuresToTokens ? 3 : 2))
    return c.fail("needs a prompt [B, S], or features [B, C, S]");
  if (kind == Kind::decoder) {
    starts = ids;
  } else if (kind == Kind::featuresToTokens && c.has(operands.starts)) {
    starts = c.in(operands.starts);
    if (b.rank(starts) != 2)
      return c.fail("needs the first tokens [B, S]");
    requireSame(b, b.dim(starts, 0), prompts(), "the prompts and their first tokens");
  } else {
    int64_t first = c.intAttr("decoder_start_token_id", -1);
    if (first < 0)
      return c.fail("needs a 'decoder_start_token_id'");
    starts = b.full({prompts(), b.dim(1)}, static_cast<double>(first), word);
  }
  return c.has(operands.processor) ? readTimes() : success();
}

/// The logits_processor: 0 is none, 1 makes texts with times.
LogicalResult TokenLoop::readTimes() {
  auto processor = hostInt(c, operands.processor);
  if (failed(processor))
    return failure();
  auto known = b.known(*processor);
  if (known == 0)
    return success();
  TimeTokens t{.end = c.intAttr("eos_token_id", -1),
               .start = c.intAttr("decoder_start_token_id", -1),
               .translate = c.intAttr("translate_token_id", -1),
               .transcribe = c.intAttr("transcribe_token_id", -1),
               .startOfLanguageModel = c.intAttr("start_of_lm_token_id", -1),
               .noTimes = c.intAttr("no_timestamps_token_id", -1),
               .firstTime = c.intAttr("beginning_timestamp_token_id", -1)};
  if (known.value_or(1) != 1 || kind != Kind::featuresToTokens || t.firstTime < 0)
    return c.fail("a logits_processor other than 0 needs to be 1, for Whisper, and the tokens of "
                  "its times");
  requireAtMost(b, *processor, b.dim(1), "the logits_processor and those that there are");
  times = t;
  if (!known)
    timed = b.fromHost({b.compareDims(Cmp::eq, *processor, b.dim(1))}, {}, b.builder().getI1Type());
  return success();
}

LogicalResult TokenLoop::read(int64_t rows) {
  rowsOfPrompt = rows;
  if (failed(readPrompt()))
    return failure();
  auto longest = hostInt(c, operands.maxLength);
  FailureOr<Dim> shortest =
      c.has(operands.minLength) ? hostInt(c, operands.minLength) : FailureOr<Dim>(b.dim(0));
  FailureOr<Value> factor =
      c.has(operands.penalty) ? scalarOperand(c, operands.penalty) : FailureOr<Value>(Value());
  if (failed(longest) || failed(shortest) || failed(factor))
    return failure();
  auto isMask = [&](size_t i, int64_t rank) { return !c.has(i) || b.rank(c.in(i)) == rank; };
  if (!isMask(operands.vocabulary, 1) || !isMask(operands.first, 2))
    return c.fail("needs a mask [V] and a mask of the first token [B, V]");
  maxLength = *longest;
  minLength = *shortest;
  penalty = *factor;
  eos = c.intAttr("eos_token_id", 0);
  pad = c.intAttr("pad_token_id", 0);
  ngram = c.intAttr("no_repeat_ngram_size", 0);
  requireAtMost(b, b.addDims(b.dim(starts, 1), b.dim(1)), maxLength,
                "the prompt and one token more");
  if (c.has(operands.first))
    requireSame(b, b.dim(c.in(operands.first), 0), prompts(),
                "the prompts and the masks of their first token");
  return success();
}

/// How many pasts a decoder gives with its logits.
static size_t presentsOf(Region &decoder) {
  size_t results = decoder.front().getTerminator()->getNumOperands();
  return results == 0 ? 0 : results - 1;
}

/// Pasts of no tokens, of arguments [2, R, heads, P, features] or [R, heads, P, features].
std::optional<SmallVector<Value>> TokenLoop::emptyPasts(TypeRange types, int64_t rank) {
  SmallVector<Value> pasts;
  for (Type argument : types) {
    auto type = dyn_cast<RankedTensorType>(argument);
    if (!type || type.getRank() != rank || (rank == 5 && type.getDimSize(0) != 2) ||
        type.isDynamicDim(rank - 3) || type.isDynamicDim(rank - 1))
      return std::nullopt;
    Dims dims = {b.mulDims(prompts(), b.dim(rowsOfPrompt)), b.dim(type.getDimSize(rank - 3)),
                 shared ? maxLength : b.dim(0), b.dim(type.getDimSize(rank - 1))};
    if (rank == 5)
      dims.insert(dims.begin(), b.dim(2));
    pasts.push_back(b.full(dims, 0, type.getElementType()));
  }
  return pasts;
}

FailureOr<SmallVector<Value>> TokenLoop::begin(Region &decoder, ValueRange state) {
  auto mask = promptMask(starts);
  if (failed(mask))
    return failure();
  Value positions = b.select(b.compare(P::ne, *mask, 0.0),
                             countedBefore(b, *mask, /*exclusive=*/true), b.scalar(0, word));
  Value ids = eachRow(starts), next = b.reduce(K::sum, *mask, {1}, /*keepDims=*/true);
  SmallVector<Value> inits = {ids, ids, eachRow(positions), eachRow(*mask), eachRow(next)};
  inits.append(state.begin(), state.end());
  auto types = decoder.getArgumentTypes();
  size_t before = kNext - kTokens, count = presentsOf(decoder);
  shared = types.size() - std::min(types.size(), before + count);
  auto pasts = count == 0 || shared > 3 || types.size() < before + count
                   ? std::nullopt
                   : emptyPasts(TypeRange(types).slice(before, count), 5);
  if (!pasts)
    return c.fail("needs a decoder that takes tokens, positions, a mask and pasts [2, B, heads, P, "
                  "features] with known heads and features");
  inits.append(*pasts);
  return inits;
}

/// Runs the encoder, and chooses by its logits where it is of the older form.
FailureOr<SmallVector<Value>> TokenLoop::beginEncoded(Region &decoder, ValueRange state) {
  Region &encoder = *c.node.body("encoder");
  bool ofTokens = kind == Kind::tokensToTokens;
  std::vector<Lowered> arguments = {Lowered::tensor(c.in(0))};
  if (ofTokens) {
    auto mask = promptMask(c.in(0));
    if (failed(mask))
      return failure();
    arguments.push_back(Lowered::tensor(*mask));
    encoded.before.push_back(eachRow(*mask));
  }
  bool readsFirst = encoder.getNumArguments() == arguments.size() + 1;
  if (readsFirst)
    arguments.push_back(Lowered::tensor(starts));
  // Of four tensors of each layer, two are the encoder's. Hidden states have rank 3.
  size_t before = 1 + encoded.before.size(), count = decoder.getNumArguments();
  size_t pasts = presentsOf(decoder), hidden = 0;
  if (count > before)
    if (auto type = dyn_cast<RankedTensorType>(decoder.getArgument(before).getType()))
      hidden = type.getRank() == 3;
  size_t least = before + hidden + 2 * pasts;
  shared = count - std::min(count, least);
  if (encoder.getNumArguments() != arguments.size() || pasts == 0 || count < least || shared > 3)
    return c.fail(
        "needs an encoder of the prompt (its mask) and the first tokens, and a decoder of "
        "tokens (a mask, hidden states) and four keys and values of each layer");
  auto results = c.inlineBody(encoder, arguments);
  auto given = failed(results) ? std::nullopt : tensorsOf(*results);
  if (!given || given->size() != (readsFirst ? 2 + 2 * pasts : pasts) || (hidden && !readsFirst))
    return c.fail("its encoder does not give (logits, hidden states, keys and values of the first "
                  "tokens and) the keys and values of the prompt for each layer");
  ArrayRef<Value> all = *given;
  if (hidden)
    encoded.before.push_back(eachRow(all[1]));
  for (Value v : all.take_back(pasts))
    encoded.after.push_back(eachRow(v));
  Value ids = eachRow(starts);
  SmallVector<Value> inits = {ids, ids};
  inits.append(state.begin(), state.end());
  if (readsFirst) {
    SmallVector<Value> first = {eachRow(all[0])};
    for (Value v : all.slice(2, pasts)) {
      Dim zero = b.dim(0), rest = b.subDims(maxLength, b.dim(starts, 1));
      if (shared && b.rank(v) == 4)
        v = b.pad(v, b.scalar(0, b.elem(v)), {zero, zero, zero, zero}, {zero, zero, rest, zero});
      first.push_back(eachRow(v));
    }
    if (auto values = advanced(first, state.size(), inits))
      return *values;
    return c.fail(!fault.empty() ? fault : "its encoder does not give logits [B, S, V]");
  }
  auto types = TypeRange(decoder.getArgumentTypes()).slice(before + hidden, pasts);
  auto empty = emptyPasts(types, 4);
  if (!empty)
    return c.fail("needs pasts [B, heads, P, features] in the decoder's inputs, with known heads "
                  "and features");
  inits.append(*empty);
  return inits;
}

FailureOr<TokenLoop::End> TokenLoop::run(ValueRange state) {
  Region *decoder = c.node.body("decoder");
  if (!decoder || decoder->getNumArguments() == 0)
    return c.fail("needs a decoder");
  auto inits = kind == Kind::decoder ? begin(*decoder, state) : beginEncoded(*decoder, state);
  if (failed(inits))
    return failure();
  if (std::string why = b.takeFault(); !why.empty())
    return c.fail(why);
  std::optional<SmallVector<Value>> result = *inits;
  size_t states = state.size();
  if (Region *first = kind == Kind::decoder ? c.node.body("init_decoder") : nullptr)
    result = first->getNumArguments() == decoder->getNumArguments() ? turn(*first, states, *inits)
                                                                    : std::nullopt;
  if (result)
    result = b.loop(
        *result,
        [&](ValueRange v) {
          Value all = b.reduce(K::min, b.cast(v[leads()], word), {0, 1}, /*keepDims=*/false);
          Dim goesOn = b.compareDims(Cmp::eq, b.readElements(all)[0], b.dim(0));
          return b.andDims(goesOn, b.compareDims(Cmp::slt, b.dim(v[kSequences], 1), maxLength));
        },
        [&](ValueRange v) { return turn(*decoder, states, v); });
  if (!result)
    return c.fail(!fault.empty()
                      ? fault
                      : "its decoder does not give logits [B, S, V] and the present of each layer");
  ArrayRef<Value> all = *result;
  return End{all[kSequences], SmallVector<Value>(all.slice(leads(), states))};
}
