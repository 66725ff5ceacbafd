//===- Recurrent.cpp - RNN, GRU, LSTM --------------------------------------===//
//
// Operands and attributes for Idioms/Recurrent.h, direction by direction: weights, biases and
// states come stacked, activations by name with parameters dealt out to those that take them.
//
// ONNX Runtime's DynamicQuantizeLSTM has 8-bit weights and rounds the inputs, and
// each turn the state, to 8 bits of their own range; their products are of integers.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Recurrent.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"

using namespace mlir;
using namespace tcc;
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
};

struct Layer {
  RecurrentCell cell;
  SmallVector<StringRef> activations;
  bool quantized = false;
};

/// Direction d of a [directions, ...] operand, wide, or null.
Value ofDirection(NodeContext &c, size_t i, int64_t d) {
  if (!c.has(i))
    return {};
  PrimBuilder &b = c.b;
  return b.squeeze(b.sliceAxis(widen(b, c.in(i)), 0, b.dim(d), b.dim(1)), {0});
}

/// Direction d of the weight in operand i, [gates * H, columns]. Integers come as
/// [columns, gates * H], with scales in operand `scale` and zero points after it.
FailureOr<ProductWeight> weightOf(NodeContext &c, const Layer &n, size_t i, size_t scale,
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

/// The first states of direction k.
SmallVector<Value> initialStates(NodeContext &c, const Layer &n, int64_t k, int64_t directions,
                                 Dim batch, Dim hidden, Type wide) {
  PrimBuilder &b = c.b;
  SmallVector<Value> states;
  for (int64_t s = 0; s < statesOf(n.cell); ++s) {
    Value given = c.has(5 + s) ? b.cast(c.in(5 + s), wide) : Value();
    if (given && c.intAttr("layout", 0))
      given = b.transpose(given, {1, 0, 2});
    if (given) {
      requireSame(b, b.dim(given, 0), b.dim(directions), "directions of the initial state");
      requireSame(b, b.dim(given, 1), batch, "initial state and input");
      requireSame(b, b.dim(given, 2), hidden, "initial state and weight");
    }
    states.push_back(given ? b.squeeze(b.sliceAxis(given, 0, b.dim(k), b.dim(1)), {0})
                           : b.full({batch, hidden}, 0, wide));
  }
  return states;
}

LogicalResult recurrent(NodeContext &c, const Layer &n) {
  PrimBuilder &b = c.b;
  Type own = b.elem(c.in(0)), wide = wideType(own);
  std::string way = c.stringAttr("direction", "forward");
  int64_t directions = way == "bidirectional" ? 2 : 1, gates = gatesOf(n.cell);
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
  Value x = b.cast(c.in(0), wide);
  if (batchFirst)
    x = b.transpose(x, {1, 0, 2});
  Dim hidden = b.dim(c.in(2), n.quantized ? 1 : 2);
  if (auto have = b.known(hidden); have && c.intAttr("hidden_size", *have) != *have)
    return c.fail("hidden_size is " + llvm::Twine(c.intAttr("hidden_size", 0)) +
                  ", but the weights are for " + llvm::Twine(*have));
  int64_t stacked = n.quantized ? 2 : 1;
  Dim rows = b.mulDims(hidden, b.dim(gates));
  for (size_t i : {1, 2}) {
    requireSame(b, b.dim(c.in(i), 0), b.dim(directions), "directions of the weights");
    requireSame(b, b.dim(c.in(i), stacked), rows, "gates of the weights");
  }
  // Biases, and the weights with which an LSTM's gates see its cells.
  for (auto [i, width] : {std::pair<size_t, Dim>(3, b.mulDims(rows, b.dim(2))),
                          std::pair<size_t, Dim>(7, b.mulDims(hidden, b.dim(3)))}) {
    if (!c.has(i))
      continue;
    if (b.rank(c.in(i)) != 2)
      return c.fail("operand " + llvm::Twine(i) + " must have rank 2");
    requireSame(b, b.dim(c.in(i), 0), b.dim(directions), "directions of the biases");
    requireSame(b, b.dim(c.in(i), 1), width, "biases of the gates");
  }
  if (c.has(4)) {
    if (b.rank(c.in(4)) != 1)
      return c.fail("the lengths must have rank 1");
    requireSame(b, b.dim(c.in(4), 0), b.dim(x, 1), "lengths and input");
    requireInRange(b, c.in(4), b.addDims(b.dim(x, 0), b.dim(1)), IndexRange::positions);
  }
  std::optional<Quantized> rounded;
  if (n.quantized)
    rounded = quantizeDynamically(b, x);
  SmallVector<Value> outputs;
  SmallVector<SmallVector<Value>> last(statesOf(n.cell));
  for (int64_t k = 0; k < directions; ++k) {
    auto w = weightOf(c, n, 1, 8, k), r = weightOf(c, n, 2, 10, k);
    if (failed(w) || failed(r))
      return failure();
    RecurrentDirection d;
    d.cell = n.cell;
    d.projected = rounded ? w->times(b, *rounded) : w->times(b, x);
    d.hidden = hidden;
    if (n.quantized) // all columns at once, which an LSTM asks for
      d.product = [r = *r](PrimBuilder &b, Value h, int64_t, int64_t) { return r.times(b, h); };
    else
      d.product = productWith(r->value, hidden);
    for (const ActivationSpec &f :
         ArrayRef(*specs).slice(k * n.activations.size(), n.activations.size()))
      d.activations.push_back([f](PrimBuilder &b, Value v) { return activate(b, f, v); });
    d.states = initialStates(c, n, k, directions, b.dim(x, 1), hidden, wide);
    if (Value both = ofDirection(c, 3, k)) {
      Dim half = b.mulDims(hidden, b.dim(gates));
      d.inputBias = b.sliceAxis(both, 0, b.dim(0), half);
      d.stateBias = b.sliceAxis(both, 0, half, half);
    }
    d.peephole = ofDirection(c, 7, k);
    d.lengths = c.inOr(4, {});
    d.clip = c.floatAttr("clip", 0);
    d.inputForget = c.intAttr("input_forget", 0);
    d.linearBeforeReset = c.intAttr("linear_before_reset", 0);
    d.backwards = way == "reverse" || k == 1;
    SmallVector<Value> results = runRecurrent(b, std::move(d));
    if (results.empty())
      return c.fail("the states change their shape");
    outputs.push_back(b.unsqueeze(results[0], {1})); // [T, 1, B, H]
    for (auto [list, state] : llvm::zip_equal(last, ArrayRef(results).drop_front()))
      list.push_back(b.unsqueeze(state, {0}));
  }
  Value all = b.concat(outputs, 1);
  (void)c.give(0, b.cast(batchFirst ? b.transpose(all, {2, 0, 1, 3}) : all, own));
  for (size_t s = 0; s < last.size() && 1 + s < c.numResults(); ++s) {
    Value state = b.concat(last[s], 0);
    (void)c.give(1 + s, b.cast(batchFirst ? b.transpose(state, {1, 0, 2}) : state, own));
  }
  return success();
}

} // namespace

void tcc::populateOnnxRecurrentRules(RuleSet &rules) {
  rules.add("onnx", "RNN",
            [](NodeContext &c) { return recurrent(c, {RecurrentCell::Rnn, {"tanh"}}); });
  rules.add("onnx", "GRU",
            [](NodeContext &c) { return recurrent(c, {RecurrentCell::Gru, {"sigmoid", "tanh"}}); });
  rules.add("onnx", "LSTM", [](NodeContext &c) {
    return recurrent(c, {RecurrentCell::Lstm, {"sigmoid", "tanh", "tanh"}});
  });
  rules.add("com.microsoft", "DynamicQuantizeLSTM", [](NodeContext &c) {
    return recurrent(c, {RecurrentCell::Lstm, {"sigmoid", "tanh", "tanh"}, true});
  });
}
