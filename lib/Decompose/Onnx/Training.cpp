//===- Training.cpp - Optimizers of ai.onnx.preview.training -----------------===//
//
// R (learning rate) and T (update count) come first, then for n tensors all
// values, all gradients, and each kind of state for all.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

struct Step {
  Value rate;    ///< rank 0, of the tensors' type
  Value count;   ///< T in that type
  Value isFirst; ///< whether T is 0
};

using Update = llvm::function_ref<SmallVector<Value>(PrimBuilder &, const Step &, ValueRange)>;

/// Applies `update` to each tensor's (value, gradient, states...); it gives the
/// next (value, states...). R and each tensor may be f32 or f64; f64 where one is.
LogicalResult optimize(NodeContext &c, size_t states, Update update) {
  PrimBuilder &b = c.b;
  size_t each = states + 2;
  if (c.numInputs() < 2 + each || (c.numInputs() - 2) % each != 0)
    return c.fail("has the wrong number of operands");
  size_t n = (c.numInputs() - 2) / each;
  auto rate = scalarOperand(c, 0), count = scalarOperand(c, 1);
  if (failed(rate) || failed(count) || c.numResults() != n * (states + 1))
    return c.fail("needs scalars R and T, and one result for each tensor and state");
  Value isFirst = b.compare(prim::ComparePredicate::eq, *count, 0.0);
  for (size_t i = 0; i < n; ++i) {
    SmallVector<Value> given, group;
    bool wide = b.elem(*rate).isF64();
    for (size_t k = 0; k < each; ++k) {
      given.push_back(c.in(2 + k * n + i));
      wide |= b.elem(given.back()).isF64();
    }
    Type type = wide ? b.builder().getF64Type() : b.elem(given[0]);
    for (Value value : given)
      group.push_back(b.cast(value, type));
    Step step{b.cast(*rate, type), b.cast(*count, type), isFirst};
    for (auto [k, value] : llvm::enumerate(update(b, step, group)))
      (void)c.give(k * n + i, b.cast(value, b.elem(given[k == 0 ? 0 : k + 1])));
  }
  return success();
}

/// The gradient of the loss with an L2 penalty on x.
Value regularized(PrimBuilder &b, double coefficient, Value x, Value g) {
  return b.add(b.mul(x, coefficient), g);
}

LogicalResult adagrad(NodeContext &c) {
  double decay = c.floatAttr("decay_factor", 0), epsilon = c.floatAttr("epsilon", 1e-6),
         norm = c.floatAttr("norm_coefficient", 0);
  return optimize(c, 1, [&](PrimBuilder &b, const Step &s, ValueRange v) {
    Value rate = b.div(s.rate, b.add(b.mul(s.count, decay), 1.0));
    Value g = regularized(b, norm, v[0], v[1]);
    Value h = b.add(v[2], b.mul(g, g));
    Value x = b.sub(v[0], b.div(b.mul(g, rate), b.add(b.sqrt(h), epsilon)));
    return SmallVector<Value>{x, h};
  });
}

LogicalResult adam(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.9), beta = c.floatAttr("beta", 0.999),
         epsilon = c.floatAttr("epsilon", 1e-6), norm = c.floatAttr("norm_coefficient", 0),
         post = c.floatAttr("norm_coefficient_post", 0);
  return optimize(c, 2, [&](PrimBuilder &b, const Step &s, ValueRange v) {
    Type t = b.elem(s.rate);
    Value g = regularized(b, norm, v[0], v[1]);
    Value moment = b.add(b.mul(v[2], alpha), b.mul(g, 1 - alpha));
    Value square = b.add(b.mul(v[3], beta), b.mul(b.mul(g, g), 1 - beta));
    Value one = b.scalar(1, t);
    auto decayed = [&](double base) { return b.sub(one, b.pow(b.scalar(base, t), s.count)); };
    Value bias = b.select(s.isFirst, one, b.div(b.sqrt(decayed(beta)), decayed(alpha)));
    Value x =
        b.sub(v[0], b.mul(b.div(moment, b.add(b.sqrt(square), epsilon)), b.mul(s.rate, bias)));
    return SmallVector<Value>{b.mul(x, 1 - post), moment, square};
  });
}

LogicalResult momentum(NodeContext &c) {
  double alpha = c.floatAttr("alpha", 0.9), beta = c.floatAttr("beta", 1),
         norm = c.floatAttr("norm_coefficient", 0);
  bool nesterov = c.stringAttr("mode", "standard") == "nesterov";
  return optimize(c, 1, [&](PrimBuilder &b, const Step &s, ValueRange v) {
    Type t = b.elem(v[0]);
    Value g = regularized(b, norm, v[0], v[1]);
    Value damping = b.select(s.isFirst, b.scalar(1, t), b.scalar(beta, t));
    Value moment = b.add(b.mul(v[2], alpha), b.mul(g, damping));
    Value step = nesterov ? b.add(g, b.mul(moment, alpha)) : moment;
    return SmallVector<Value>{b.sub(v[0], b.mul(step, s.rate)), moment};
  });
}

} // namespace

void tcc::populateOnnxTrainingRules(RuleSet &rules) {
  rules.add("ai.onnx.preview.training", "Adagrad", adagrad);
  rules.add("ai.onnx.preview.training", "Adam", adam);
  rules.add("ai.onnx.preview.training", "Momentum", momentum);
}
