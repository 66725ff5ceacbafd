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
// extents of at least 2. Equalities, remainders and bits are asked of what there is.
//
// int(0.5 * n) is not in the graph either: it is the example's number, and that it comes out again
// is a guard. Floats are doubles, as Python's are.
//
// A guard that is not understood (of values) is none.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Guards.h"
#include "Import/TorchExport/SizeNodes.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace tcc::torchexport {
namespace {

/// Recursive descent over what torch prints, which emits nodes as it reads:
///   choice = or [if or else choice];  or = and {or and};  and = not {and not};  not = not not |
///   compare; compare = bits [relation bits];  bits = xor {"|" xor};  xor = both {^ both}; both =
///   sum {& sum};  sum = term {(+|-) term};  term = unary {(*|//|/|%) unary}; unary = -unary |
///   power;  power = atom [** unary]; atom = number | function(or {, or}) | L[key]...size()[axis] |
///   (choice).
class GuardReader {
public:
  GuardReader(StringRef text, SizeNodes &nodes, ArrayRef<CheckedInput> inputs)
      : text(text), nodes(nodes), inputs(inputs),
        orders(text.find_first_of("<>!") != StringRef::npos &&
               text.find_first_of("%&|^") == StringRef::npos) {}

  /// The condition, or a constant; nothing if the text is not understood.
  std::optional<SizeNodes::Number> run() {
    auto value = choice();
    if (!value || !text.trim().empty())
      return std::nullopt;
    return value->number;
  }

private:
  using Number = SizeNodes::Number;
  struct Operand {
    Number number;
    enum Kind { Extent, Whole, Remainder, Real, Truth } kind = Whole;
    bool isTruth() const { return kind == Truth; }
    bool isReal() const { return kind == Real; }
    std::optional<int64_t> constant() const {
      auto *known = std::get_if<int64_t>(&number);
      return known ? std::optional(*known) : std::nullopt;
    }
    std::optional<double> real() const {
      if (auto *known = std::get_if<double>(&number))
        return *known;
      auto whole = constant();
      return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
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
      if (!right || !left->isTruth() || !right->isTruth())
        return std::nullopt;
      bool absorbs = name == "or"; // what a constant that decides is
      if (auto known = left->constant())
        left = bool(*known) == absorbs ? left : right;
      else if (auto known = right->constant())
        left = bool(*known) == absorbs ? right : left;
      else
        left = Operand{nodes.truth("_operator", target, {left->number, right->number}),
                       Operand::Truth};
    }
    return left;
  }
  Result disjunction() { return joined("or", "or_", &GuardReader::conjunction); }
  Result conjunction() { return joined("and", "and_", &GuardReader::negation); }

  Result negation() {
    if (!word("not"))
      return comparison();
    if (!enter())
      return std::nullopt;
    Result value = negation();
    --depth;
    if (!value || !value->isTruth())
      return std::nullopt;
    if (auto known = value->constant())
      return Operand{int64_t(!*known), Operand::Truth};
    return Operand{nodes.truth("torch", "sym_not", {value->number}), Operand::Truth};
  }

  /// Whether the relation only says that an extent is neither 0 nor 1.
  static bool keepsOffOne(StringRef relation, const Operand &left, const Operand &right) {
    auto bound = right.constant();
    if (!bound || (left.kind != Operand::Extent && left.kind != Operand::Whole))
      return false;
    if (relation == "!=")
      return *bound == 0 || *bound == 1;
    return left.kind == Operand::Extent && ((relation == ">" && (*bound == 0 || *bound == 1)) ||
                                            (relation == ">=" && (*bound == 1 || *bound == 2)));
  }

  template <typename T> static bool holds(StringRef relation, T x, T y) {
    return relation == "=="   ? x == y
           : relation == "!=" ? x != y
           : relation == "<=" ? x <= y
           : relation == ">=" ? x >= y
           : relation == "<"  ? x < y
                              : x > y;
  }

  Result comparison() {
    static constexpr std::pair<StringLiteral, StringLiteral> relations[] = {
        {"==", "eq"}, {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}, {"<", "lt"}, {">", "gt"}};
    Result left = bits();
    if (!left)
      return left;
    for (auto [relation, target] : relations) {
      if (!consume(relation))
        continue;
      Result right = bits();
      if (!right || left->isTruth() != right->isTruth() ||
          (left->isTruth() && target != "eq" && target != "ne"))
        return std::nullopt;
      if (keepsOffOne(relation, *left, *right))
        return Operand{1, Operand::Truth};
      if (auto x = left->constant(), y = right->constant(); x && y)
        return Operand{int64_t(holds(relation, *x, *y)), Operand::Truth};
      if (auto x = left->real(), y = right->real(); x && y)
        return Operand{int64_t(holds(relation, *x, *y)), Operand::Truth};
      if (left->isReal() || right->isReal())
        return Operand{nodes.truth("_operator", target, {asReal(*left), asReal(*right)}),
                       Operand::Truth};
      return Operand{nodes.truth("_operator", target, {left->number, right->number}),
                     Operand::Truth};
    }
    return left;
  }

