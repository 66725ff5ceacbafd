//===- Experts.cpp - Mixtures of experts of com.microsoft ---------------------===//
//
// Each token goes through the `k` feed-forward networks that a router gives the highest scores, and
// the results are added by weights of these scores. Rows are sorted by expert first, so that an
// expert's rows lie together: a loop over experts multiplies those of each, as many as there are,
// and what no token chose is not computed. Then each token takes its rows back.
//
// The weights are those of ONNX Runtime: of MoE, a softmax over all experts, divided by the sum of
// the chosen ones if `normalize_routing_weights` says so; of QMoE, a softmax over the chosen, or
// what `router_weights` has for them. Quantised matrices hold 2, 4 or 8 bits a number with a scale
// (and a zero point) for each row or each block of it; only the matrices of experts that have rows
// are unpacked.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Gelu.h"
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/Quantization.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;
using Cmp = arith::CmpIPredicate;

namespace {

/// Which operands hold the matrices of one layer, [E, N, K] or packed, and what belongs to them.
struct Layer {
  size_t weights, scales, bias, zeros;
  int64_t bits;
};

class Experts {
public:
  Experts(NodeContext &c, bool quantized)
      : c(c), b(c.b), quantized(quantized), wide(wideType(b.elem(c.in(0)))),
        index(b.builder().getI64Type()) {}
  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult checkLayer(const Layer &layer, Dim rows, Dim columns);
  void route();
  Value ofExpert(size_t operand, Dim expert);
  Value matrix(const Layer &layer, Dim expert, Dim rows, Dim columns);
  Value product(const Layer &layer, Value x, Dim expert, Dim rows);
  Value activated(Value x);
  Value gated(Value gate, Value linear);
  Value network(Value x, Dim expert);
  FailureOr<Value> byExpert(Value rows, Value starts, Value ends);

  NodeContext &c;
  PrimBuilder &b;
  bool quantized;
  Type wide, index;
  Layer fc1{}, fc2{}, fc3{};
  std::string activation;
  int64_t chosen = 0, block = 0, fusion = 0;
  Dim tokens, experts, hidden, inner; ///< extents
  Value weights;                      ///< [T, k]
  Value choice;                       ///< [T, k], experts
};

} // namespace

LogicalResult Experts::readAttributes() {
  chosen = c.intAttr("k", 1);
  activation = c.stringAttr("activation_type", "relu");
  fusion = c.intAttr("swiglu_fusion", 0);
  block = c.intAttr("block_size", 0);
  int64_t bits = c.intAttr("expert_weight_bits", 4);
  fc1 = quantized ? Layer{2, 3, 4, 11, c.intAttr("fc1_expert_weight_bits", bits)}
                  : Layer{2, 99, 3, 99, 0};
  fc2 = quantized ? Layer{5, 6, 7, 12, c.intAttr("fc2_expert_weight_bits", bits)}
                  : Layer{4, 99, 5, 99, 0};
  fc3 = quantized ? Layer{8, 9, 10, 13, c.intAttr("fc3_expert_weight_bits", bits)}
                  : Layer{6, 99, 7, 99, 0};
  if (quantized && c.stringAttr("quant_type", "int") != "int")
    return c.fail("weights of 'quant_type' " + c.stringAttr("quant_type", "") +
                  " are not supported");
  if (quantized && c.intAttr("weights_prepacked", -1) == 1)
    return c.fail("weights packed for another machine ('weights_prepacked') are not supported");
  static constexpr StringRef kActivations[] = {"relu", "gelu", "silu", "swiglu", "identity"};
  if (!llvm::is_contained(kActivations, activation))
    return c.fail("has an unknown 'activation_type'");
  if (fusion < 0 || fusion > 2 || (activation == "swiglu" && (fusion != 0) == c.has(fc3.weights)))
    return c.fail("needs the gates of swiglu beside its first matrices ('swiglu_fusion' 1 or 2) or "
                  "as its third");
  if (b.rank(c.in(1)) != 2 || (b.rank(c.in(0)) != 2 && b.rank(c.in(0)) != 3))
    return c.fail("needs tokens of rank 2 or 3 and router_probs of rank 2");
  return success();
}

/// Experts of one layer have matrices [rows, columns].
LogicalResult Experts::checkLayer(const Layer &layer, Dim rows, Dim columns) {
  int64_t perByte = 1;
  if (quantized) {
    if (layer.bits != 2 && layer.bits != 4 && layer.bits != 8)
      return c.fail("needs 2, 4 or 8 bits a weight");
    if (!c.has(layer.scales) || b.rank(c.in(layer.scales)) != (block > 0 ? 3 : 2))
      return c.fail("needs scales for each row, or for each block of 'block_size'");
    if (c.has(layer.zeros) && b.rank(c.in(layer.zeros)) != (block > 0 ? 3 : 2))
      return c.fail("needs zero points of the rank of the scales");
    perByte = 8 / layer.bits;
  }
  Value w = c.in(layer.weights);
  if (b.rank(w) != 3)
    return c.fail("needs matrices of rank 3");
  if (quantized && !b.elem(w).isUnsignedInteger(8))
    return c.fail("needs matrices of bytes");
  requireSame(b, b.dim(w, 0), experts, "a mixture's experts");
  requireSame(b, b.dim(w, 1), rows, "the rows of an expert's matrix");
  requireSame(b, b.mulDims(b.dim(w, 2), b.dim(perByte)), columns,
              "the columns of an expert's matrix");
  return success();
}

