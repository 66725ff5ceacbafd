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
//   what the decoder reads (three tensors, and the past of each layer), the sequences so far [R,
//   L], the next positions [R, 1], and what chooses tokens carries
//
// in which the number of tokens read, the length of the past and L are open extents. A prompt is
// padded on its left; where no mask is given, tokens of `pad_token_id` are not seen. Positions
// count the tokens that are seen.
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

/// The carried values: tokens and positions, the mask, the sequences, the next positions; then the
/// state and the pasts.
enum : unsigned { kMask = 2, kSequences, kNext, kState };

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
  Value first = b.fromHost({b.compareDims(Cmp::eq, b.dim(sequences, 1), b.dim(c.in(0), 1))}, {},
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
  return y;
}

std::optional<SmallVector<Value>> TokenLoop::turn(Region &decoder, size_t states,
                                                  ValueRange carried) {
  Value mask = carried[kMask], sequences = carried[kSequences], next = carried[kNext];
  std::vector<Lowered> arguments;
  for (Value v : carried.take_front(kSequences))
    arguments.push_back(Lowered::tensor(v));
  for (Value v : carried.drop_front(kState + states))
    arguments.push_back(Lowered::tensor(v));
  auto results = c.inlineBody(decoder, arguments);
  if (failed(results) || results->size() + 2 != arguments.size())
    return std::nullopt;
  auto given = tensorsOf(*results);
  if (!given || b.rank((*given)[0]) != 3)
    return std::nullopt;
  Value logits = (*given)[0];
  Value last = b.sliceAxis(logits, 1, b.subDims(b.dim(logits, 1), b.dim(1)), b.dim(1));
  last = b.cast(b.squeeze(last, {1}), b.builder().getF32Type());
  Choice choice = choose(last, sequences, carried.slice(kState, states));
  auto continued = [&](Value v, int64_t axis) {
    return choice.rows ? b.take(v, choice.rows, axis) : v;
  };
  Value one = b.full({b.dim(mask, 0), b.dim(1)}, 1, word);
  sequences = b.concat({continued(sequences, 0), choice.tokens}, 1);
  // Rows of one prompt have one mask, and the same positions.
  SmallVector<Value> values = {choice.tokens, next, b.concat({mask, one}, 1), sequences,
                               b.add(next, 1.0)};
  values.append(choice.state);
  for (Value present : ArrayRef(*given).drop_front())
    values.push_back(continued(present, 1));
  // Else a node of the decoder would be blamed in the next draft of the loop.
  fault = b.takeFault();
  return fault.empty() ? std::optional(values) : std::nullopt;
}

/// The mask of the prompt: what is given, or what is no padding.
FailureOr<Value> TokenLoop::promptMask(Value ids) const {
  if (!c.has(operands.mask))
    return b.cast(b.compare(P::ne, ids, static_cast<double>(pad)), b.elem(ids));
  Value mask = c.in(operands.mask);
  if (b.rank(mask) != 2)
    return c.fail("needs an attention mask of rank 2");
  for (int64_t axis : {0, 1})
    requireSame(b, b.dim(mask, axis), b.dim(ids, axis), "the prompt and its mask");
  return b.cast(mask, b.elem(ids));
}

