//===- Recurrent.cpp - ATen's LSTM, GRU and RNN ---------------------------===//
//
// Networks are layers of ONNX's operators, whose rule loops over time; the gates
// of the weights are put into ONNX's order. `params` holds, for each layer and
// direction, the weights of the input and of the state, then both biases.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/ProjectedLstm.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

struct Kind {
  StringRef onnx;
  SmallVector<int64_t> gates; ///< torch's number of each of ONNX's gates
  StringRef activation;       ///< of an RNN
  int64_t states() const { return onnx == "LSTM" ? 2 : 1; }
};
Kind lstmKind() { return {"LSTM", {0, 3, 1, 2}, ""}; }
Kind gruKind() { return {"GRU", {1, 0, 2}, ""}; }
Kind rnnKind(StringRef activation) { return {"RNN", {0}, activation}; }

/// The gates, stacked along axis 0, in ONNX's order.
Value inOnnxOrder(PrimBuilder &b, Value stacked, const Kind &kind) {
  if (kind.gates.size() == 1)
    return stacked;
  Dim hidden = b.floorDivDims(b.dim(stacked, 0), b.dim(kind.gates.size()));
  SmallVector<Value> parts;
  for (int64_t gate : kind.gates)
    parts.push_back(b.sliceAxis(stacked, 0, b.mulDims(hidden, b.dim(gate)), hidden));
  return b.concat(parts, 0);
}

Value stack(PrimBuilder &b, ArrayRef<Value> values) {
  SmallVector<Value> parts;
  for (Value v : values)
    parts.push_back(b.unsqueeze(v, {0}));
  return b.concat(parts, 0);
}

struct Layer {
  Value x;                   ///< [T, B, I]
  SmallVector<Value> states; ///< each [directions, B, H]
};

/// One layer, all directions; `params` are those of the layer.
LogicalResult runLayer(AtenNode &a, const Kind &kind, Layer &layer, ArrayRef<Value> params,
                       int64_t directions, bool biases) {
  PrimBuilder &b = a.b;
  int64_t each = biases ? 4 : 2;
  SmallVector<Value> w, r, both;
  for (int64_t d = 0; d < directions; ++d) {
    ArrayRef<Value> own = params.slice(d * each, each);
    for (auto [i, v] : llvm::enumerate(own))
      if (!v || b.rank(v) != (i < 2 ? 2 : 1))
        return a.fail("a parameter has the wrong rank");
    w.push_back(inOnnxOrder(b, own[0], kind));
    r.push_back(inOnnxOrder(b, own[1], kind));
    if (biases)
      both.push_back(b.concat({inOnnxOrder(b, own[2], kind), inOnnxOrder(b, own[3], kind)}, 0));
  }
  SmallVector<Value> operands = {layer.x, stack(b, w), stack(b, r),
                                 biases ? stack(b, both) : Value(), Value()};
  operands.append(layer.states);
  SmallVector<NamedAttribute> attrs = {
      a.attribute("direction", directions == 2 ? "bidirectional" : "forward"),
      a.attribute("linear_before_reset", 1)};
  if (kind.activation != "") {
    SmallVector<StringRef> names(directions, kind.activation);
    attrs.push_back(b.builder().getNamedAttr("activations", b.builder().getStrArrayAttr(names)));
  }
  auto results = a.onnx(kind.onnx, operands, attrs, 1 + kind.states());
  if (failed(results))
    return failure();
  // [T, directions, B, H] as [T, B, directions * H].
  Value y = b.transpose((*results)[0], {0, 2, 1, 3});
  Dims shape = b.dims(y);
  layer.x = b.reshape(y, {shape[0], shape[1], b.mulDims(shape[2], shape[3])});
  layer.states.assign(results->begin() + 1, results->end());
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
  bool projected = kind.onnx == "LSTM" && count == layers * (each + directions);
  if (projected)
    each += directions;
  if (layers < 1 || count != layers * each)
    return a.fail("has " + llvm::Twine(count) + " parameters");
  if (static_cast<int64_t>(initial.size()) != kind.states() ||
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
  if (b.rank(x) != 2 || static_cast<int64_t>(states.size()) != kind.states() ||
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

} // namespace

void tcc::populateAtenRecurrentRules(RuleSet &rules) {
  addRules(
      rules,
      {{"lstm", "input", "input", [](AtenNode &a) { return network(a, lstmKind()); }},
       {"gru", "input", "input hx", [](AtenNode &a) { return network(a, gruKind()); }},
       {"rnn_tanh", "input", "input hx", [](AtenNode &a) { return network(a, rnnKind("Tanh")); }},
       {"rnn_relu", "input", "input hx", [](AtenNode &a) { return network(a, rnnKind("Relu")); }},
       {"lstm_cell", "default", "input", [](AtenNode &a) { return cell(a, lstmKind()); }},
       {"gru_cell", "default", "input hx", [](AtenNode &a) { return cell(a, gruKind()); }},
       {"rnn_tanh_cell", "default", "input hx",
        [](AtenNode &a) { return cell(a, rnnKind("Tanh")); }},
       {"rnn_relu_cell", "default", "input hx",
        [](AtenNode &a) { return cell(a, rnnKind("Relu")); }}});
}
