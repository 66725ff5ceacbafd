//===- BackwardRecurrent.cpp - The gradient of an LSTM layer --------------===//
//
// The outputs are known, so all turns' gates are one product; a first loop over time gives the
// cells from them, a second one, from the end, the gradients of the gates. Those of the weights and
// of the input are products of all turns again, behind it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/MkldnnLayer.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;
using K = prim::ReduceKind;

namespace {

/// A layer [T, B, H]; turn `i` is at i from its beginning, or from its end.
struct Time {
  PrimBuilder &b;
  Dim turns, batch, hidden;
  bool backwards;

  Dim at(Value i) const { return backwards ? b.subDims(b.subDims(turns, b.dim(1)), i) : Dim(i); }
  Value row(Value all, Value i) const {
    return b.squeeze(b.sliceAxis(all, 0, at(i), b.dim(1)), {0});
  }
  Value withRow(Value all, Value i, Value row) const {
    return b.insertSlice(all, b.unsqueeze(row, {0}), {at(i), b.dim(0), b.dim(0)});
  }
  /// What each turn of `all` follows, `first` ([B, H]) for the first one.
  Value before(Value all, Value first) const {
    Dim others = b.subDims(turns, b.dim(1));
    Value begin = b.unsqueeze(first, {0}),
          rest = b.sliceAxis(all, 0, backwards ? b.dim(1) : b.dim(0), others);
    return backwards ? b.concat({rest, begin}, 0) : b.concat({begin, rest}, 0);
  }
  /// The last values of `states` ([B, H] each), and the [T, B, count * H] that `turn` gives a row
  /// of.
  std::optional<SmallVector<Value>>
  walk(ArrayRef<Value> states, int64_t count,
       function_ref<std::pair<SmallVector<Value>, Value>(Value, ArrayRef<Value>)> turn) const {
    SmallVector<Value> inits = {b.indexValue(b.dim(0))};
    inits.append(states.begin(), states.end());
    inits.push_back(b.full({turns, batch, b.mulDims(hidden, b.dim(count))}, 0, b.elem(states[0])));
    auto results = b.loop(
        inits, [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], turns); },
        [&](ValueRange v) -> std::optional<SmallVector<Value>> {
          SmallVector<Value> old;
          for (Value s : v.drop_front().drop_back())
            old.push_back(b.reshape(s, {batch, hidden}));
          auto [next, row] = turn(v[0], old);
          SmallVector<Value> values = {b.indexValue(b.addDims(v[0], b.dim(1)))};
          values.append(next);
          values.push_back(withRow(v.back(), v[0], row));
          return values;
        });
    if (results)
      results->erase(results->begin());
    return results;
  }
};

Value sloped(PrimBuilder &b, Value g, Value logistic) {
  return b.mul(g, b.mul(logistic, b.sub(b.scalar(1, b.elem(logistic)), logistic)));
}
Value slopedTanh(PrimBuilder &b, Value g, Value tanh) {
  return b.mul(g, b.sub(b.scalar(1, b.elem(tanh)), b.mul(tanh, tanh)));
}

LogicalResult mkldnnLayer(AtenNode &a) {
  PrimBuilder &b = a.b;
  if (failed(checkMkldnnLayer(a)))
    return failure();
  Type wide = a.wide();
  auto read = [&](StringRef name) { return b.cast(a.tensor(name), wide); };
  Value x = read("input"), inputs = read("weight1"), recurrent = read("weight2"),
        y = read("output"), h = read("hx_"), c = read("cx_tmp");
  if (b.rank(y) != 3 || b.rank(inputs) != 2 || b.rank(recurrent) != 2)
    return a.fail("needs an output of rank 3 and weights of rank 2");
  Time time{b, b.dim(x, 0), b.dim(x, 1), b.dim(recurrent, 1), a.flag("reverse", false)};
  Dims states = b.dims(h), each = {time.batch, time.hidden};
  h = b.reshape(h, each), c = b.reshape(c, each);

  Value past = time.before(y, h);
  Value all = b.add(b.dot(x, inputs, {}, {}, {2}, {1}), b.dot(past, recurrent, {}, {}, {2}, {1}));
  if (a.flag("has_biases", true))
    all = b.add(all, b.add(read("weight3"), read("weight4")));
  auto part = [&](int64_t i) {
    return b.sliceAxis(all, 2, b.mulDims(time.hidden, b.dim(i)), time.hidden);
  };
  Value in = b.logistic(part(0)), forget = b.logistic(part(1)), candidate = b.tanh(part(2)),
        out = b.logistic(part(3)), added = b.mul(in, candidate);

  auto cells = time.walk({c}, 1, [&](Value i, ArrayRef<Value> state) {
    Value next = b.add(b.mul(time.row(forget, i), state[0]), time.row(added, i));
    return std::pair(SmallVector<Value>{next}, next);
  });
  if (!cells)
    return a.fail("the states change their shape");
  Value cell = cells->back(), activated = b.tanh(cell), older = time.before(cell, c);

  // What a gradient of the output or of the cell is multiplied by, for all turns.
  Value toCell = slopedTanh(b, out, activated);
  auto state = [&](StringRef name) {
    return a.has(name) ? b.reshape(read(name), each) : b.full(each, 0, wide);
  };
  Value outputs = a.has("grad_output") ? read("grad_output") : Value();
  Time back = time;
  back.backwards = !time.backwards;
  auto gates =
      back.walk({state("grad_hy"), state("grad_cy")}, 4, [&](Value i, ArrayRef<Value> next) {
        auto row = [&](Value of) { return back.row(of, i); };
        Value dh = outputs ? b.add(next[0], row(outputs)) : next[0];
        Value dc = b.add(next[1], b.mul(dh, row(toCell)));
        Value changes = b.concat({sloped(b, b.mul(dc, row(candidate)), row(in)),
                                  sloped(b, b.mul(dc, row(older)), row(forget)),
                                  slopedTanh(b, b.mul(dc, row(in)), row(candidate)),
                                  sloped(b, b.mul(dh, row(activated)), row(out))},
                                 1);
        return std::pair(
            SmallVector<Value>{b.dot(changes, recurrent, {}, {}, {1}, {0}), b.mul(dc, row(forget))},
            changes);
      });
  if (!gates)
    return a.fail("the states change their shape");
  Value changes = gates->back(), biases = b.reduce(K::sum, changes, {0, 1}, false);
  Value results[] = {b.dot(changes, inputs, {}, {}, {2}, {0}),
                     b.dot(changes, x, {}, {}, {0, 1}, {0, 1}),
                     b.dot(changes, past, {}, {}, {0, 1}, {0, 1}),
                     biases,
                     biases,
                     b.reshape((*gates)[0], states),
                     b.reshape((*gates)[1], states)};
  for (auto [i, v] : llvm::enumerate(results))
    (void)a.give(i, v);
  return success();
}

} // namespace

void tcc::populateAtenBackwardRecurrentRules(RuleSet &rules) {
  addRules(rules, {{"mkldnn_rnn_layer_backward", "default",
                    "input weight1 weight2 weight3 weight4 hx_ cx_tmp output", mkldnnLayer}});
}
