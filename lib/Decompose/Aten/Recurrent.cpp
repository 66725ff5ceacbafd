//===- Recurrent.cpp - ATen's LSTM, GRU and RNN ---------------------------===//
//
// Networks are layers of directions of Idioms/Recurrent.h. `params` holds, for each layer and
// direction, the weights of the input and of the state, then both biases.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Recurrent.h"
#include "Decompose/AllRules.h"
#include "Decompose/Aten/MkldnnLayer.h"
#include "Decompose/Aten/ProjectedLstm.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

struct Kind {
  RecurrentCell cell;
  SmallVector<int64_t> places; ///< of Idioms/Recurrent.h's gates in torch's order
  bool relu = false;           ///< an RNN's activation, else tanh

  RecurrentDirection::Activation activation(size_t i) const {
    bool isGate = i == 0 && cell != RecurrentCell::Rnn;
    return [=, relu = relu](PrimBuilder &b, Value x) {
      return isGate ? b.logistic(x) : relu ? b.maximum(x, 0.0) : b.tanh(x);
    };
  }
  size_t states() const { return statesOf(cell); }
};
Kind lstmKind() { return {RecurrentCell::Lstm, {0, 3, 1, 2}}; }
Kind gruKind() { return {RecurrentCell::Gru, {1, 0, 2}}; }
Kind rnnKind(bool relu) { return {RecurrentCell::Rnn, {0}, relu}; }

Value stack(PrimBuilder &b, ArrayRef<Value> values) {
  SmallVector<Value> parts;
  for (Value v : values)
    parts.push_back(b.unsqueeze(v, {0}));
  return b.concat(parts, 0);
}

struct Layer {
  Value x;                   ///< [T, B, I]
  SmallVector<Value> states; ///< each [directions, B, H]
  bool backwards = false;    ///< its one direction walks from the end
};

/// One layer, all directions; `params` are those of the layer.
LogicalResult runLayer(AtenNode &a, const Kind &kind, Layer &layer, ArrayRef<Value> params,
                       int64_t directions, bool biases) {
  PrimBuilder &b = a.b;
  int64_t each = biases ? 4 : 2;
  Type own = b.elem(layer.x), wide = wideType(own);
  Value x = b.cast(layer.x, wide);
  SmallVector<Value> outputs;
  SmallVector<SmallVector<Value>> last(kind.states());
  for (int64_t k = 0; k < directions; ++k) {
    SmallVector<Value> weights;
    for (auto [i, v] : llvm::enumerate(params.slice(k * each, each))) {
      if (!v || b.rank(v) != (i < 2 ? 2 : 1))
        return a.fail("a parameter has the wrong rank");
      weights.push_back(b.cast(v, wide));
    }
    RecurrentDirection d;
    d.cell = kind.cell;
    d.projected = b.dot(x, weights[0], {}, {}, {2}, {1});
    d.hidden = b.dim(weights[1], 1);
    d.places = kind.places;
    d.product = productWith(weights[1], d.hidden);
    for (size_t i = 0; i < activationsOf(kind.cell); ++i)
      d.activations.push_back(kind.activation(i));
    for (Value v : layer.states) {
      requireSame(b, b.dim(v, 1), b.dim(x, 1), "initial state and input");
      requireSame(b, b.dim(v, 2), d.hidden, "initial state and weight");
      d.states.push_back(b.squeeze(b.sliceAxis(b.cast(v, wide), 0, b.dim(k), b.dim(1)), {0}));
    }
    if (biases) {
      d.inputBias = weights[2];
      d.stateBias = weights[3];
    }
    d.linearBeforeReset = true;
    d.backwards = layer.backwards || k == 1;
    SmallVector<Value> results = runRecurrent(b, std::move(d));
    if (results.empty())
      return a.fail("the states change their shape");
    outputs.push_back(b.cast(results[0], own));
    for (auto [list, state] : llvm::zip_equal(last, ArrayRef(results).drop_front()))
      list.push_back(b.cast(state, own));
  }
  layer.x = b.concat(outputs, 2);
  for (auto [state, list] : llvm::zip_equal(layer.states, last))
    state = stack(b, list);
  return success();
}

