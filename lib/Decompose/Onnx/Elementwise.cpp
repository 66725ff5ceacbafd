//===- Elementwise.cpp - ONNX operators that map one to one ---------------===//
#include "Decompose/AllRules.h"
#include "tcc/Decompose/Rules.h"

using namespace mlir;
using namespace tcc;

namespace {

template <typename Op> LogicalResult unary(NodeContext &c) {
  return c.give(c.b.unary<Op>(c.in(0)));
}

/// Before opset 7, `broadcast` and `axis` said how the second operand aligns.
Value alignedOperand(NodeContext &c) {
  Value y = c.in(1);
  int64_t axis = c.intAttr("axis", -1);
  if (c.version() >= 7 || axis < 0)
    return y;
  SmallVector<int64_t> trailing;
  for (int64_t i = axis + c.b.rank(y), e = c.b.rank(c.in(0)); i < e; ++i)
    trailing.push_back(i - axis);
  return c.b.unsqueeze(y, trailing);
}

template <typename Op> LogicalResult binary(NodeContext &c) {
  return c.give(c.b.binary<Op>(c.in(0), alignedOperand(c)));
}

} // namespace

void tcc::populateOnnxElementwiseRules(RuleSet &rules) {
  auto add = [&](StringRef op, Rule rule) { rules.add("onnx", op, std::move(rule)); };
  add("Sin", unary<prim::SinOp>);
  add("Cos", unary<prim::CosOp>);
  add("Add", binary<prim::AddOp>);
  add("Sub", binary<prim::SubOp>);
  add("Mul", binary<prim::MulOp>);
  add("Div", binary<prim::DivOp>);
}
