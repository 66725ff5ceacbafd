//===- TokenSearch.cpp - Sequences that a decoder continues -----------------===//
//
// com.microsoft's GreedySearch runs a decoder, which is a subgraph, token by token:
//
//   input_ids [B, S], position_ids [B, S], attention_mask [B, P + S], past_i [2, B, H, P, D]
//     -> logits [B, S, V], present_i [2, B, H, P + S, D]
//
// The first turn reads the prompt, with no past, and may have a decoder of its own; each later one
// reads the token that the turn before chose. So the rule is one prim.while over
//
//   what the decoder reads (three tensors, and the past of each layer), the sequences so far [B,
//   L], which of them have ended [B, 1], the next positions [B, 1]
//
// in which the number of tokens read, the length of the past and L are open extents. A prompt is
// padded on its left; where no mask is given, tokens of `pad_token_id` are not seen. Positions
// count the tokens that are seen. What follows the end of a sequence is `pad_token_id`, the end
// token included; ONNX Runtime leaves memory as it was where all have ended before `max_length`.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/TokenSearch.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;
using Cmp = arith::CmpIPredicate;

namespace {

/// The carried values: tokens and positions, the mask, and so on.
enum : unsigned { kMask = 2, kSequences, kEnded, kNext, kPasts };

struct Search {
  NodeContext &c;
  PrimBuilder &b;
  Dim maxLength, minLength;
  Value penalty; ///< null: none
  int64_t eos, pad, ngram;
  Type word;         ///< of token numbers
  std::string fault; ///< of the operands, found in a turn