/// The same with projected states, direction by direction.
LogicalResult runProjectedLayer(AtenNode &a, Layer &layer, ArrayRef<Value> params,
                                int64_t directions) {
  PrimBuilder &b = a.b;
  int64_t each = params.size() / directions;
  SmallVector<Value> outputs, hs, cs;
  for (int64_t d = 0; d < directions; ++d) {
    auto initial = [&](Value v) { return b.squeeze(b.sliceAxis(v, 0, b.dim(d), b.dim(1)), {0}); };
    auto own = params.slice(d * each, each);
    if (llvm::is_contained(own, Value()))
      return a.fail("lacks a parameter");
    auto run =
        projectedLstm(b, layer.x, initial(layer.states[0]), initial(layer.states[1]), own, d == 1);
    if (!run)
      return a.fail("a parameter has the wrong rank");
    outputs.push_back(run->y);
    hs.push_back(run->h);
    cs.push_back(run->c);
  }
  layer.x = b.concat(outputs, 2);
  layer.states = {stack(b, hs), stack(b, cs)};
  return success();
}

LogicalResult network(AtenNode &a, const Kind &kind) {
  PrimBuilder &b = a.b;
  SmallVector<Value> params = a.tensors("params"), initial = a.tensors("hx");
  if (kind.states() == 1)
    initial = {a.tensor("hx")};
  int64_t layers = a.integer("num_layers", 1), directions = a.flag("bidirectional", false) ? 2 : 1;
  bool biases = a.flag("has_biases", true), batchFirst = a.flag("batch_first", false);
  if (a.flag("train", false) && a.real("dropout", 0) != 0)
    return a.fail("random dropout is not supported; export the model in eval()");
  int64_t each = directions * (biases ? 4 : 2);
  auto count = static_cast<int64_t>(params.size());
  bool projected = kind.cell == RecurrentCell::Lstm && count == layers * (each + directions);
  if (projected)
    each += directions;
  if (layers < 1 || count != layers * each)
    return a.fail("has " + llvm::Twine(count) + " parameters");
  if (initial.size() != kind.states() ||
      llvm::any_of(initial, [&](Value v) { return !v || b.rank(v) != 3; }))
    return a.fail("needs initial states of rank 3");
  Layer layer{a.tensor("input"), {}};
  if (b.rank(layer.x) != 3)
    return a.fail("needs an input of rank 3");
  if (batchFirst)
    layer.x = b.transpose(layer.x, {1, 0, 2});
  SmallVector<SmallVector<Value>> last(kind.states());
  for (int64_t i = 0; i < layers; ++i) {
    layer.states.clear();
    for (Value v : initial)
      layer.states.push_back(b.sliceAxis(v, 0, b.dim(i * directions), b.dim(directions)));
    auto own = ArrayRef(params).slice(i * each, each);
    if (failed(projected ? runProjectedLayer(a, layer, own, directions)
                         : runLayer(a, kind, layer, own, directions, biases)))
      return failure();
    for (auto [list, state] : llvm::zip(last, layer.states))
      list.push_back(state);
  }
  (void)a.give(0, batchFirst ? b.transpose(layer.x, {1, 0, 2}) : layer.x);
  for (auto [i, list] : llvm::enumerate(last))
    (void)a.give(1 + i, b.concat(list, 0));
  return success();
}