LogicalResult TokenLoop::read(int64_t rows) {
  rowsOfPrompt = rows;
  if (c.intAttr("model_type", 0) != 0 || c.node.body("encoder"))
    return c.fail("only a decoder without an encoder (model_type 0) is supported");
  auto longest = hostInt(c, operands.maxLength);
  FailureOr<Dim> shortest =
      c.has(operands.minLength) ? hostInt(c, operands.minLength) : FailureOr<Dim>(b.dim(0));
  FailureOr<Value> factor =
      c.has(operands.penalty) ? scalarOperand(c, operands.penalty) : FailureOr<Value>(Value());
  if (failed(longest) || failed(shortest) || failed(factor))
    return failure();
  Value ids = c.in(0);
  auto isMask = [&](size_t i, int64_t rank) { return !c.has(i) || b.rank(c.in(i)) == rank; };
  if (b.rank(ids) != 2 || !isMask(operands.vocabulary, 1) || !isMask(operands.first, 2))
    return c.fail("needs a prompt [B, S], a mask [V] and a mask of the first token [B, V]");
  maxLength = *longest;
  minLength = *shortest;
  penalty = *factor;
  word = b.elem(ids);
  eos = c.intAttr("eos_token_id", 0);
  pad = c.intAttr("pad_token_id", 0);
  ngram = c.intAttr("no_repeat_ngram_size", 0);
  requireAtMost(b, b.addDims(b.dim(ids, 1), b.dim(1)), maxLength, "the prompt and one token more");
  if (c.has(operands.first))
    requireSame(b, b.dim(c.in(operands.first), 0), prompts(),
                "the prompts and the masks of their first token");
  return success();
}

FailureOr<SmallVector<Value>> TokenLoop::begin(Region &decoder, ValueRange state) {
  auto mask = promptMask(c.in(0));
  if (failed(mask))
    return failure();
  Value before = prim::CumulativeOp::create(b.builder(), b.location(), mask->getType(), K::sum,
                                            *mask, 1, /*exclusive=*/true, /*reverse=*/false);
  Value positions = b.select(b.compare(P::ne, *mask, 0.0), before, b.scalar(0, word));
  Value ids = eachRow(c.in(0)), next = b.reduce(K::sum, *mask, {1}, /*keepDims=*/true);
  SmallVector<Value> inits = {ids, eachRow(positions), eachRow(*mask), ids, eachRow(next)};
  inits.append(state.begin(), state.end());
  for (BlockArgument past : decoder.getArguments().drop_front(3)) {
    auto type = dyn_cast<RankedTensorType>(past.getType());
    if (!type || type.getRank() != 5 || type.getDimSize(0) != 2 || type.isDynamicDim(2) ||
        type.isDynamicDim(4))
      return c.fail(
          "needs pasts [2, B, heads, P, features] in the decoder's inputs, with known heads "
          "and features");
    inits.push_back(b.full(
        {b.dim(2), b.dim(ids, 0), b.dim(type.getDimSize(2)), b.dim(0), b.dim(type.getDimSize(4))},
        0, type.getElementType()));
  }
  return inits;
}

FailureOr<TokenLoop::End> TokenLoop::run(ValueRange state) {
  Region *decoder = c.node.body("decoder");
  if (!decoder || decoder->getNumArguments() < 4)
    return c.fail(
        "needs a decoder that takes tokens, positions, a mask and the past of each layer");
  auto inits = begin(*decoder, state);
  if (failed(inits))
    return failure();
  if (std::string why = b.takeFault(); !why.empty())
    return c.fail(why);
  std::optional<SmallVector<Value>> result = *inits;
  size_t states = state.size();
  if (Region *first = c.node.body("init_decoder"))
    result = first->getNumArguments() == decoder->getNumArguments() ? turn(*first, states, *inits)
                                                                    : std::nullopt;
  if (result)
    result = b.loop(
        *result,
        [&](ValueRange v) {
          Value all = b.reduce(K::min, b.cast(v[kState], word), {0, 1}, /*keepDims=*/false);
          Dim goesOn = b.compareDims(Cmp::eq, b.readElements(all)[0], b.dim(0));
          return b.andDims(goesOn, b.compareDims(Cmp::slt, b.dim(v[kSequences], 1), maxLength));
        },
        [&](ValueRange v) { return turn(*decoder, states, v); });
  if (!result)
    return c.fail(!fault.empty()
                      ? fault
                      : "its decoder does not give logits [B, S, V] and the present of each layer");
  ArrayRef<Value> all = *result;
  return End{all[kSequences], SmallVector<Value>(all.slice(kState, states))};
}