  Value mask(size_t i, Value first) const;
  Value scores(Value logits, Value sequences, Value first) const;
  std::optional<SmallVector<Value>> turn(Region &decoder, ValueRange carried);
};

/// Operand i, a mask of the vocabulary that counts while `first` (i1) holds, or null.
Value Search::mask(size_t i, Value first) const {
  if (!c.has(i))
    return {};
  Value seen = b.compare(P::ne, c.in(i), 0.0);
  if (b.rank(seen) == 1)
    seen = b.unsqueeze(seen, {0});
  return first ? b.binary<prim::OrOp>(seen, b.logicalNot(first)) : seen;
}

/// [B, V], of the last token's logits [B, S, V].
Value Search::scores(Value logits, Value sequences, Value first) const {
  Value last = b.sliceAxis(logits, 1, b.subDims(b.dim(logits, 1), b.dim(1)), b.dim(1));
  Value y = b.cast(b.squeeze(last, {1}), b.builder().getF32Type());
  if (penalty)
    y = withPenalty(b, sequences, y, penalty);
  if (ngram > 0)
    y = withoutRepeats(b, sequences, y, ngram);
  Value never = extremeOf(b, b.elem(y), -1);
  for (Value seen : {mask(4, {}), mask(5, first)})
    if (seen) {
      requireSame(b, b.dim(seen, 1), b.dim(y, 1), "the vocabulary and its mask");
      y = b.select(seen, y, never);
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

std::optional<SmallVector<Value>> Search::turn(Region &decoder, ValueRange carried) {
  Value mask = carried[kMask], sequences = carried[kSequences], ended = carried[kEnded],
        next = carried[kNext];
  std::vector<Lowered> arguments;
  for (Value v : carried.take_front(kSequences))
    arguments.push_back(Lowered::tensor(v));
  for (Value v : carried.drop_front(kPasts))
    arguments.push_back(Lowered::tensor(v));
  auto results = c.inlineBody(decoder, arguments);
  if (failed(results) || results->size() + 2 != arguments.size())
    return std::nullopt;
  auto given = tensorsOf(*results);
  if (!given || b.rank((*given)[0]) != 3)
    return std::nullopt;
  Value first = b.fromHost({b.compareDims(Cmp::eq, b.dim(sequences, 1), b.dim(c.in(0), 1))}, {},
                           b.builder().getI1Type());
  Value best = b.argReduce(K::max, scores((*given)[0], sequences, first), 1, /*keepDims=*/true);
  Value token = b.cast(best, word);
  ended = b.binary<prim::OrOp>(ended, b.compare(P::eq, token, static_cast<double>(eos)));
  token = b.select(ended, b.scalar(static_cast<double>(pad), word), token);
  sequences = b.concat({sequences, token}, 1);
  Value one = b.full({b.dim(mask, 0), b.dim(1)}, 1, word);
  SmallVector<Value> values = {token,     next,  b.concat({mask, one}, 1),
                               sequences, ended, b.add(next, 1.0)};
  values.append(given->begin() + 1, given->end());
  // Else a node of the decoder would be blamed in the next draft of the loop.
  fault = b.takeFault();
  return fault.empty() ? std::optional(values) : std::nullopt;
}

/// The mask of the prompt: what is given, or what is no padding.
FailureOr<Value> promptMask(NodeContext &c, Value ids, double pad) {
  PrimBuilder &b = c.b;
  if (!c.has(6))
    return b.cast(b.compare(P::ne, ids, pad), b.elem(ids));
  Value mask = c.in(6);
  if (b.rank(mask) != 2)
    return c.fail("needs an attention mask of rank 2");
  for (int64_t axis : {0, 1})
    requireSame(b, b.dim(mask, axis), b.dim(ids, axis), "the prompt and its mask");
  return b.cast(mask, b.elem(ids));
}

} // namespace

LogicalResult tcc::greedySearch(NodeContext &c) {
  PrimBuilder &b = c.b;
  Region *decoder = c.node.body("decoder");
  if (c.intAttr("model_type", 0) != 0 || c.node.body("encoder"))
    return c.fail("only a decoder without an encoder (model_type 0) is supported");
  if (!decoder || decoder->getNumArguments() < 4)
    return c.fail(
        "needs a decoder that takes tokens, positions, a mask and the past of each layer");
  Value ids = c.in(0);
  auto maxLength = hostInt(c, 1);
  FailureOr<Dim> minLength = c.has(2) ? hostInt(c, 2) : FailureOr<Dim>(b.dim(0));
  FailureOr<Value> penalty = c.has(3) ? scalarOperand(c, 3) : FailureOr<Value>(Value());
  if (failed(maxLength) || failed(minLength) || failed(penalty))
    return failure();
  if (b.rank(ids) != 2 || (c.has(4) && b.rank(c.in(4)) != 1) || (c.has(5) && b.rank(c.in(5)) != 2))
    return c.fail("needs a prompt [B, S], a mask [V] and a mask of the first token [B, V]");
  Search search{c,
                b,
                *maxLength,
                *minLength,
                *penalty,
                c.intAttr("eos_token_id", 0),
                c.intAttr("pad_token_id", 0),
                c.intAttr("no_repeat_ngram_size", 0),
                b.elem(ids)};
  Dim batch = b.dim(ids, 0);
  requireAtMost(b, b.addDims(b.dim(ids, 1), b.dim(1)), *maxLength, "the prompt and one token more");
  if (c.has(5))
    requireSame(b, b.dim(c.in(5), 0), batch, "the prompts and the masks of their first token");
  auto mask = promptMask(c, ids, static_cast<double>(search.pad));
  if (failed(mask))
    return failure();
  Value before = prim::CumulativeOp::create(b.builder(), b.location(), mask->getType(), K::sum,
                                            *mask, 1, /*exclusive=*/true, /*reverse=*/false);
  Value positions = b.select(b.compare(P::ne, *mask, 0.0), before, b.scalar(0, search.word));
  SmallVector<Value> inits = {ids,
                              positions,
                              *mask,
                              ids,
                              b.full({batch, b.dim(1)}, 0, b.builder().getI1Type()),
                              b.reduce(K::sum, *mask, {1}, /*keepDims=*/true)};
  for (BlockArgument past : decoder->getArguments().drop_front(3)) {
    auto type = dyn_cast<RankedTensorType>(past.getType());
    if (!type || type.getRank() != 5 || type.getDimSize(0) != 2 || type.isDynamicDim(2) ||
        type.isDynamicDim(4))
      return c.fail(
          "needs pasts [2, B, heads, P, features] in the decoder's inputs, with known heads "
          "and features");
    inits.push_back(
        b.full({b.dim(2), batch, b.dim(type.getDimSize(2)), b.dim(0), b.dim(type.getDimSize(4))}, 0,
               type.getElementType()));
  }
  if (std::string why = b.takeFault(); !why.empty())
    return c.fail(why);
  std::optional<SmallVector<Value>> result = inits;
  if (Region *first = c.node.body("init_decoder"))
    result = first->getNumArguments() == decoder->getNumArguments() ? search.turn(*first, inits)
                                                                    : std::nullopt;
  if (result)
    result = b.loop(
        *result,
        [&](ValueRange v) {
          Value all = b.reduce(K::min, b.cast(v[kEnded], search.word), {0, 1}, /*keepDims=*/false);
          Dim goesOn = b.compareDims(Cmp::eq, b.readElements(all)[0], b.dim(0));
          return b.andDims(goesOn, b.compareDims(Cmp::slt, b.dim(v[kSequences], 1), *maxLength));
        },
        [&](ValueRange v) { return search.turn(*decoder, v); });
  if (!result)
    return c.fail(!search.fault.empty()
                      ? search.fault
                      : "its decoder does not give logits [B, S, V] and the present of each layer");
  Value sequences = (*result)[kSequences];
  Dim rest = b.subDims(*maxLength, b.dim(sequences, 1)), zero = b.dim(0);
  return c.give(b.pad(sequences, b.scalar(static_cast<double>(search.pad), search.word),
                      {zero, zero}, {zero, rest}));
}
