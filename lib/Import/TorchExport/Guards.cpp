//===- Guards.cpp - What an exported program supposed of sizes ------------===//
//
// A branch of Python on an open extent is not in the graph: torch.export took the one that the
// example took, and wrote what it had asked as a guard, a line of Python over the inputs' sizes.
// For other sizes the graph computes something else than the module, so PyTorch runs it for none
// that breaks a guard, and neither must a compiled model.
//
// PyTorch traces as if no extent were 0 or 1, and says so in the same way: "x.size()[0] // 4 != 1".
// Graphs do run for those, one image being the commonest batch of all, so that this is no guard
// here: comparisons that only keep an extent off 0 and 1 are left out, and orders are asked of
// extents of at least 2. Equalities and remainders are asked of what there is.
//
// A guard that is not understood (of strides, of values, of floats) is none.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Guards.h"
#include "Import/TorchExport/SizeNodes.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::torchexport {
namespace {

/// Recursive descent over what torch prints, which emits nodes as it reads:
///   or = and {or and};  and = compare {and compare};  compare = sum [relation sum];
///   sum = term {(+|-) term};  term = unary {(*|//|%) unary};  unary = -unary | atom;
///   atom = number | torch.sym_max(or, or) | L[key]...size()[axis] | (or).
class GuardReader {
public:
  GuardReader(StringRef text, SizeNodes &nodes, ArrayRef<CheckedInput> inputs)
      : text(text), nodes(nodes), inputs(inputs),
        orders(text.find_first_of("<>!") != StringRef::npos) {}

  /// The condition, or a constant; nothing if the text is not understood.
  std::optional<SizeNodes::Number> run() {
    auto value = disjunction();
    if (!value || !text.trim().empty())
      return std::nullopt;
    return value->number;
  }

private:
  using Number = SizeNodes::Number;
  struct Operand {
    Number number;
    bool isRemainder = false;
    bool isTruth = false;
    std::optional<int64_t> constant() const {
      auto *known = std::get_if<int64_t>(&number);
      return known ? std::optional(*known) : std::nullopt;
    }
  };
  using Result = std::optional<Operand>;
  static constexpr unsigned kMaxDepth = 100, kMaxAtoms = 2000;

  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }

  bool word(StringRef name) {
    StringRef rest = text.ltrim();
    if (!rest.consume_front(name) || (!rest.empty() && (llvm::isAlnum(rest[0]) || rest[0] == '_')))
      return false;
    text = rest;
    return true;
  }

  Result joined(StringRef name, StringRef target, Result (GuardReader::*part)()) {
    Result left = (this->*part)();
    while (left && word(name)) {
      Result right = (this->*part)();
      if (!right || !left->isTruth || !right->isTruth)
        return std::nullopt;
      bool absorbs = name == "or"; // what a constant that decides is
      if (auto known = left->constant())
        left = bool(*known) == absorbs ? left : right;
      else if (auto known = right->constant())
        left = bool(*known) == absorbs ? right : left;
      else
        left =
            Operand{nodes.truth("_operator", target, {left->number, right->number}), false, true};
    }
    return left;
  }
  Result disjunction() { return joined("or", "or_", &GuardReader::conjunction); }
  Result conjunction() { return joined("and", "and_", &GuardReader::comparison); }

  /// Whether the relation only says that an extent is neither 0 nor 1.
  static bool keepsOffOne(StringRef relation, const Operand &left, const Operand &right) {
    auto bound = right.constant();
    if (!bound || left.isRemainder)
      return false;
    return (relation == "!=" && (*bound == 0 || *bound == 1)) ||
           (relation == ">" && (*bound == 0 || *bound == 1)) ||
           (relation == ">=" && (*bound == 1 || *bound == 2));
  }

  Result comparison() {
    static constexpr std::pair<StringLiteral, StringLiteral> relations[] = {
        {"==", "eq"}, {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}, {"<", "lt"}, {">", "gt"}};
    Result left = sum();
    if (!left)
      return left;
    for (auto [relation, target] : relations) {
      if (!consume(relation))
        continue;
      Result right = sum();
      if (!right || left->isTruth || right->isTruth)
        return std::nullopt;
      if (keepsOffOne(relation, *left, *right))
        return Operand{1, false, true};
      auto x = left->constant(), y = right->constant();
      if (!x || !y)
        return Operand{nodes.truth("_operator", target, {left->number, right->number}), false,
                       true};
      bool holds = relation == "=="   ? *x == *y
                   : relation == "!=" ? *x != *y
                   : relation == "<=" ? *x <= *y
                   : relation == ">=" ? *x >= *y
                   : relation == "<"  ? *x < *y
                                      : *x > *y;
      return Operand{int64_t(holds), false, true};
    }
    return left;
  }

