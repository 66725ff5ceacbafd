//===- Optimizers.cpp - Steps of optimizers that are one operator -------------===//
//
// PyTorch's fused optimizers; the importer makes one node of each tensor of their lists. The
// results are the parameter, the gradient without its scale, and the state. Where `found_inf` is
// not 0, nothing is changed.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

/// What all have; numbers are tensors of rank 0.
class Step {
public:
  explicit Step(AtenNode &a) : a(a), b(a.b), type(a.wide()) {
    parameter = read("self");
    scaled = read("grads");
    if (Value scale = a.number("grad_scale", type))
      scaled = b.div(scaled, b.reshape(scale, ArrayRef<Dim>()));
    gradient = a.flag("maximize", false) ? b.neg(scaled) : scaled;
    rate = b.reshape(a.number("lr", 0, type), ArrayRef<Dim>());
    decay = a.real("weight_decay", 0);
  }

  Value read(StringRef name) const { return a.cast(a.tensor(name), type); }
  Value count() const { return b.reshape(read("state_steps"), ArrayRef<Dim>()); }
  double real(StringRef name) const { return a.real(name, 0); }
  /// The gradient of the loss with a penalty on the parameter.
  void penalize() {
    if (decay != 0)
      gradient = b.add(gradient, b.mul(parameter, decay));
  }
  /// x + (y - x) * weight.
  Value towards(Value x, Value y, double weight) const {
    return b.add(x, b.mul(b.sub(y, x), weight));
  }

  LogicalResult give(Value next, ArrayRef<std::pair<StringRef, Value>> states) const {
    Value found = a.tensor("found_inf");
    Value keeps = found ? b.compare(P::ne, b.reshape(found, ArrayRef<Dim>()), 0.0) : Value();
    auto changed = [&](StringRef name, Value v) {
      return keeps ? b.select(keeps, read(name), v) : v;
    };
    (void)a.give(0, changed("self", next));
    if (a.c.numResults() > 1)
      (void)a.give(1, changed("grads", scaled));
    for (auto [i, state] : llvm::enumerate(states))
      if (i + 2 < a.c.numResults())
        (void)a.give(i + 2, changed(state.first, state.second));
    return success();
  }

  AtenNode &a;
  PrimBuilder &b;
  Type type;
  Value parameter, scaled, gradient, rate;
  double decay = 0;
};

/// AdamW takes the penalty off the parameter itself.
LogicalResult adam(AtenNode &a, bool decoupled) {
  PrimBuilder &b = a.b;
  Step s(a);
  if (decoupled)
    s.parameter = b.sub(s.parameter, b.mul(s.parameter, b.mul(s.rate, s.decay)));
  else
    s.penalize();
  double beta1 = s.real("beta1"), beta2 = s.real("beta2");
  Value one = b.scalar(1, s.type), count = s.count();
  auto bias = [&](double beta) { return b.sub(one, b.pow(b.scalar(beta, s.type), count)); };
  Value mean = s.towards(s.read("exp_avgs"), s.gradient, 1 - beta1);
  Value square =
      b.add(b.mul(s.read("exp_avg_sqs"), beta2), b.mul(b.mul(s.gradient, s.gradient), 1 - beta2));
  SmallVector<std::pair<StringRef, Value>> states = {{"exp_avgs", mean}, {"exp_avg_sqs", square}};
  Value largest = square;
  if (a.flag("amsgrad", false)) {
    if (!a.tensor("max_exp_avg_sqs"))
      return a.fail("needs 'max_exp_avg_sqs' for amsgrad");
    largest = b.maximum(s.read("max_exp_avg_sqs"), square);
    states.push_back({"max_exp_avg_sqs", largest});
  }
  Value root = b.add(b.div(b.sqrt(largest), b.sqrt(bias(beta2))), s.real("eps"));
  Value step = b.mul(b.div(s.rate, bias(beta1)), b.div(mean, root));
  return s.give(b.sub(s.parameter, step), states);
}

LogicalResult sgd(AtenNode &a) {
  PrimBuilder &b = a.b;
  Step s(a);
  s.penalize();
  SmallVector<std::pair<StringRef, Value>> states;
  if (double momentum = s.real("momentum"); momentum != 0) {
    if (!a.tensor("momentum_buffer_list"))
      return a.fail("needs 'momentum_buffer_list' for momentum");
    Value moved = s.gradient;
    if (!a.flag("is_first_step", false))
      moved = b.add(b.mul(s.read("momentum_buffer_list"), momentum),
                    b.mul(s.gradient, 1 - s.real("dampening")));
    states.push_back({"momentum_buffer_list", moved});
    s.gradient = a.flag("nesterov", false) ? b.add(s.gradient, b.mul(moved, momentum)) : moved;
  }
  return s.give(b.sub(s.parameter, b.mul(s.gradient, s.rate)), states);
}

LogicalResult adagrad(AtenNode &a) {
  PrimBuilder &b = a.b;
  Step s(a);
  s.penalize();
  Value sums = b.add(s.read("state_sums"), b.mul(s.gradient, s.gradient));
  Value slowed = b.add(b.mul(b.sub(s.count(), 1.0), s.real("lr_decay")), 1.0);
  Value step = b.div(b.mul(s.gradient, b.div(s.rate, slowed)), b.add(b.sqrt(sums), s.real("eps")));
  return s.give(b.sub(s.parameter, step), {{"state_sums", sums}});
}

} // namespace

void tcc::populateAtenOptimizerRules(RuleSet &rules) {
  constexpr StringRef kBoth = "default tensor_lr",
                      kMoments = "self grads exp_avgs exp_avg_sqs state_steps";
  addRules(rules, {{"_fused_adam", kBoth, kMoments, [](AtenNode &a) { return adam(a, false); }},
                   {"_fused_adamw", kBoth, kMoments, [](AtenNode &a) { return adam(a, true); }},
                   {"_fused_sgd", kBoth, "self grads", sgd},
                   {"_fused_adagrad", kBoth, "self grads state_sums state_steps", adagrad}});
}
