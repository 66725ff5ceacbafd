//===- Recurrent.cpp - RNN, GRU and LSTM over time ------------------------===//
//
// A prim.while over time. What does not depend on the state, the product of all inputs and the
// biases, is there before it; a turn adds the product with the state, applies the gates and writes
// its output. With sequence lengths, a sequence that has ended keeps its state and outputs 0;
// walking backwards it keeps its first state until it begins.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Recurrent.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;
using P = prim::ComparePredicate;

namespace {

/// What the turns of one direction share.
struct Turns {
  PrimBuilder &b;
  const RecurrentDirection &d;

  Value activate(size_t i, Value x) const { return d.activations[i](b, x); }
  Value gateValue(size_t i, Value x) const {
    if (d.clip > 0)
      x = b.minimum(b.maximum(x, -d.clip), d.clip);
    return activate(i, x);
  }
  /// Gate i of [B, gates * H].
  Value gate(Value all, int64_t i) const {
    int64_t place = d.places.empty() ? i : d.places[i];
    return b.sliceAxis(all, b.rank(all) - 1, b.mulDims(d.hidden, b.dim(place)), d.hidden);
  }
  Value rows(Value all, int64_t first, int64_t count) const {
    return b.sliceAxis(all, 0, b.mulDims(d.hidden, b.dim(first)),
                       b.mulDims(d.hidden, b.dim(count)));
  }
  Value product(Value state, int64_t first, int64_t count) const {
    return d.product(b, state, first, count);
  }

  SmallVector<Value> rnn(Value x, ValueRange state) const;
  SmallVector<Value> gru(Value x, ValueRange state) const;
  SmallVector<Value> lstm(Value x, ValueRange state) const;
  /// The next states from what the inputs give for this turn.
  SmallVector<Value> next(Value x, ValueRange state) const {
    switch (d.cell) {
    case RecurrentCell::Rnn:
      return rnn(x, state);
    case RecurrentCell::Gru:
      return gru(x, state);
    case RecurrentCell::Lstm:
      return lstm(x, state);
    }
    llvm_unreachable("all cells are handled above");
  }
  /// The biases that can be added before the loop: both, but for GRU's hidden gate
  /// when its product is taken before the reset.
  Value earlyBias() const;
};

} // namespace

SmallVector<Value> Turns::rnn(Value x, ValueRange state) const {
  return {gateValue(0, b.add(x, product(state[0], 0, 1)))};
}

SmallVector<Value> Turns::gru(Value x, ValueRange state) const {
  Value h = state[0];
  Value zr = b.add(b.sliceAxis(x, 1, b.dim(0), b.mulDims(d.hidden, b.dim(2))), product(h, 0, 2));
  Value z = gateValue(0, gate(zr, 0)), reset = gateValue(0, gate(zr, 1));
  Value recurrent;
  if (d.linearBeforeReset) {
    recurrent = product(h, 2, 1);
    if (d.stateBias)
      recurrent = b.add(recurrent, rows(d.stateBias, 2, 1));
    recurrent = b.mul(reset, recurrent);
  } else {
    recurrent = product(b.mul(reset, h), 2, 1);
  }
  Value candidate = gateValue(1, b.add(gate(x, 2), recurrent));
  // (1 - z) candidate + z h
  return {b.add(candidate, b.mul(z, b.sub(h, candidate)))};
}

SmallVector<Value> Turns::lstm(Value x, ValueRange state) const {
  Value cell = state[1];
  Value all = b.add(x, product(state[0], 0, 4));
  auto peep = [&](Value gate, int64_t i, Value of) {
    return d.peephole ? b.add(gate, b.mul(rows(d.peephole, i, 1), of)) : gate;
  };
  Value in = gateValue(0, peep(gate(all, 0), 0, cell));
  Value forget = d.inputForget ? b.sub(b.scalar(1, b.elem(in)), in)
                               : gateValue(0, peep(gate(all, 2), 2, cell));
  Value next = b.add(b.mul(forget, cell), b.mul(in, gateValue(1, gate(all, 3))));
  Value out = gateValue(0, peep(gate(all, 1), 1, next));
  return {b.mul(out, activate(2, next)), next};
}

Value Turns::earlyBias() const {
  if (!d.inputBias)
    return {};
  if (d.cell != RecurrentCell::Gru || !d.linearBeforeReset)
    return b.add(d.inputBias, d.stateBias);
  Value early = b.add(rows(d.inputBias, 0, 2), rows(d.stateBias, 0, 2));
  return b.concat({early, rows(d.inputBias, 2, 1)}, 0);
}

RecurrentDirection::StateProduct tcc::productWith(Value weights, Dim hidden) {
  return [=](PrimBuilder &b, Value state, int64_t first, int64_t count) {
    Value some =
        b.sliceAxis(weights, 0, b.mulDims(hidden, b.dim(first)), b.mulDims(hidden, b.dim(count)));
    return b.dot(state, some, {}, {}, {b.rank(state) - 1}, {1});
  };
}

SmallVector<Value> tcc::runRecurrent(PrimBuilder &b, RecurrentDirection d) {
  Turns turns{b, d};
  Type index = b.builder().getI64Type();
  if (Value bias = turns.earlyBias())
    d.projected = b.add(d.projected, bias);
  Dim time = b.dim(d.projected, 0), batch = b.dim(d.projected, 1);
  int64_t states = statesOf(d.cell);
  SmallVector<Value> inits = {b.indexValue(b.dim(0))};
  inits.append(d.states);
  inits.push_back(b.full({time, batch, d.hidden}, 0, b.elem(d.projected)));
  auto turn = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    Dim t = d.backwards ? b.subDims(b.subDims(time, b.dim(1)), v[0]) : Dim(v[0]);
    Value x = b.reshape(b.sliceAxis(d.projected, 0, t, b.dim(1)),
                        {batch, b.dim(d.projected, b.rank(d.projected) - 1)});
    // A loop carries unknown extents as `?`: these are the batch, so that all gates of
    // the turn have one shape and fuse.
    SmallVector<Value> old;
    for (Value s : v.slice(1, states))
      old.push_back(b.reshape(s, {batch, d.hidden}));
    SmallVector<Value> next = turns.next(x, old);
    Value output = next[0];
    if (d.lengths) {
      Value live = b.compare(P::lt, scalarOf(b, t, index), b.cast(d.lengths, index));
      live = b.unsqueeze(live, {1});
      output = b.select(live, output, b.scalar(0, b.elem(output)));
      for (auto [value, before] : llvm::zip(next, old))
        value = b.select(live, value, before);
    }
    SmallVector<Value> values = {b.indexValue(b.addDims(v[0], b.dim(1)))};
    values.append(next);
    values.push_back(b.insertSlice(v.back(), b.unsqueeze(output, {0}), {t, b.dim(0), b.dim(0)}));
    return values;
  };
  auto results =
      b.loop(inits, [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], time); }, turn);
  if (!results)
    return {};
  SmallVector<Value> all = {results->back()};
  all.append(results->begin() + 1, results->end() - 1);
  return all;
}