/// Which experts each token goes to, and their weights.
void Experts::route() {
  Value scores = b.cast(c.in(1), wide);
  Value best = quantized ? scores : softmaxOver(b, scores, 1);
  auto values = b.typeOf({tokens, b.dim(chosen)}, wide);
  auto top = prim::TopKOp::create(b.builder(), b.location(), values, values.clone(index), scores,
                                  Value(), 1, true);
  choice = top.getIndices();
  bool normal = c.intAttr("normalize_routing_weights", 0) != 0;
  if (quantized && !c.has(14)) {
    weights = softmaxOver(b, top.getValues(), 1);
    return;
  }
  weights = b.takeAlong(quantized ? b.cast(c.in(14), wide) : best, choice, 1);
  if (normal)
    weights = b.div(weights, b.reduce(K::sum, weights, {1}, true));
}

/// What operand `i` has for one expert.
Value Experts::ofExpert(size_t i, Dim expert) {
  return b.squeeze(b.sliceAxis(c.in(i), 0, expert, b.dim(1)), {0});
}

Value Experts::matrix(const Layer &layer, Dim expert, Dim rows, Dim columns) {
  if (!quantized)
    return b.cast(ofExpert(layer.weights, expert), wide);
  Dim blocks = block > 0 ? b.floorDivDims(columns, b.dim(block)) : b.dim(1);
  Dim each = block > 0 ? b.dim(block) : columns;
  Value w = unpackedBits(b, ofExpert(layer.weights, expert), layer.bits);
  w = b.reshape(b.cast(w, wide), {rows, blocks, each});
  Value scale = b.reshape(b.cast(ofExpert(layer.scales, expert), wide), {rows, blocks, b.dim(1)});
  Value zero = b.scalar(1 << (layer.bits - 1), wide);
  if (c.has(layer.zeros)) { // bytes along the blocks, or along the rows
    Value packed = unpackedBits(b, ofExpert(layer.zeros, expert), layer.bits);
    packed = b.sliceAxis(packed, block > 0 ? 1 : 0, b.dim(0), block > 0 ? blocks : rows);
    zero = b.reshape(b.cast(packed, wide), {rows, blocks, b.dim(1)});
  }
  return b.reshape(b.mul(b.sub(w, zero), scale), {rows, columns});
}

Value Experts::product(const Layer &layer, Value x, Dim expert, Dim rows) {
  Value y = b.dot(x, matrix(layer, expert, rows, b.dim(x, 1)), {}, {}, {1}, {1}, wide);
  return c.has(layer.bias) ? b.add(y, b.cast(ofExpert(layer.bias, expert), wide)) : y;
}

Value Experts::activated(Value x) {
  if (activation == "relu")
    return b.maximum(x, 0.0);
  if (activation == "gelu")
    return geluTanh(b, x);
  return activation == "silu" ? b.mul(x, b.logistic(x)) : x;
}

/// swiglu, with both of its parts clamped if there is a limit.
Value Experts::gated(Value gate, Value linear) {
  if (c.hasAttr("swiglu_limit")) {
    double limit = c.floatAttr("swiglu_limit", 0);
    gate = b.minimum(gate, limit);
    linear = b.minimum(b.maximum(linear, -limit), limit);
  }
  Value open = b.logistic(b.mul(gate, c.floatAttr("activation_alpha", 1)));
  return b.mul(b.mul(gate, open), b.add(linear, c.floatAttr("activation_beta", 0)));
}

/// Rows [n, hidden] through one expert.
Value Experts::network(Value x, Dim expert) {
  bool pairs = activation == "swiglu" && fusion != 0;
  Value y = product(fc1, x, expert, pairs ? b.mulDims(inner, b.dim(2)) : inner);
  if (pairs) {
    Dims split = {b.dim(x, 0), inner, b.dim(2)};
    if (fusion == 2)
      std::swap(split[1], split[2]);
    int64_t axis = fusion == 2 ? 1 : 2;
    Value both = b.reshape(y, split);
    auto part = [&](int64_t i) {
      return b.squeeze(b.sliceAxis(both, axis, b.dim(i), b.dim(1)), {axis});
    };
    y = gated(part(0), part(1));
  } else if (c.has(fc3.weights)) {
    Value linear = product(fc3, x, expert, inner);
    y = activation == "swiglu" ? gated(y, linear) : b.mul(activated(y), linear);
  } else {
    y = activated(y);
  }
  return product(fc2, y, expert, hidden);
}

