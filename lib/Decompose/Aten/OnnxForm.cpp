//===- OnnxForm.cpp - ATen operators through ONNX's rules -----------------===//
//
// A node of ONNX's form is made only for its rule to read, and erased at once.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;

namespace {

/// None of the operators used here has any.
class NoSubgraphs : public SubgraphBuilder {
public:
  FailureOr<std::vector<Lowered>> inlineBody(Region &, ArrayRef<Lowered>) override {
    return failure();
  }
  FailureOr<std::vector<Lowered>> attemptBody(Region &, std::string &) override {
    return failure();
  }
};

} // namespace

NamedAttribute AtenNode::attribute(StringRef name, int64_t value) {
  return b.builder().getNamedAttr(name, b.builder().getI64IntegerAttr(value));
}
NamedAttribute AtenNode::attribute(StringRef name, StringRef value) {
  return b.builder().getNamedAttr(name, b.builder().getStringAttr(value));
}
NamedAttribute AtenNode::attribute(StringRef name, ArrayRef<int64_t> value) {
  return b.builder().getNamedAttr(name, b.builder().getDenseI64ArrayAttr(value));
}

FailureOr<SmallVector<Value>> AtenNode::onnx(StringRef op, ArrayRef<Value> operands,
                                             ArrayRef<NamedAttribute> attrs, unsigned numResults) {
  constexpr uint64_t kOpset = 20;
  OpBuilder &builder = b.builder();
  const Rule *rule = allRules().lookup("onnx", op, kOpset);
  assert(rule && "no such rule");
  SmallVector<Lowered> lowered;
  SmallVector<Value> given;
  for (Value v : operands) {
    lowered.push_back(v ? Lowered::tensor(v) : Lowered());
    if (v)
      given.push_back(v);
  }
  SmallVector<Type> types(numResults, UnrankedTensorType::get(own()));
  ArrayAttr outs = c.node.getOutsAttr();
  auto node = graph::NodeOp::create(builder, b.location(), types, "onnx", op, given, kOpset,
                                    builder.getDictionaryAttr(attrs), outs,
                                    /*regionNames=*/ArrayAttr(), /*bodiesCount=*/0);
  NoSubgraphs none;
  NodeContext context(node, b, lowered, c.weightTable(), none);
  LogicalResult done = (*rule)(context);
  node.erase();
  if (failed(done))
    return fail(context.why);
  SmallVector<Value> results;
  for (const Lowered &result : context.results)
    results.push_back(result.value);
  return results;
}
