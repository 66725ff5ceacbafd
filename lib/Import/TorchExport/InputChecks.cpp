//===- InputChecks.cpp - Guards of an exported program -------------------===//
//
// torch.export proves its graph for sizes in a range and with relations between them. A compiled
// model must not run outside of these, so they become nodes that check the inputs; a relation in
// one unknown symbol is solved for it.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/InputChecks.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "llvm/ADT/StringSwitch.h"
#include <variant>

using namespace mlir;

namespace tcc::torchexport {
namespace {

class Checker {
public:
  Checker(OpBuilder &b, Shapes &shapes) : b(b), shapes(shapes) {}
  void run(ArrayRef<CheckedInput> inputs);

private:
  /// A number: a constant, or a value of the model.
  using Number = std::variant<int64_t, Value>;
  Value node(StringRef domain, StringRef target, ArrayRef<Number> arguments, Type result);
  Value extent(Value tensor, int64_t axis);
  std::optional<Number> emit(const SymExpr &expr);
  void solve(const SymExpr &expr, Value extent);
  void check(const SymExpr &expr, Value extent, const Twine &message);

  OpBuilder &b;
  Shapes &shapes;
  llvm::StringMap<Value> symbols;
};

} // namespace

Value Checker::node(StringRef domain, StringRef target, ArrayRef<Number> arguments, Type result) {
  SmallVector<NamedAttribute> attrs;
  SmallVector<Value> operands;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    std::string name(1, static_cast<char>('a' + i));
    Attribute value;
    if (auto *constant = std::get_if<int64_t>(&argument)) {
      value = b.getI64IntegerAttr(*constant);
    } else {
      value = graph::OperandAttr::get(b.getContext(), operands.size());
      operands.push_back(std::get<Value>(argument));
    }
    attrs.push_back(b.getNamedAttr(name, value));
  }
  auto op = graph::NodeOp::create(b, b.getUnknownLoc(), result, domain, target, operands,
                                  /*version=*/uint64_t(0), b.getDictionaryAttr(attrs),
                                  /*outs=*/ArrayAttr(), /*regionNames=*/ArrayAttr(),
                                  /*bodiesCount=*/0);
  return op.getResult(0);
}

Value Checker::extent(Value tensor, int64_t axis) {
  NamedAttribute attrs[] = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                            b.getNamedAttr("dim", b.getI64IntegerAttr(axis))};
  auto op = graph::NodeOp::create(b, b.getUnknownLoc(), RankedTensorType::get({}, b.getI64Type()),
                                  "aten", "sym_size.int", tensor, uint64_t(0),
                                  b.getDictionaryAttr(attrs), ArrayAttr(), ArrayAttr(), 0);
  return op.getResult(0);
}

std::optional<Checker::Number> Checker::emit(const SymExpr &expr) {
  if (auto value = expr.constant())
    return Number(*value);
  if (auto symbol = expr.symbol()) {
    if (auto fixed = shapes.fixedValue(*symbol))
      return Number(*fixed);
    Value known = symbols.lookup(*symbol);
    return known ? std::optional(Number(known)) : std::nullopt;
  }
  auto [domain, target] = llvm::StringSwitch<std::pair<StringRef, StringRef>>(expr.function())
                              .Case("Add", {"_operator", "add"})
                              .Case("Mul", {"_operator", "mul"})
                              .Cases({"FloorDiv", "CleanDiv"}, {"_operator", "floordiv"})
                              .Cases({"Mod", "PythonMod"}, {"_operator", "mod"})
                              .Case("Max", {"torch", "sym_max"})
                              .Case("Min", {"torch", "sym_min"})
                              .Default({"", ""});
  if (target.empty() || expr.operands().size() < 2)
    return std::nullopt;
  std::optional<Number> total;
  for (const SymExpr &operand : expr.operands()) {
    auto value = emit(operand);
    if (!value)
      return std::nullopt;
    total = total ? Number(node(domain, target, {*total, *value},
                                RankedTensorType::get({}, b.getI64Type())))
                  : value;
  }
  return total;
}

/// Where `expr` is a s + c of one unknown symbol s: s = (extent - c) / a.
void Checker::solve(const SymExpr &expr, Value extent) {
  std::string unknown;
  auto at = [&](int64_t value) {
    return expr.evaluate([&](StringRef symbol) -> std::optional<int64_t> {
      if (auto fixed = shapes.fixedValue(symbol))
        return fixed;
      if (symbols.contains(symbol) || (!unknown.empty() && symbol != unknown))
        return std::nullopt;
      unknown = symbol.str();
      return value;
    });
  };
  auto zero = at(0), one = at(1), two = at(2), many = at(1000);
  if (!zero || !one || !two || !many || unknown.empty())
    return;
  int64_t slope = *one - *zero;
  if (slope == 0 || *two != *zero + 2 * slope || *many != *zero + 1000 * slope)
    return;
  Type number = RankedTensorType::get({}, b.getI64Type());
  Value rest = node("_operator", "sub", {extent, *zero}, number);
  symbols[unknown] = node("_operator", "floordiv", {rest, slope}, number);
}

void Checker::check(const SymExpr &expr, Value extent, const Twine &message) {
  auto expected = emit(expr);
  if (!expected)
    return;
  Value equal =
      node("_operator", "eq", {extent, *expected}, RankedTensorType::get({}, b.getI1Type()));
  NamedAttribute attrs[] = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                            b.getNamedAttr("assert_msg", b.getStringAttr(message))};
  graph::NodeOp::create(b, b.getUnknownLoc(), TypeRange(), "aten", "_assert_scalar.default", equal,
                        uint64_t(0), b.getDictionaryAttr(attrs), ArrayAttr(), ArrayAttr(), 0);
}

void Checker::run(ArrayRef<CheckedInput> inputs) {
  struct Stated {
    const SymExpr *expr;
    const CheckedInput *input;
    int64_t axis;
  };
  SmallVector<Stated> compound;
  for (const CheckedInput &input : inputs)
    for (auto [axis, size] : llvm::enumerate(input.meta->sizes)) {
      auto type = cast<RankedTensorType>(input.value.getType());
      const SymExpr *expr = type.isDynamicDim(axis) ? shapes.expression(size) : nullptr;
      if (expr && !expr->symbol())
        compound.push_back({expr, &input, static_cast<int64_t>(axis)});
    }
  if (compound.empty())
    return;
  for (const CheckedInput &input : inputs)
    for (auto [axis, size] : llvm::enumerate(input.meta->sizes)) {
      const SymExpr *expr = shapes.expression(size);
      if (expr && expr->symbol() && !symbols.contains(*expr->symbol()))
        symbols[*expr->symbol()] = extent(input.value, axis);
    }
  for (const Stated &s : compound) {
    Value here = extent(s.input->value, s.axis);
    solve(*s.expr, here);
    check(*s.expr, here,
          "input '" + s.input->name + "': dim " + Twine(s.axis) + " must be " + s.expr->str());
  }
}

void checkInputs(OpBuilder &builder, Shapes &shapes, ArrayRef<CheckedInput> inputs) {
  Checker(builder, shapes).run(inputs);
}

} // namespace tcc::torchexport
