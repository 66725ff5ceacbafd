//===- SizeNodes.cpp - Nodes that compute with extents --------------------===//
#include "Import/TorchExport/SizeNodes.h"
#include "tcc/Dialect/Graph/Graph.h"

using namespace mlir;

namespace tcc::torchexport {

Value SizeNodes::node(StringRef domain, StringRef target, ArrayRef<Number> arguments, Type element,
                      StringRef names) {
  SmallVector<NamedAttribute> attrs;
  SmallVector<Value> operands;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    StringRef name = names.substr(i, 1);
    Attribute value;
    if (auto *constant = std::get_if<int64_t>(&argument)) {
      value = b.getI64IntegerAttr(*constant);
    } else if (auto *constant = std::get_if<double>(&argument)) {
      value = b.getF64FloatAttr(*constant);
    } else {
      value = graph::OperandAttr::get(b.getContext(), operands.size());
      operands.push_back(std::get<Value>(argument));
    }
    attrs.push_back(b.getNamedAttr(name, value));
  }
  auto op = graph::NodeOp::create(b, b.getUnknownLoc(), RankedTensorType::get({}, element), domain,
                                  target, operands,
                                  /*version=*/uint64_t(0), b.getDictionaryAttr(attrs),
                                  /*outs=*/ArrayAttr(), /*regionNames=*/ArrayAttr(),
                                  /*bodiesCount=*/0);
  return op.getResult(0);
}

Value SizeNodes::number(StringRef domain, StringRef target, ArrayRef<Number> arguments) {
  return node(domain, target, arguments, b.getI64Type());
}

Value SizeNodes::real(StringRef domain, StringRef target, ArrayRef<Number> arguments) {
  return node(domain, target, arguments, b.getF64Type());
}

Value SizeNodes::truth(StringRef domain, StringRef target, ArrayRef<Number> arguments) {
  return node(domain, target, arguments, b.getI1Type());
}

Value SizeNodes::choice(const Number &condition, const Number &yes, const Number &no, bool isReal) {
  Type element = isReal ? Type(b.getF64Type()) : Type(b.getI64Type());
  return node("torch", "sym_ite", {condition, yes, no}, element, "btf");
}

Value SizeNodes::extent(Value tensor, int64_t axis) {
  NamedAttribute attrs[] = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                            b.getNamedAttr("dim", b.getI64IntegerAttr(axis))};
  auto op = graph::NodeOp::create(b, b.getUnknownLoc(), RankedTensorType::get({}, b.getI64Type()),
                                  "aten", "sym_size.int", tensor, uint64_t(0),
                                  b.getDictionaryAttr(attrs), ArrayAttr(), ArrayAttr(), 0);
  return op.getResult(0);
}

void SizeNodes::require(Value condition, const Twine &message) {
  NamedAttribute attrs[] = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                            b.getNamedAttr("assert_msg", b.getStringAttr(message))};
  graph::NodeOp::create(b, b.getUnknownLoc(), TypeRange(), "aten", "_assert_scalar.default",
                        condition, uint64_t(0), b.getDictionaryAttr(attrs), ArrayAttr(),
                        ArrayAttr(), 0);
}

} // namespace tcc::torchexport
