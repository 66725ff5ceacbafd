//===- LinearAttention.cpp - Attention by a state that is carried on ----------===//
//
// com.microsoft's operators of models whose layers keep a matrix instead of a cache that grows:
// gated delta networks (Qwen 3.5), RetNet, GLA and the short convolutions before them. What depends
// on one token alone, its decay and its rate, is there before the loop over tokens; a turn
// retrieves what the state holds for the key, adds to the state, and reads it by the query:
//
//   S = exp(g) S;  d = beta (v - S^T k), or v;  S = S + k d^T;  o = scale S^T q
//
// One token, as in decoding, needs no loop. A window of states (`state_window`) has those after the
// last tokens, zeros where there were fewer: each turn pushes one in and drops the oldest.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Standardize.h"
#include "tcc/Decompose/Rules.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using Cmp = arith::CmpIPredicate;

namespace {

enum Operand { kQuery, kKey, kValue, kPast, kDecay, kBeta };

/// [B, T, N * H] as [T, B, N, H].
Value byToken(PrimBuilder &b, Value x, Dim heads) {
  Dims d = b.dims(x);
  Dim width = wholeQuotient(b, d[2], heads, "LinearAttention: features in heads");
  return b.transpose(b.reshape(x, {d[0], d[1], heads, width}), {1, 0, 2, 3});
}

/// Each of N heads `count` times in a row: [T, B, N, H] as [T, B, N * count, H].
Value repeated(PrimBuilder &b, Value x, Dim count) {
  if (b.known(count) == 1)
    return x;
  Dims d = b.dims(x);
  Value wide = b.broadcastTo(b.unsqueeze(x, {3}), {d[0], d[1], d[2], count, d[3]});
  return b.reshape(wide, {d[0], d[1], b.mulDims(d[2], count), d[3]});
}

class LinearAttention {
public:
  explicit LinearAttention(NodeContext &c) : c(c), b(c.b), wide(wideType(b.elem(c.in(kQuery)))) {}
  LogicalResult run();

private:
  LogicalResult readOperands();
  LogicalResult readState();
  SmallVector<Value> turn(Dim t, Value state);
  LogicalResult give(Value outputs, Value present);
  /// The rows [B, N, H] of token t.
  Value rowsOf(Value all, Dim t) { return b.squeeze(b.sliceAxis(all, 0, t, b.dim(1)), {0}); }
  Value operand(Operand o, Dim heads) { return byToken(b, b.cast(c.in(o), wide), heads); }

  NodeContext &c;
  PrimBuilder &b;
  Type wide;
  int64_t queryHeads = 0, heads = 0, window = 0;
  Dim tokens, batch;
  Value q, k, v; ///< [T, B, N, group, H], then [T, B, N, H] with the state's heads
  Value decay;   ///< its exponential [T, B, N, H or 1], or null
  Value beta;    ///< [T, B, N, 1], or null
  Value state;   ///< [B, N, H, V]
  double scale = 0;
};

} // namespace

