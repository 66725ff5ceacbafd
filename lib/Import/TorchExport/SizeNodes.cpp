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

/// The decimal number that is nearest, of two as near the even one, as the double that is nearest
/// to it. What decides is the product with the power of ten itself, not what it is rounded to
/// (2.675 is 2.67): its other part comes out of the factors' halves (Dekker).
Value SizeNodes::rounded(const Number &x, int64_t digits) {
  auto of = [&](StringRef op, const Number &left, const Number &right) -> Number {
    return real("_operator", op, {left, right});
  };
  double scale = 1;
  for (int64_t i = 0; i < digits; ++i)
    scale *= 10;
  constexpr double half = 0x1p27 + 1;
  Number wide = of("mul", half, x), head = of("sub", wide, of("sub", wide, x));
  Number tail = of("sub", x, head);
  volatile double wideScale = half * scale; // no part of it is contracted
  double scaleHead = wideScale - (wideScale - scale), scaleTail = scale - scaleHead;
  Number product = of("mul", x, scale);
  Number rest = of("sub", of("mul", head, scaleHead), product);
  rest = of("add", rest, of("mul", head, scaleTail));
  rest = of("add", rest, of("mul", tail, scaleHead));
  rest = of("add", rest, of("mul", tail, scaleTail));

  Number below = number("math", "floor", {product}), down = real("torch", "sym_float", {below});
  Number past = of("add", of("sub", of("sub", product, down), 0.5), rest);
  Number odd = truth("_operator", "eq", {number("_operator", "mod", {below, 2}), 1});
  Number even = truth("_operator", "and_", {truth("_operator", "eq", {past, 0.0}), odd});
  Number up = truth("_operator", "or_", {truth("_operator", "gt", {past, 0.0}), even});
  return std::get<Value>(of("truediv", choice(up, of("add", down, 1.0), down, true), scale));
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