  Result choice() {
    Result yes = disjunction();
    if (!yes || !word("if"))
      return yes;
    Result holds = disjunction();
    if (!holds || !holds->isTruth() || !word("else") || !enter())
      return std::nullopt;
    Result no = choice();
    --depth;
    if (!no || yes->isTruth() || no->isTruth())
      return std::nullopt;
    if (auto known = holds->constant())
      return *known ? yes : no;
    if (yes->isReal() || no->isReal())
      return Operand{nodes.choice(holds->number, asReal(*yes), asReal(*no), true), Operand::Real};
    return Operand{nodes.choice(holds->number, yes->number, no->number, false)};
  }

  Number asReal(const Operand &x) {
    if (auto known = x.real())
      return *known;
    return x.isReal() ? x.number : nodes.real("torch", "sym_float", {x.number});
  }

  /// x op y of doubles.
  Result applyToReals(StringRef op, const Operand &left, const Operand &right) {
    if (op == "//" || op == "%")
      return std::nullopt;
    if (auto x = left.real(), y = right.real(); x && y) {
      double value = op == "+"   ? *x + *y
                     : op == "-" ? *x - *y
                     : op == "*" ? *x * *y
                     : op == "/" ? *x / *y
                                 : std::pow(*x, *y);
      return Operand{value, Operand::Real};
    }
    StringRef target = op == "+"   ? "add"
                       : op == "-" ? "sub"
                       : op == "*" ? "mul"
                       : op == "/" ? "truediv"
                                   : "pow";
    return Operand{nodes.real("_operator", target, {asReal(left), asReal(right)}), Operand::Real};
  }

  Result applyToBits(StringRef op, const Operand &left, const Operand &right) {
    if (left.isTruth() || right.isTruth() || left.isReal() || right.isReal())
      return std::nullopt;
    if (auto x = left.constant(), y = right.constant(); x && y)
      return Operand{op == "&" ? *x & *y : op == "|" ? *x | *y : *x ^ *y, Operand::Remainder};
    StringRef target = op == "&" ? "and_" : op == "|" ? "or_" : "xor";
    return Operand{nodes.number("_operator", target, {left.number, right.number}),
                   Operand::Remainder};
  }

  /// x op y, of constants as of values. A divisor is at least 1: an extent of 0 that divides is one
  /// that torch supposed not to be.
  Result apply(StringRef op, const Operand &left, Operand right) {
    if (op == "&" || op == "|" || op == "^")
      return applyToBits(op, left, right);
    if (left.isTruth() || right.isTruth())
      return std::nullopt;
    if (op == "/" || left.isReal() || right.isReal())
      return applyToReals(op, left, right);
    bool divides = op == "//" || op == "%";
    auto x = left.constant(), y = right.constant();
    if (divides && y && *y <= 0)
      return std::nullopt;
    Operand result{0, op == "%" ? Operand::Remainder : Operand::Whole};
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
      if (text.ltrim().starts_with("**"))
        return std::nullopt;
      auto op = llvm::find_if(operators, [&](StringRef token) { return consume(token); });
      if (op == operators.end())
        break;
      Result right = (this->*part)();
      left = right ? apply(*op, *left, *right) : std::nullopt;
    }
    return left;
  }
  Result bits() { return chain({"|"}, &GuardReader::exclusive); }
  Result exclusive() { return chain({"^"}, &GuardReader::both); }
  Result both() { return chain({"&"}, &GuardReader::sum); }
  Result sum() { return chain({"+", "-"}, &GuardReader::term); }
  Result term() { return chain({"*", "//", "/", "%"}, &GuardReader::unary); }

  bool enter() { return depth < kMaxDepth && ++atoms <= kMaxAtoms && ++depth; }

  Result unary() {
    if (!enter())
      return std::nullopt;
    bool minus = consume("-");
    Result value = minus ? unary() : power();
    --depth;
    return value && minus ? apply("*", Operand{-1}, *value) : value;
  }

  /// Of whole numbers torch writes only those whose exponent is natural so.
  Result power() {
    Result base = atom();
    if (!base || !consume("**"))
      return base;
    Result exponent = unary();
    if (!exponent || base->isTruth() || exponent->isTruth())
      return std::nullopt;
    if (base->isReal() || exponent->isReal())
      return applyToReals("**", *base, *exponent);
    return Operand{nodes.number("_operator", "pow", {base->number, exponent->number})};
  }

