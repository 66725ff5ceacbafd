#include "tcc/Decompose/Rules.h"
#include "AllRules.h"
#include "tcc/Support/WeightTable.h"

using namespace mlir;
using namespace tcc;

NodeContext::NodeContext(graph::NodeOp node, PrimBuilder &b, ArrayRef<Lowered> operands,
                         WeightTable &weights, SubgraphBuilder &subgraphs)
    : node(node), b(b), results(node.getNumResults()), operands(operands), weights(weights),
      subgraphs(subgraphs) {}

Value NodeContext::in(size_t i) const {
  if (has(i) && operands[i].kind == Lowered::Kind::Tensor)
    return operands[i].value;
  b.fault("operand " + llvm::Twine(i) + (has(i) ? " is no tensor" : " is missing"));
  return b.scalar(0, b.builder().getF32Type());
}

int64_t NodeContext::intAttr(StringRef name, int64_t otherwise) const {
  auto value = dyn_cast_or_null<IntegerAttr>(attr(name));
  return value ? value.getInt() : otherwise;
}

double NodeContext::floatAttr(StringRef name, double otherwise) const {
  auto value = dyn_cast_or_null<FloatAttr>(attr(name));
  return value ? value.getValueAsDouble() : otherwise;
}

std::string NodeContext::stringAttr(StringRef name, StringRef otherwise) const {
  auto value = dyn_cast_or_null<StringAttr>(attr(name));
  return value ? value.getValue().str() : otherwise.str();
}

std::optional<SmallVector<int64_t>> NodeContext::intsAttr(StringRef name) const {
  if (auto value = dyn_cast_or_null<DenseI64ArrayAttr>(attr(name)))
    return SmallVector<int64_t>(value.asArrayRef());
  return std::nullopt;
}

std::optional<SmallVector<double>> NodeContext::floatsAttr(StringRef name) const {
  if (auto value = dyn_cast_or_null<DenseF32ArrayAttr>(attr(name)))
    return SmallVector<double>(value.asArrayRef());
  return std::nullopt;
}

Value NodeContext::tensorAttr(StringRef name) {
  Attribute value = attr(name);
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value))
    return b.constant(dense);
  auto ref = dyn_cast_or_null<graph::WeightAttr>(value);
  const Weight *weight = ref ? weights.lookup(ref.getName()) : nullptr;
  if (!weight)
    return {};
  constexpr uint64_t kSmall = 64;
  if (weight->elements() <= kSmall)
    return b.constant(*weight);
  auto type = RankedTensorType::get(weight->shape, prim::elementType(b.context(), weight->dtype));
  return prim::WeightOp::create(b.builder(), b.location(), type,
                                b.builder().getStringAttr(ref.getName()))
      .getResult();
}

FailureOr<std::optional<SmallVector<int64_t>>> NodeContext::intsFrom(StringRef name, size_t i) {
  if (auto list = intsAttr(name))
    return std::optional(*list);
  if (auto one = dyn_cast_or_null<IntegerAttr>(attr(name)))
    return std::optional(SmallVector<int64_t>{one.getInt()});
  if (!has(i))
    return std::optional<SmallVector<int64_t>>();
  if (auto constants = b.constantInts(in(i)))
    return std::optional(*constants);
  return fail("'" + name + "' must be a constant");
}

Value NodeContext::arg(StringRef name) const {
  auto ref = dyn_cast_or_null<graph::OperandAttr>(attr(name));
  return ref && has(ref.getIndex()) ? in(ref.getIndex()) : Value();
}

void RuleSet::add(StringRef domain, StringRef op, Rule rule, int64_t since) {
  rules[{domain.str(), op.str()}][since] = std::move(rule);
}

const Rule *RuleSet::lookup(StringRef domain, StringRef op, int64_t version) const {
  auto it = rules.find({domain.str(), op.str()});
  if (it == rules.end())
    return nullptr;
  auto above = it->second.upper_bound(version);
  return above == it->second.begin() ? nullptr : &std::prev(above)->second;
}

void RuleSet::forEach(
    llvm::function_ref<void(StringRef domain, StringRef op, int64_t since)> f) const {
  for (const auto &[name, versions] : rules)
    for (const auto &[since, rule] : versions)
      f(name.first, name.second, since);
}

const RuleSet &tcc::allRules() {
  static const RuleSet set = [] {
    RuleSet rules;
    populateAllRules(rules);
    return rules;
  }();
  return set;
}
