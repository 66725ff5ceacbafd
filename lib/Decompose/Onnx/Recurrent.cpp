//===- Recurrent.cpp - RNN, GRU, LSTM --------------------------------------===//
//
// Each direction is a prim.while over time. What does not depend on the state,
// the product of all inputs with W and the biases, is one large prim.dot before
// it; a turn adds the product of the state with R, applies the gates and writes
// its output. With sequence lengths, a sequence that has ended keeps its state
// and outputs 0; walking backwards it keeps its first state until it begins.
//
// ONNX Runtime's DynamicQuantizeLSTM has 8-bit weights and rounds the inputs, and
// each turn the state, to 8 bits of their own range; their products are of integers.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;
using P = prim::ComparePredicate;

namespace {

struct ActivationSpec {
  std::string name; ///< in lower case
  double alpha = 0, beta = 0;
};

Value activate(PrimBuilder &b, const ActivationSpec &f, Value x) {
  StringRef n = f.name;
  if (n == "tanh")
    return b.tanh(x);
  if (n == "sigmoid")
    return b.logistic(x);
  if (n == "relu")
    return b.maximum(x, 0.0);
  if (n == "affine")
    return b.add(b.mul(x, f.alpha), f.beta);
  if (n == "leakyrelu")
    return b.select(b.compare(P::lt, x, 0.0), b.mul(x, f.alpha), x);
  if (n == "thresholdedrelu")
    return b.select(b.compare(P::gt, x, f.alpha), x, b.scalar(0, b.elem(x)));
  if (n == "scaledtanh")
    return b.mul(b.tanh(b.mul(x, f.beta)), f.alpha);
  if (n == "hardsigmoid")
    return b.minimum(b.maximum(b.add(b.mul(x, f.alpha), f.beta), 0.0), 1.0);
  if (n == "elu")
    return b.select(b.compare(P::gt, x, 0.0), x, b.mul(b.unary<prim::Expm1Op>(x), f.alpha));
  if (n == "softsign")
    return b.div(x, b.add(b.abs(x), 1.0));
  if (n == "softplus")
    return b.add(b.maximum(x, 0.0), b.unary<prim::Log1pOp>(b.exp(b.neg(b.abs(x)))));
  return {};
}

/// `activations` with alphas and betas dealt out in order to those that take them.
FailureOr<SmallVector<ActivationSpec>> activationSpecs(NodeContext &c, ArrayRef<StringRef> defaults,
                                                       int64_t directions) {
  struct Defaults {
    std::optional<double> alpha, beta;
  };
  static const llvm::StringMap<Defaults> kKnown = {{"tanh", {}},
                                                   {"sigmoid", {}},
                                                   {"relu", {}},
                                                   {"softsign", {}},
                                                   {"softplus", {}},
                                                   {"affine", {1.0, 0.0}},
                                                   {"elu", {1.0, {}}},
                                                   {"leakyrelu", {0.01, {}}},
                                                   {"thresholdedrelu", {1.0, {}}},
                                                   {"scaledtanh", {1.0, 1.0}},
                                                   {"hardsigmoid", {0.2, 0.5}}};
  SmallVector<std::string> names;
  if (auto given = dyn_cast_or_null<ArrayAttr>(c.attr("activations"))) {
    for (Attribute name : given)
      names.push_back(isa<StringAttr>(name) ? cast<StringAttr>(name).getValue().lower() : "");
  } else {
    for (int64_t d = 0; d < directions; ++d)
      for (StringRef name : defaults)
        names.push_back(name.str());
  }
  if (names.size() != defaults.size() * directions)
    return c.fail("'activations' needs " + llvm::Twine(defaults.size() * directions) + " names");
  auto alphas = c.floatsAttr("activation_alpha"), betas = c.floatsAttr("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  SmallVector<ActivationSpec> specs;
  for (const std::string &name : names) {
    auto known = kKnown.find(name);
    if (known == kKnown.end())
      return c.fail("has an unknown activation");
    auto deal = [](const std::optional<double> &otherwise, auto &list, size_t &next) {
      if (!otherwise)
        return 0.0;
      return list && next < list->size() ? (*list)[next++] : *otherwise;
    };
    const Defaults &d = known->second;
    double alpha = deal(d.alpha, alphas, nextAlpha), beta = deal(d.beta, betas, nextBeta);
    specs.push_back({name, alpha, beta});
  }
  return specs;
}

/// The weight of a product with rows of states or inputs: wide [columns, depth], or 8-bit
/// [depth, columns] with a scale and a zero point (null: 0), one or for each column.
struct ProductWeight {
  Value value, scale, zero;

  Value times(PrimBuilder &b, const Quantized &x) const {
    Value product = b.cast(integerProduct(b, x.value, value, x.zero, zero), b.elem(x.scale));
    return b.mul(product, b.mul(scale, x.scale));
  }
  Value times(PrimBuilder &b, Value x) const {
    return scale ? times(b, quantizeDynamically(b, x))
                 : b.dot(x, value, {}, {}, {b.rank(x) - 1}, {1});
  }
  /// Columns [first, first + count), which of 8-bit weights are all.
  ProductWeight columns(PrimBuilder &b, Dim first, Dim count) const {
    return scale ? *this : ProductWeight{b.sliceAxis(value, 0, first, count), {}, {}};
  }
};

/// The weights of one direction and what the gates need to know.
struct Direction {
  PrimBuilder &b;
  ArrayRef<ActivationSpec> f;
  ProductWeight r;     ///< gates * H columns
  Value recurrentBias; ///< [gates * H] or null
  Value peephole;      ///< [3 * H] or null
  Dim hidden;
  double clip = 0;
  bool inputForget = false, linearBeforeReset = false;

  Value act(size_t i, Value x) const {
    if (clip > 0)
      x = b.minimum(b.maximum(x, -clip), clip);
    return activate(b, f[i], x);
  }
  /// Gate i of [B, gates * H].
  Value gate(Value all, int64_t i) const {
    return b.sliceAxis(all, b.rank(all) - 1, b.mulDims(hidden, b.dim(i)), hidden);
  }
  Value rows(Value all, int64_t first, int64_t count) const {
    return b.sliceAxis(all, 0, b.mulDims(hidden, b.dim(first)), b.mulDims(hidden, b.dim(count)));
  }
  /// h times the columns of gates [first, first + count) of R.
  Value product(Value h, int64_t first, int64_t count) const {
    return r.columns(b, b.mulDims(hidden, b.dim(first)), b.mulDims(hidden, b.dim(count)))
        .times(b, h);
  }
};

/// The next state from what X W gives for this turn: [h] or [h, cell].
using Cell = SmallVector<Value> (*)(const Direction &, Value x, ValueRange state);

SmallVector<Value> rnnCell(const Direction &d, Value x, ValueRange state) {
  return {d.act(0, d.b.add(x, d.product(state[0], 0, 1)))};
}

/// Gates z, r, h.
SmallVector<Value> gruCell(const Direction &d, Value x, ValueRange state) {
  PrimBuilder &b = d.b;
  Value h = state[0];
  Value zr = b.add(b.sliceAxis(x, 1, b.dim(0), b.mulDims(d.hidden, b.dim(2))), d.product(h, 0, 2));
  Value z = d.act(0, d.gate(zr, 0)), reset = d.act(0, d.gate(zr, 1));
  Value recurrent;
  if (d.linearBeforeReset) {
    recurrent = d.product(h, 2, 1);
    if (d.recurrentBias)
      recurrent = b.add(recurrent, d.rows(d.recurrentBias, 2, 1));
    recurrent = b.mul(reset, recurrent);
  } else {
    recurrent = d.product(b.mul(reset, h), 2, 1);
  }
  Value candidate = d.act(1, b.add(d.gate(x, 2), recurrent));
  // (1 - z) candidate + z h
  return {b.add(candidate, b.mul(z, b.sub(h, candidate)))};
}

/// Gates i, o, f, c; peepholes i, o, f.
SmallVector<Value> lstmCell(const Direction &d, Value x, ValueRange state) {
  PrimBuilder &b = d.b;
  Value cell = state[1];
  Value all = b.add(x, d.product(state[0], 0, 4));
  auto peep = [&](Value gate, int64_t i, Value of) {
    return d.peephole ? b.add(gate, b.mul(d.rows(d.peephole, i, 1), of)) : gate;
  };
  Value in = d.act(0, peep(d.gate(all, 0), 0, cell));
  Value forget =
      d.inputForget ? b.sub(b.scalar(1, b.elem(in)), in) : d.act(0, peep(d.gate(all, 2), 2, cell));
  Value next = b.add(b.mul(forget, cell), b.mul(in, d.act(1, d.gate(all, 3))));
  Value out = d.act(0, peep(d.gate(all, 1), 1, next));
  return {b.mul(out, activate(b, d.f[2], next)), next};
}

struct Network {
  Cell cell;
  int64_t gates, states;
  SmallVector<StringRef> activations;
  bool quantized = false;
};

/// Everything the directions share.
struct Inputs {
  Value x;       ///< [T, B, I], wide
  Value lengths; ///< [B] or null
  Dim time, batch, hidden;
};

/// Runs one direction; gives [T, B, H] and the last states.
SmallVector<Value> runDirection(const Direction &d, const Network &n, const Inputs &in,
                                Value projected, SmallVector<Value> state, bool backwards) {
  PrimBuilder &b = d.b;
  Type index = b.builder().getI64Type();
  Value outputs = b.full({in.time, in.batch, in.hidden}, 0, b.elem(in.x));
  SmallVector<Value> inits = {b.indexValue(b.dim(0))};
  inits.append(state);
  inits.push_back(outputs);
  auto turn = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    Dim t = backwards ? b.subDims(b.subDims(in.time, b.dim(1)), v[0]) : Dim(v[0]);
    Value x = b.reshape(b.sliceAxis(projected, 0, t, b.dim(1)),
                        {in.batch, b.dim(projected, b.rank(projected) - 1)});
    // A loop carries unknown extents as `?`: these are the batch, so that all gates of
    // the turn have one shape and fuse.
    SmallVector<Value> old;
    for (Value s : v.slice(1, n.states))
      old.push_back(b.reshape(s, {in.batch, in.hidden}));
    SmallVector<Value> next = n.cell(d, x, old);
    Value output = next[0];
    if (in.lengths) {
      Value live = b.compare(P::lt, scalarOf(b, t, index), b.cast(in.lengths, index));
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
      b.loop(inits, [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], in.time); }, turn);
  if (!results)
    return {};
  SmallVector<Value> all = {results->back()};
  all.append(results->begin() + 1, results->end() - 1);
  return all;
}

/// Direction d of a [directions, ...] operand, wide, or null.
Value ofDirection(NodeContext &c, size_t i, int64_t d) {
  if (!c.has(i))
    return {};
  PrimBuilder &b = c.b;
  return b.squeeze(b.sliceAxis(widen(b, c.in(i)), 0, b.dim(d), b.dim(1)), {0});
}

/// Direction d of the weight in operand i, [gates * H, columns]. Integers come as
/// [columns, gates * H], with scales in operand `scale` and zero points after it.
FailureOr<ProductWeight> weightOf(NodeContext &c, const Network &n, size_t i, size_t scale,
                                  int64_t d) {
  PrimBuilder &b = c.b;
  if (!n.quantized)
    return ProductWeight{ofDirection(c, i, d), {}, {}};
  auto parameter = [&](size_t at) -> Value {
    if (!c.has(at) || b.rank(c.in(at)) < 1 || b.rank(c.in(at)) > 2)
      return {};
    Value v = b.sliceAxis(c.in(at), 0, b.dim(d), b.dim(1));
    return b.rank(v) == 2 ? b.squeeze(v, {0}) : b.reshape(v, ArrayRef<Dim>());
  };
  ProductWeight weight;
  weight.scale = parameter(scale);
  if (!weight.scale)
    return c.fail("lacks the scales of a weight");
  auto zeros = c.has(scale + 1) ? b.constantInts(c.in(scale + 1)) : std::nullopt;
  if (!zeros || llvm::any_of(*zeros, [](int64_t v) { return v != 0; }))
    weight.zero = parameter(scale + 1);
  weight.value = b.squeeze(b.sliceAxis(c.in(i), 0, b.dim(d), b.dim(1)), {0});
  return weight;
}

/// The biases that can be added before the loop: both, but for GRU's hidden gate
/// when its product is taken before the reset.
Value inputBias(Direction &d, Value both, int64_t gates) {
  if (!both)
    return {};
  PrimBuilder &b = d.b;
  Value input = d.rows(both, 0, gates), recurrent = d.rows(both, gates, gates);
  d.recurrentBias = recurrent;
  if (!d.linearBeforeReset)
    return b.add(input, recurrent);
  Value early = b.add(d.rows(input, 0, 2), d.rows(recurrent, 0, 2));
  return b.concat({early, d.rows(input, 2, 1)}, 0);
}

LogicalResult recurrent(NodeContext &c, const Network &n) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0)), wide = wideType(own);
  std::string way = c.stringAttr("direction", "forward");
  int64_t directions = way == "bidirectional" ? 2 : 1;
  bool batchFirst = c.intAttr("layout", 0);
  auto specs = activationSpecs(c, n.activations, directions);
  if (failed(specs))
    return failure();
  for (size_t i : {0, 1, 2})
    if (b.rank(c.in(i)) != 3)
      return c.fail("operand " + llvm::Twine(i) + " must have rank 3");
  for (size_t i : {1, 2})
    if (auto have = b.known(b.dim(c.in(i), 0)); have && *have != directions)
      return c.fail("the weight has " + llvm::Twine(*have) + " directions");
  Inputs in;
  in.x = b.cast(c.in(0), wide);
  if (batchFirst)
    in.x = b.transpose(in.x, {1, 0, 2});
  in.lengths = c.inOr(4, {});
  in.time = b.dim(in.x, 0);
  in.batch = b.dim(in.x, 1);
  in.hidden = b.dim(c.in(2), n.quantized ? 1 : 2);
  if (auto have = b.known(in.hidden); have && c.intAttr("hidden_size", *have) != *have)
    return c.fail("hidden_size is " + llvm::Twine(c.intAttr("hidden_size", 0)) +
                  ", but the weights are for " + llvm::Twine(*have));
  std::optional<Quantized> rounded;
  if (n.quantized)
    rounded = quantizeDynamically(b, in.x);
  SmallVector<Value> outputs;
  SmallVector<SmallVector<Value>> last(n.states);
  for (int64_t k = 0; k < directions; ++k) {
    auto w = weightOf(c, n, 1, 8, k), r = weightOf(c, n, 2, 10, k);
    if (failed(w) || failed(r))
      return failure();
    Direction d{b,
                ArrayRef(*specs).slice(k * n.activations.size(), n.activations.size()),
                *r,
                {},
                ofDirection(c, 7, k),
                in.hidden};
    d.clip = c.floatAttr("clip", 0);
    d.inputForget = c.intAttr("input_forget", 0);
    d.linearBeforeReset = c.intAttr("linear_before_reset", 0) && n.gates == 3;
    Value projected = rounded ? w->times(b, *rounded) : w->times(b, in.x);
    if (Value bias = inputBias(d, ofDirection(c, 3, k), n.gates))
      projected = b.add(projected, bias);
    SmallVector<Value> state;
    for (int64_t s = 0; s < n.states; ++s) {
      Value given = c.has(5 + s) ? b.cast(c.in(5 + s), wide) : Value();
      if (given && batchFirst)
        given = b.transpose(given, {1, 0, 2});
      if (given) {
        requireSame(b, b.dim(given, 1), in.batch, "initial state and input");
        requireSame(b, b.dim(given, 2), in.hidden, "initial state and weight");
      }
      state.push_back(given ? b.squeeze(b.sliceAxis(given, 0, b.dim(k), b.dim(1)), {0})
                            : b.full({in.batch, in.hidden}, 0, wide));
    }
    bool backwards = way == "reverse" || k == 1;
    SmallVector<Value> results = runDirection(d, n, in, projected, state, backwards);
    if (results.empty())
      return c.fail("the states change their shape");
    outputs.push_back(b.unsqueeze(results[0], {1})); // [T, 1, B, H]
    for (int64_t s = 0; s < n.states; ++s)
      last[s].push_back(b.unsqueeze(results[1 + s], {0}));
  }
  Value all = b.concat(outputs, 1);
  (void)c.give(0, b.cast(batchFirst ? b.transpose(all, {2, 0, 1, 3}) : all, own));
  for (int64_t s = 0; s < n.states && 1 + s < static_cast<int64_t>(c.numResults()); ++s) {
    Value state = b.concat(last[s], 0);
    (void)c.give(1 + s, b.cast(batchFirst ? b.transpose(state, {1, 0, 2}) : state, own));
  }
  return success();
}

} // namespace

void tcc::populateOnnxRecurrentRules(RuleSet &rules) {
  rules.add("onnx", "RNN", [](NodeContext &c) { return recurrent(c, {rnnCell, 1, 1, {"tanh"}}); });
  rules.add("onnx", "GRU",
            [](NodeContext &c) { return recurrent(c, {gruCell, 3, 1, {"sigmoid", "tanh"}}); });
  rules.add("onnx", "LSTM", [](NodeContext &c) {
    return recurrent(c, {lstmCell, 4, 2, {"sigmoid", "tanh", "tanh"}});
  });
  rules.add("com.microsoft", "DynamicQuantizeLSTM", [](NodeContext &c) {
    return recurrent(c, {lstmCell, 4, 2, {"sigmoid", "tanh", "tanh"}, true});
  });
}