/// One step of a network, as a sequence of length 1.
LogicalResult cell(AtenNode &a, const Kind &kind) {
  PrimBuilder &b = a.b;
  SmallVector<Value> states = a.tensors("hx");
  if (kind.states() == 1)
    states = {a.tensor("hx")};
  Value x = a.tensor("input"), biasIn = a.tensor("b_ih"), biasState = a.tensor("b_hh");
  if (b.rank(x) != 2 || states.size() != kind.states() ||
      llvm::any_of(states, [&](Value v) { return !v || b.rank(v) != 2; }))
    return a.fail("needs operands of rank 2");
  Layer layer{b.unsqueeze(x, {0}), {}};
  for (Value v : states)
    layer.states.push_back(b.unsqueeze(v, {0}));
  SmallVector<Value> params = {a.tensor("w_ih"), a.tensor("w_hh")};
  if (biasIn && biasState)
    params.append({biasIn, biasState});
  if (failed(runLayer(a, kind, layer, params, 1, params.size() == 4)))
    return failure();
  for (auto [i, state] : llvm::enumerate(layer.states))
    (void)a.give(i, b.squeeze(state, {0}));
  return success();
}

/// oneDNN's layer of one direction, which the LSTM of a CPU is traced as. What it keeps for its
/// gradient nobody else reads, and BackwardRecurrent.cpp does without.
LogicalResult mkldnnLayer(AtenNode &a) {
  PrimBuilder &b = a.b;
  if (failed(checkMkldnnLayer(a)))
    return failure();
  Dims have = b.dims(a.tensor("hx_"));
  auto state = [&](StringRef name) {
    return b.reshape(a.tensor(name), {b.dim(1), have[have.size() - 2], have.back()});
  };
  Layer layer{a.tensor("input"), {state("hx_"), state("cx_")}, a.flag("reverse", false)};
  bool biases = a.flag("has_biases", true);
  SmallVector<Value> params = {a.tensor("weight0"), a.tensor("weight1")};
  if (biases)
    params.append({a.tensor("weight2"), a.tensor("weight3")});
  if (failed(runLayer(a, lstmKind(), layer, params, 1, biases)))
    return failure();
  (void)a.give(0, layer.x);
  for (size_t i : {0, 1})
    (void)a.give(1 + i, b.reshape(layer.states[i], have));
  if (auto kept = dyn_cast<RankedTensorType>(a.c.node.getResult(3).getType());
      kept && kept.hasStaticShape())
    (void)a.give(3, b.reshape(b.full({b.dim(kept.getNumElements())}, 0, kept.getElementType()),
                              kept.getShape()));
  return success();
}

} // namespace

LogicalResult aten::checkMkldnnLayer(AtenNode &a) {
  constexpr int64_t kLstm = 2;
  if (a.integer("mode", kLstm) != kLstm || !a.extents("batch_sizes").value_or(Dims()).empty())
    return a.fail("only LSTM layers of sequences of one length are supported");
  auto ranks = [&](StringRef name) { return a.b.rank(a.tensor(name)); };
  int64_t states = ranks("hx_");
  if (ranks("input") != 3 || (states != 2 && states != 3))
    return a.fail("needs an input of rank 3 and states of rank 2 or 3");
  return success();
}

void tcc::populateAtenRecurrentRules(RuleSet &rules) {
  addRules(
      rules,
      {{"lstm", "input", "input", [](AtenNode &a) { return network(a, lstmKind()); }},
       {"gru", "input", "input hx", [](AtenNode &a) { return network(a, gruKind()); }},
       {"rnn_tanh", "input", "input hx", [](AtenNode &a) { return network(a, rnnKind(false)); }},
       {"rnn_relu", "input", "input hx", [](AtenNode &a) { return network(a, rnnKind(true)); }},
       {"mkldnn_rnn_layer", "default", "input weight0 weight1 hx_ cx_", mkldnnLayer},
       {"lstm_cell", "default", "input", [](AtenNode &a) { return cell(a, lstmKind()); }},
       {"gru_cell", "default", "input hx", [](AtenNode &a) { return cell(a, gruKind()); }},
       {"rnn_tanh_cell", "default", "input hx",
        [](AtenNode &a) { return cell(a, rnnKind(false)); }},
       {"rnn_relu_cell", "default", "input hx",
        [](AtenNode &a) { return cell(a, rnnKind(true)); }}});
}