LogicalResult LinearAttention::readOperands() {
  queryHeads = c.intAttr("q_num_heads", 0);
  heads = c.intAttr("kv_num_heads", 0);
  window = c.intAttr("state_window", 0);
  std::string rule = c.stringAttr("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta", corrects = rule.find("delta") != rule.npos;
  if (rule != "linear" && rule != "delta" && !gated)
    return c.fail("has an unknown 'update_rule'");
  if (queryHeads < 1 || heads < 1 || (queryHeads % heads != 0 && heads % queryHeads != 0))
    return c.fail("needs 'q_num_heads' and 'kv_num_heads' of which one divides the other");
  if (window < 0 || window > 8)
    return c.fail("needs a 'state_window' from 0 to 8");
  if ((gated && !c.has(kDecay)) || (corrects && !c.has(kBeta)))
    return c.fail("needs a decay and a beta where its 'update_rule' uses them");
  for (Operand o : {kQuery, kKey, kValue, kDecay, kBeta})
    if (c.has(o) && b.rank(c.in(o)) != 3)
      return c.fail("needs operands of rank 3");
  batch = b.dim(c.in(kQuery), 0);
  tokens = b.dim(c.in(kQuery), 1);
  for (Operand o : {kKey, kValue, kDecay, kBeta}) {
    if (!c.has(o))
      continue;
    requireSame(b, b.dim(c.in(o), 0), batch, "LinearAttention: the batch");
    requireSame(b, b.dim(c.in(o), 1), tokens, "LinearAttention: the tokens");
  }
  Dim each = b.dim(heads);
  q = operand(kQuery, b.dim(queryHeads));
  Dim width = b.dim(q, 3);
  requireDivisor(b, b.dim(c.in(kKey), 2), width);
  // Keys may have fewer heads than values.
  Dim keyHeads = b.floorDivDims(b.dim(c.in(kKey), 2), width);
  requireDivisor(b, each, keyHeads);
  k = repeated(b, operand(kKey, keyHeads), b.floorDivDims(each, keyHeads));
  v = operand(kValue, each);
  q = repeated(b, q, b.dim(std::max<int64_t>(1, heads / queryHeads)));
  q = b.reshape(q, {tokens, batch, each, b.dim(std::max<int64_t>(1, queryHeads / heads)), width});
  k = b.reshape(k, {tokens, batch, each, width});
  if (gated)
    decay = b.exp(operand(kDecay, each));
  if (corrects) {
    Dim rates = b.dim(c.in(kBeta), 2);
    auto one = b.known(rates);
    if (!one || (*one != 1 && *one != heads))
      return c.fail("needs a beta for each head, or one");
    beta = operand(kBeta, rates);
  }
  scale = c.floatAttr("scale", 0);
  if (scale == 0) {
    auto known = b.known(width);
    if (!known)
      return c.fail("needs a 'scale', or queries whose width is known");
    scale = 1 / std::sqrt(static_cast<double>(*known));
  }
  return readState();
}

LogicalResult LinearAttention::readState() {
  Dims shape = {batch, b.dim(heads), b.dim(k, 3), b.dim(v, 3)};
  if (!c.has(kPast)) {
    state = b.full(shape, 0, wide);
    return success();
  }
  state = b.cast(c.in(kPast), wide);
  if (b.rank(state) != (window ? 5 : 4))
    return c.fail("needs a past_state of rank " + llvm::Twine(window ? 5 : 4));
  if (window) {
    requireSame(b, b.dim(state, 0), b.dim(window), "LinearAttention: the window of past_state");
    state = rowsOf(state, b.dim(window - 1));
  }
  for (int64_t axis = 0; axis < 4; ++axis)
    requireSame(b, b.dim(state, axis), shape[axis], "LinearAttention: past_state");
  state = b.reshape(state, shape);
  return success();
}

/// The next state, and what token t reads from it [B, N, group, V].
SmallVector<Value> LinearAttention::turn(Dim t, Value s) {
  if (decay)
    s = b.mul(s, b.unsqueeze(rowsOf(decay, t), {3}));
  Value key = rowsOf(k, t), change = rowsOf(v, t);
  if (beta) {
    Value held = b.dot(s, key, {0, 1}, {0, 1}, {2}, {2});
    change = b.mul(rowsOf(beta, t), b.sub(change, held));
  }
  s = b.add(s, b.mul(b.unsqueeze(key, {3}), b.unsqueeze(change, {2})));
  Value read = b.dot(rowsOf(q, t), s, {0, 1}, {0, 1}, {3}, {2});
  return {s, b.mul(read, scale)};
}

/// From [T, B, N, group, V].
LogicalResult LinearAttention::give(Value outputs, Value present) {
  Dims d = b.dims(outputs);
  Value byBatch = b.transpose(outputs, {1, 0, 2, 3, 4});
  Dim width = b.mulDims(b.mulDims(d[2], d[3]), d[4]);
  if (c.numResults() > 1) {
    Type own = c.has(kPast) ? b.elem(c.in(kPast)) : b.elem(c.in(kQuery));
    (void)c.give(1, b.cast(present, own));
  }
  return c.give(b.cast(b.reshape(byBatch, {d[1], d[0], width}), b.elem(c.in(kQuery))));
}

LogicalResult LinearAttention::run() {
  if (failed(readOperands()))
    return failure();
  Dims shape = b.dims(state), windowed = {b.dim(std::max<int64_t>(window, 1))};
  windowed.append(shape);
  // The states after the last tokens, the newest last.
  auto pushed = [&](Value states, Value s) {
    s = b.unsqueeze(s, {0});
    return window < 2 ? s : b.concat({b.sliceAxis(states, 0, b.dim(1), b.dim(window - 1)), s}, 0);
  };
  auto presented = [&](Value states) { return window ? states : b.squeeze(states, {0}); };
  Value none = b.full(windowed, 0, wide);
  if (b.known(tokens) == 1) {
    SmallVector<Value> next = turn(b.dim(0), state);
    return give(b.unsqueeze(next[1], {0}), presented(pushed(none, next[0])));
  }
  Dims row = b.dims(q);
  row.back() = b.dim(v, 3);
  SmallVector<Value> inits = {b.indexValue(b.dim(0)), state, b.full(row, 0, wide)};
  if (window)
    inits.push_back(none);
  auto body = [&](ValueRange carried) -> std::optional<SmallVector<Value>> {
    // A loop carries unknown extents as `?`: these are those of the operands.
    SmallVector<Value> next = turn(carried[0], b.reshape(carried[1], shape));
    Dims at(5, b.dim(0));
    at[0] = carried[0];
    SmallVector<Value> values = {b.indexValue(b.addDims(carried[0], b.dim(1))), next[0],
                                 b.insertSlice(carried[2], b.unsqueeze(next[1], {0}), at)};
    if (window)
      values.push_back(pushed(b.reshape(carried[3], windowed), next[0]));
    return values;
  };
  auto results =
      b.loop(inits, [&](ValueRange x) { return b.compareDims(Cmp::slt, x[0], tokens); }, body);
  if (!results)
    return c.fail("the state changes its shape");
  return give(b.reshape((*results)[2], row), window ? (*results)[3] : (*results)[1]);
}

static LogicalResult linearAttention(NodeContext &c) { return LinearAttention(c).run(); }

/// input, weight [C, 1, K], bias, past_state: each channel's own convolution, of which position t
/// sees what lies before it alone. The state is what the next call sees before its first position.
static LogicalResult causalConv(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value input = c.in(0), w = c.in(1);
  bool last = c.intAttr("channels_last", 0) != 0;
  int64_t dilation = c.intAttr("dilation", 1), window = c.intAttr("state_window", 0);
  std::string activation = c.stringAttr("activation", "none");
  if (c.intAttr("ndim", 1) != 1 || b.rank(w) != 3)
    return c.fail("more than one spatial axis is not supported");
  if (last ? b.rank(input) < 3 : b.rank(input) != 3)
    return c.fail("needs an input of rank 3");
  if (dilation < 1 || window < 0 || window > 8)
    return c.fail("needs a positive 'dilation' and a 'state_window' from 0 to 8");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return c.fail("has an unknown activation");
  Type own = b.elem(input), wide = wideType(own);
  auto channels = b.known(b.dim(w, 0)), taps = b.known(b.dim(w, 2));
  if (!channels || !taps || *taps < 1)
    return c.fail("needs a weight whose shape is known");
  // [.., B, L, C..] as [.., B, C, L] and back, for what has positions.
  Dims given = b.dims(input);
  SmallVector<Dim> features(given.begin() + (last ? 2 : 1), last ? given.end() : given.begin() + 2);
  auto first = [&](Value x, int64_t before) {
    if (!last)
      return x;
    Dims d = b.dims(x);
    requireSame(b, b.productOf(ArrayRef(d).drop_front(before + 2)), b.dim(*channels),
                "CausalConvWithState: the channels");
    d.resize(before + 2);
    d.push_back(b.dim(*channels));
    SmallVector<int64_t> order = allAxes(before + 3);
    std::swap(order[before + 1], order[before + 2]);
    return b.transpose(b.reshape(x, d), order);
  };
  auto back = [&](Value x, int64_t before) {
    if (!last)
      return x;
    SmallVector<int64_t> order = allAxes(before + 3);
    std::swap(order[before + 1], order[before + 2]);
    Value turned = b.transpose(x, order);
    Dims d = b.dims(turned);
    d.pop_back();
    d.append(features.begin(), features.end());
    return b.reshape(turned, d);
  };
  requireSame(b, b.productOf(features), b.dim(*channels), "CausalConvWithState: the channels");
  Value x = first(input, 0);
  Dim batch = b.dim(x, 0), length = b.dim(x, 2), held = b.dim((*taps - 1) * dilation);
  Dims stateShape = {batch, b.dim(*channels), held};
  Value state = b.full(stateShape, 0, own);
  if (c.has(3)) {
    state = c.in(3);
    if (b.rank(state) != (last ? b.rank(input) : 3) + (window ? 1 : 0))
      return c.fail("past_state has another rank than the input and the window say");
    if (window) {
      requireSame(b, b.dim(state, 0), b.dim(window), "CausalConvWithState: the window");
      state = b.squeeze(b.sliceAxis(state, 0, b.dim(window - 1), b.dim(1)), {0});
    }
    state = first(state, 0);
    for (int64_t axis = 0; axis < 3; ++axis)
      requireSame(b, b.dim(state, axis), stateShape[axis], "CausalConvWithState: past_state");
    state = b.reshape(state, stateShape);
  }
  Value all = b.concat({state, x}, 2);
  PrimBuilder::Window shape{{*taps}, {1}, {dilation}, {1}, {0}, {0}};
  Value y = b.conv(all, w, shape, *channels, wide);
  if (c.has(2))
    y = b.add(y, alongAxis(b, b.cast(c.in(2), wide), 1, 3));
  if (activation != "none")
    y = b.mul(y, b.logistic(y));
  y = b.reshape(y, b.dims(x));
  if (c.numResults() > 1 && !window)
    (void)c.give(1, back(b.sliceAxis(all, 2, length, held), 0));
  if (c.numResults() > 1 && window) {
    // Slot j has what lies before position length - window + j + 1; zeros where there is none.
    SmallVector<Value> slots;
    for (int64_t j = 0; j < window; ++j) {
      Dim end = b.addDims(length, b.dim(j + 1 - window));
      Dim start = b.maxDims(end, b.dim(0));
      Value slot = b.sliceAxis(all, 2, start, held);
      Dim is = b.compareDims(Cmp::sgt, end, b.dim(0));
      if (b.known(is) == 0)
        slot = b.full(stateShape, 0, own);
      else if (!b.known(is)) {
        Value flag = scalarOf(b, b.selectDims(is, b.dim(1), b.dim(0)), b.builder().getI64Type());
        slot = b.select(b.compare(P::ne, flag, 0.0), slot, b.scalar(0, own));
      }
      slots.push_back(b.unsqueeze(slot, {0}));
    }
    (void)c.give(1, back(b.concat(slots, 0), 1));
  }
  return c.give(b.cast(back(y, 0), own));
}

/// a, dt_bias, decay_scale, b: what LinearAttention takes as decay and beta.
static LogicalResult linearAttentionGate(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0));
  Value x = b.add(widen(b, c.in(0)), b.cast(c.in(1), wideType(own)));
  // softplus: max(x, 0) + log(1 + exp(-|x|))
  Value soft = b.add(b.maximum(x, 0.0), b.unary<prim::Log1pOp>(b.exp(b.neg(b.abs(x)))));
  if (c.numResults() > 1) {
    if (!c.has(3))
      return c.fail("needs an operand b for its second result");
    (void)c.give(1, b.cast(b.logistic(widen(b, c.in(3))), own));
  }
  return c.give(b.cast(b.mul(soft, b.cast(c.in(2), b.elem(soft))), own));
}