  Result atom() {
    if (consume("(")) {
      Result value = choice();
      return consume(")") ? value : std::nullopt;
    }
    for (StringRef name : {"max", "min"})
      if (consume(("torch.sym_" + name + "(").str()) || consume((name + "(").str()))
        return extreme(name);
    for (StringRef name : {"floor", "ceil", "trunc"})
      if (consume(("math." + name + "(").str()))
        return function([&](const Operand &x) { return whole("math", name, x); });
    if (consume("round("))
      return rounded();
    if (consume("torch.sym_float("))
      return function([&](const Operand &x) { return Operand{asReal(x), Operand::Real}; });
    if (consume("torch._sym_sqrt("))
      return function([&](const Operand &x) -> Result {
        return Operand{nodes.real("torch", "sym_sqrt", {asReal(x)}), Operand::Real};
      });
    if (consume("abs("))
      return function([&](const Operand &x) -> Result {
        auto negative = apply("*", Operand{-1}, x);
        Result size = negative ? larger("max", x, *negative) : std::nullopt;
        if (size && !size->isReal())
          size->kind = Operand::Remainder;
        return size;
      });
    if (consume("L["))
      return extent();
    return literal();
  }

  Result literal() {
    StringRef digits = text.take_while([](char c) { return llvm::isDigit(c); });
    StringRef rest = text.drop_front(digits.size());
    if (digits.empty())
      return std::nullopt;
    if (rest.consume_front("."))
      rest = rest.drop_while([](char c) { return llvm::isDigit(c); });
    if (StringRef exponent = rest; exponent.consume_front_insensitive("e")) {
      if (!exponent.consume_front("-"))
        exponent.consume_front("+");
      rest = exponent.drop_while([](char c) { return llvm::isDigit(c); });
    }
    StringRef number = text.drop_back(rest.size());
    text = rest;
    int64_t value;
    double real;
    if (number.size() == digits.size())
      return number.getAsInteger(10, value) ? Result() : Operand{value};
    return number.getAsDouble(real) ? Result() : Operand{real, Operand::Real};
  }

  /// What is behind "name(", of one number.
  template <typename Of> Result function(Of of) {
    Result x = disjunction();
    return x && !x->isTruth() && consume(")") ? Result(of(*x)) : std::nullopt;
  }

  /// A float as a whole number.
  Result whole(StringRef domain, StringRef name, const Operand &x) {
    if (!x.isReal())
      return x;
    auto known = x.real();
    if (!known)
      return Operand{nodes.number(domain, name, {x.number})};
    double value = name == "floor"   ? std::floor(*known)
                   : name == "ceil"  ? std::ceil(*known)
                   : name == "trunc" ? std::trunc(*known)
                                     : std::nearbyint(*known);
    if (!(std::abs(value) < 0x1p63))
      return std::nullopt;
    return Operand{static_cast<int64_t>(value)};
  }

  /// After "round(": a number, and how many digits of it are kept.
  Result rounded() {
    Result x = disjunction();
    if (!x || x->isTruth())
      return std::nullopt;
    if (!consume(","))
      return consume(")") ? whole("builtins", "round", *x) : std::nullopt;
    Result digits = unary();
    auto count = digits ? digits->constant() : std::nullopt;
    if (!consume(")") || !count || *count < 0 || *count > SizeNodes::kMaxDigits)
      return std::nullopt;
    return x->isReal() ? Operand{nodes.rounded(x->number, *count), Operand::Real} : x;
  }

  Result larger(StringRef name, const Operand &left, const Operand &right) {
    if (left.isTruth() || right.isTruth())
      return std::nullopt;
    auto x = left.constant(), y = right.constant();
    if (x && y)
      return Operand{name == "max" ? std::max(*x, *y) : std::min(*x, *y)};
    std::string target = ("sym_" + name).str();
    if (left.isReal() || right.isReal())
      return Operand{nodes.real("torch", target, {asReal(left), asReal(right)}), Operand::Real};
    return Operand{nodes.number("torch", target, {left.number, right.number})};
  }

  /// After "max(".
  Result extreme(StringRef name) {
    Result left = disjunction();
    while (left && consume(",")) {
      Result right = disjunction();
      left = right ? larger(name, *left, *right) : std::nullopt;
    }
    return consume(")") ? left : std::nullopt;
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
      return Operand{type.getDimSize(axis), Operand::Extent};
    Value here = nodes.extent(read->value, axis);
    return Operand{orders ? nodes.number("torch", "sym_max", {here, 2}) : here, Operand::Extent};
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
