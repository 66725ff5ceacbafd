//===- InputChecks.cpp - Guards of an exported program -------------------===//
//
// torch.export proves its graph for sizes in a range and with relations between them. A compiled
// model must not run outside of these, so they become nodes that check the inputs; a relation in
// one unknown symbol is solved for it. What Python's branches asked of sizes is in Guards.cpp.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/InputChecks.h"
#include "Import/TorchExport/Guards.h"
#include "Import/TorchExport/SizeNodes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::torchexport {
namespace {

class Checker {
public:
  Checker(OpBuilder &b, Shapes &shapes) : nodes(b), shapes(shapes) {}
  void run(ArrayRef<CheckedInput> inputs);

private:
  using Number = SizeNodes::Number;
  std::optional<Number> emit(const SymExpr &expr);
  void solve(const SymExpr &expr, Value extent);
  void check(const SymExpr &expr, Value extent, const Twine &message);

  SizeNodes nodes;
  Shapes &shapes;
  llvm::StringMap<Value> symbols;
};

} // namespace

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
    total = total ? Number(nodes.number(domain, target, {*total, *value})) : value;
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
  Value rest = nodes.number("_operator", "sub", {extent, *zero});
  symbols[unknown] = nodes.number("_operator", "floordiv", {rest, slope});
}

void Checker::check(const SymExpr &expr, Value extent, const Twine &message) {
  auto expected = emit(expr);
  if (!expected)
    return;
  nodes.require(nodes.truth("_operator", "eq", {extent, *expected}), message);
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
        symbols[*expr->symbol()] = nodes.extent(input.value, axis);
    }
  for (const Stated &s : compound) {
    Value here = nodes.extent(s.input->value, s.axis);
    solve(*s.expr, here);
    check(*s.expr, here,
          "input '" + s.input->name + "': dim " + Twine(s.axis) + " must be " + s.expr->str());
  }
}

llvm::Error checkInputs(OpBuilder &builder, Shapes &shapes, ArrayRef<CheckedInput> inputs,
                        ArrayRef<std::string> guards) {
  Checker(builder, shapes).run(inputs);
  return checkGuards(builder, inputs, guards);
}

} // namespace tcc::torchexport