/// X, scale [C], gate: each C features by the root of their mean square, times the gate's
/// activation.
static LogicalResult gatedRmsNorm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0)), gate = widen(b, c.in(2));
  std::string activation = c.stringAttr("activation", "silu");
  if (b.rank(x) < 1 || b.rank(c.in(1)) != 1)
    return c.fail("needs features and a scale of rank 1");
  Dims have = b.dims(x), split = have;
  Dim width = b.dim(c.in(1), 0);
  split.back() = wholeQuotient(b, have.back(), width, "features and scale");
  split.push_back(width);
  Value grouped = b.reshape(x, split);
  Standardized s = scaleByRms(b, grouped, b.rank(grouped) - 1, c.floatAttr("epsilon", 1e-5));
  Value y = b.reshape(b.mul(s.value, b.cast(c.in(1), b.elem(x))), have);
  Value opened = b.logistic(gate);
  if (activation == "silu" || activation == "swish")
    opened = b.mul(gate, opened);
  else if (activation != "sigmoid")
    return c.fail("has an unknown activation");
  return c.give(b.cast(b.mul(y, opened), b.elem(c.in(0))));
}

void tcc::populateOnnxLinearAttentionRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"LinearAttention", linearAttention},
      {"LinearAttentionGate", linearAttentionGate},
      {"CausalConvWithState", causalConv},
      {"GatedRMSNorm", gatedRmsNorm}};
  for (auto [op, rule] : kTable)
    rules.add("com.microsoft", op, rule);
}