/// Each expert's rows, which lie from its start to its end, through its network.
FailureOr<Value> Experts::byExpert(Value rows, Value starts, Value ends) {
  Dims shape = {b.dim(rows, 0), hidden};
  auto element = [&](Value list, Dim i) {
    return b.readElements(b.sliceAxis(list, 0, i, b.dim(1)))[0];
  };
  SmallVector<Value> inits = {b.indexValue(b.dim(0)), b.full(shape, 0, wide)};
  auto turn = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    Dim start = element(starts, v[0]), count = b.subDims(element(ends, v[0]), start);
    auto through = [&] {
      Value part = network(b.sliceAxis(rows, 0, start, count), v[0]);
      return SmallVector<Value>{b.insertSlice(v[1], part, {start, b.dim(0)})};
    };
    SmallVector<Value> next = {b.indexValue(b.addDims(v[0], b.dim(1)))};
    if (!quantized) { // a product of no rows costs nothing
      next.append(through());
      return next;
    }
    auto result = b.branch(b.compareDims(Cmp::sgt, count, b.dim(0)), through,
                           [&] { return SmallVector<Value>{v[1]}; });
    if (!result)
      return std::nullopt;
    next.push_back((*result)[0]);
    return next;
  };
  auto results =
      b.loop(inits, [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], experts); }, turn);
  if (!results)
    return c.fail("an expert's result has another shape than the tokens");
  return b.reshape((*results)[1], shape);
}

LogicalResult Experts::run() {
  if (failed(readAttributes()))
    return failure();
  Value x = c.in(0);
  Dims have = b.dims(x);
  hidden = have.back();
  tokens = b.dim(c.in(1), 0);
  experts = b.dim(c.in(1), 1);
  auto count = b.known(experts);
  if (chosen < 1 || !count || chosen > *count)
    return c.fail("needs a 'k' of at least 1 and as many experts, of which the number is known");
  Dim rows = b.productOf(ArrayRef<Dim>(have).drop_back());
  requireSame(b, rows, tokens, "a mixture's tokens");
  if (quantized && c.has(14))
    for (int64_t axis : {0, 1})
      requireSame(b, b.dim(c.in(14), axis), b.dim(c.in(1), axis), "router_weights");
  Value w2 = c.in(fc2.weights);
  if (b.rank(w2) != 3)
    return c.fail("needs matrices of rank 3");
  inner = b.mulDims(b.dim(w2, 2), b.dim(quantized ? 8 / std::max<int64_t>(fc2.bits, 1) : 1));
  Dim first = activation == "swiglu" && fusion != 0 ? b.mulDims(inner, b.dim(2)) : inner;
  if (failed(checkLayer(fc1, first, hidden)) || failed(checkLayer(fc2, hidden, inner)) ||
      (c.has(fc3.weights) && failed(checkLayer(fc3, inner, hidden))))
    return failure();
  if (quantized && block > 0)
    for (Dim columns : {hidden, inner})
      requireDivisor(b, columns, b.dim(block));
  route();
  // Rows in the order of their experts; each place has the token of its row.
  Dim places = b.mulDims(tokens, b.dim(chosen));
  Value flat = b.reshape(choice, {places});
  auto sorted = [&](Value v) {
    auto op = prim::SortOp::create(b.builder(), b.location(), v.getType(), v.getType(), v, 0,
                                   /*descending=*/false);
    return op.getIndices();
  };
  Value order = sorted(flat);
  Value owner = b.binary<prim::FloorDivOp>(order, b.scalar(static_cast<double>(chosen), index));
  Value numbered = b.iota({experts}, 0, index), column = b.unsqueeze(flat, {1});
  auto counted = [&](P predicate) { // places of experts before this one, or up to it
    Value is = b.compare(predicate, column, b.unsqueeze(numbered, {0}));
    return b.reduce(K::sum, b.cast(is, index), {0}, false);
  };
  Value table = b.cast(b.reshape(x, {tokens, hidden}), wide);
  auto result = byExpert(b.take(table, owner, 0), counted(P::lt), counted(P::le));
  if (failed(result))
    return failure();
  Value own = b.take(*result, sorted(order), 0);
  own = b.mul(b.reshape(own, {tokens, b.dim(chosen), hidden}), b.unsqueeze(weights, {2}));
  Value sum = b.reduce(K::sum, own, {1}, false);
  return c.give(b.cast(b.reshape(sum, have), b.elem(x)));
}

static LogicalResult mixture(NodeContext &c) { return Experts(c, false).run(); }
static LogicalResult quantizedMixture(NodeContext &c) { return Experts(c, true).run(); }

void tcc::populateOnnxExpertsRules(RuleSet &rules) {
  rules.add("com.microsoft", "MoE", mixture);
  rules.add("com.microsoft", "QMoE", quantizedMixture);
}