  /// x op y, of constants as of values. A divisor is at least 1: an extent of 0 that divides is one
  /// that torch supposed not to be.
  Result apply(StringRef op, const Operand &left, Operand right) {
    if (left.isTruth || right.isTruth)
      return std::nullopt;
    bool divides = op == "//" || op == "%";
    auto x = left.constant(), y = right.constant();
    if (divides && y && *y <= 0)
      return std::nullopt;
    Operand result{0, op == "%", false};
    if (x && y) {
      int64_t value = 0;
      if ((op == "+" && llvm::AddOverflow(*x, *y, value)) ||
          (op == "-" && llvm::SubOverflow(*x, *y, value)) ||
          (op == "*" && llvm::MulOverflow(*x, *y, value)))
        return std::nullopt;
      if (divides)
        value = op == "%" ? ((*x % *y) + *y) % *y : llvm::divideFloorSigned(*x, *y);
      result.number = value;
      return result;
    }
    if (divides && !y)
      right.number = nodes.number("torch", "sym_max", {right.number, 1});
    StringRef target = op == "+"   ? "add"
                       : op == "-" ? "sub"
                       : op == "*" ? "mul"
                       : op == "%" ? "mod"
                                   : "floordiv";
    result.number = nodes.number("_operator", target, {left.number, right.number});
    return result;
  }

  Result chain(ArrayRef<StringLiteral> operators, Result (GuardReader::*part)()) {
    Result left = (this->*part)();
    while (left) {
      auto op = llvm::find_if(operators, [&](StringRef token) { return consume(token); });
      if (op == operators.end())
        break;
      Result right = (this->*part)();
      left = right ? apply(*op, *left, *right) : std::nullopt;
    }
    return left;
  }
  Result sum() {
    static constexpr StringLiteral operators[] = {"+", "-"};
    return chain(operators, &GuardReader::term);
  }
  Result term() {
    static constexpr StringLiteral operators[] = {"*", "//", "%"};
    return text.ltrim().starts_with("**") ? std::nullopt : chain(operators, &GuardReader::unary);
  }

  Result unary() {
    if (depth >= kMaxDepth || ++atoms > kMaxAtoms)
      return std::nullopt;
    ++depth;
    bool minus = consume("-");
    Result value = minus ? unary() : atom();
    --depth;
    return value && minus ? apply("*", Operand{-1}, *value) : value;
  }

  Result atom() {
    if (consume("(")) {
      Result value = disjunction();
      return consume(")") ? value : std::nullopt;
    }
    for (StringRef name : {"sym_max", "sym_min"})
      if (consume("torch." + name.str() + "("))
        return extreme(name);
    if (consume("L["))
      return extent();
    int64_t value;
    if (text.consumeInteger(10, value) || text.starts_with("."))
      return std::nullopt;
    return Operand{value};
  }

  /// After "torch.sym_max(".
  Result extreme(StringRef name) {
    Result left = sum();
    Result right = left && consume(",") ? sum() : std::nullopt;
    if (!right || !consume(")") || left->isTruth || right->isTruth)
      return std::nullopt;
    auto x = left->constant(), y = right->constant();
    if (x && y)
      return Operand{name == "sym_max" ? std::max(*x, *y) : std::min(*x, *y)};
    return Operand{nodes.number("torch", name, {left->number, right->number})};
  }

  /// The input x_k_0 of L['x']['k'][0]; of **x it is k_0.
  const CheckedInput *input(StringRef name, StringRef first) const {
    auto isCalled = [&](const CheckedInput &i) { return i.name == name; };
    bool isKeyword = llvm::none_of(inputs, [&](const CheckedInput &i) {
      return i.name == first || (i.name.starts_with(first) && i.name[first.size()] == '_');
    });
    if (isKeyword && name.size() > first.size())
      name = name.drop_front(first.size() + 1);
    auto found = llvm::find_if(inputs, isCalled);
    return found == inputs.end() ? nullptr : &*found;
  }

  /// After "L[": 'x']['k'][0].size()[1].
  Result extent() {
    std::string name, first;
    do {
      StringRef key;
      if (consume("'")) {
        key = text.take_until([](char c) { return c == '\''; });
        text = text.drop_front(key.size());
        if (!consume("'"))
          return std::nullopt;
      } else {
        key = text.take_while(llvm::isDigit);
        text = text.drop_front(key.size());
      }
      if (key.empty() || !consume("]"))
        return std::nullopt;
      name += (name.empty() ? "" : "_") + key.lower();
      if (first.empty())
        first = name;
    } while (consume("["));
    int64_t axis;
    if (!consume(".size()[") || text.consumeInteger(10, axis) || !consume("]"))
      return std::nullopt;
    const CheckedInput *read = input(name, first);
    if (!read || axis < 0)
      return std::nullopt;
    auto type = cast<RankedTensorType>(read->value.getType());
    if (axis >= type.getRank())
      return std::nullopt;
    if (!type.isDynamicDim(axis))
      return Operand{type.getDimSize(axis)};
    Value here = nodes.extent(read->value, axis);
    return Operand{orders ? nodes.number("torch", "sym_max", {here, 2}) : here};
  }

  StringRef text;
  SizeNodes &nodes;
  ArrayRef<CheckedInput> inputs;
  bool orders; ///< asks for more than equality
  unsigned depth = 0, atoms = 0;
};

} // namespace

llvm::Error checkGuards(OpBuilder &builder, ArrayRef<CheckedInput> inputs,
                        ArrayRef<std::string> guards) {
  SizeNodes nodes(builder);
  llvm::StringSet<> seen;
  for (const std::string &guard : guards) {
    if (!seen.insert(guard).second)
      continue;
    auto condition = GuardReader(guard, nodes, inputs).run();
    if (!condition)
      continue;
    std::string message = "the program was exported for sizes with " + printable(guard, 300);
    if (auto *holds = std::get_if<int64_t>(&*condition)) {
      if (!*holds)
        return userError(message);
      continue;
    }
    nodes.require(std::get<Value>(*condition), message);
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
