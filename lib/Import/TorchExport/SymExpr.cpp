//===- SymExpr.cpp - Sizes as expressions over symbols -------------------===//
//
// The file holds sizes as SymPy's text, in two dialects. They are parsed once into a small tree
// that can be evaluated, solved for one symbol and printed, because everything about open shapes
// (names of dims, checks of inputs, host arithmetic) needs one of these. Arithmetic that overflows
// is refused: a size that wrapped around would be believed.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/SymExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace llvm;

namespace tcc::torchexport {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Recursive descent over both forms at once:
///   sum = term {(+|-) term};  term = unary {(*|/|//) unary};
///   unary = -unary | atom [** unary];
///   atom = number | name | name(sum | 'text' | key=word, ...) | (sum).
class SymExprParser {
  using Result = std::optional<SymExpr>;

public:
  explicit SymExprParser(StringRef text) : text(text) {}

  Result run() {
    Result value = sum();
    return value && text.trim().empty() ? std::move(value) : std::nullopt;
  }

private:
  static constexpr unsigned kMaxDepth = 400, kMaxAtoms = 20000;

  bool consume(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  StringRef word() {
    text = text.ltrim();
    StringRef found = text.take_while([](char c) { return isAlnum(c) || c == '_' || c == '.'; });
    text = text.drop_front(found.size());
    return found;
  }
  static SymExpr call(StringRef name, SymExpr a, SymExpr b) {
    SymExpr result;
    result.kind = SymExpr::Kind::Call;
    result.name = name.str();
    result.args.push_back(std::move(a));
    result.args.push_back(std::move(b));
    return result;
  }
  /// Sums and products of many are one call, however long: nothing recurses along them.
  static SymExpr joined(StringRef name, SymExpr left, SymExpr right) {
    if ((name != "Add" && name != "Mul") || left.kind != SymExpr::Kind::Call || left.name != name)
      return call(name, std::move(left), std::move(right));
    left.args.push_back(std::move(right));
    return left;
  }
  static SymExpr negated(SymExpr x) { return call("Mul", SymExpr::integer(-1), std::move(x)); }

  Result sum() {
    Result left = term();
    while (left) {
      bool plus = consume("+");
      if (!plus && !consume("-"))
        break;
      Result right = term();
      if (!right)
        return std::nullopt;
      left = joined("Add", std::move(*left), plus ? std::move(*right) : negated(std::move(*right)));
    }
    return left;
  }

  Result term() {
    Result left = unary();
    while (left) {
      StringRef name = consume("//") ? "FloorDiv" : consume("/") ? "IntTrueDiv" : "";
      if (name.empty() && text.ltrim().starts_with("**"))
        break;
      if (name.empty() && !consume("*"))
        break;
      Result right = unary();
      if (!right)
        return std::nullopt;
      left = joined(name.empty() ? "Mul" : name, std::move(*left), std::move(*right));
    }
    return left;
  }

  Result unary() {
    if (depth >= kMaxDepth)
      return std::nullopt;
    ++depth;
    bool minus = consume("-");
    Result value = minus ? unary() : atom();
    if (value && minus)
      value = negated(std::move(*value));
    if (value && !minus && consume("**")) {
      Result exponent = unary();
      value =
          exponent ? Result(call("Pow", std::move(*value), std::move(*exponent))) : std::nullopt;
    }
    --depth;
    return value;
  }

  Result atom() {
    if (++atoms > kMaxAtoms)
      return std::nullopt;
    if (consume("(")) {
      Result value = sum();
      return consume(")") ? std::move(value) : std::nullopt;
    }
    StringRef name = word();
    if (!name.empty() && isDigit(name[0]))
      return number(name);
    if (!isName(name))
      return std::nullopt;
    return consume("(") ? function(name) : symbol(name);
  }

  static bool isName(StringRef text) {
    return !text.empty() && !isDigit(text[0]) &&
           all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
  }

  static Result named(SymExpr::Kind kind, StringRef name) {
    SymExpr result;
    result.kind = kind;
    result.name = name.str();
    return result;
  }

  static Result symbol(StringRef name) {
    static constexpr StringLiteral constants[] = {"oo",   "nan",   "zoo",  "I",
                                                  "true", "false", "True", "False"};
    if (!isName(name) || is_contained(constants, name))
      return std::nullopt;
    return named(SymExpr::Kind::Symbol, name);
  }

  static Result number(StringRef digits) {
    int64_t value;
    double real;
    if (!digits.getAsInteger(10, value))
      return SymExpr::integer(value);
    if (!digits.contains('.') || digits.getAsDouble(real) || !std::isfinite(real))
      return std::nullopt;
    return named(SymExpr::Kind::Real, digits);
  }

  /// How many arguments a function of torch or sympy takes that may stand in a size.
  static bool isKnown(StringRef name, size_t arguments) {
    if (name.starts_with("OpaqueUnaryFn_"))
      return arguments == 1;
    if (name.starts_with("BitwiseFn_"))
      return arguments == 2;
    auto [low, high] =
        StringSwitch<std::pair<size_t, size_t>>(name)
            .Cases({"Add", "Mul", "Max", "Min", "And", "Or", "Piecewise"}, {1, SIZE_MAX})
            .Case("IsNonOverlappingAndDenseIndicator", {1, SIZE_MAX})
            .Cases({"Integer", "ToFloat", "TruncToInt", "TruncToFloat", "CeilToInt"}, {1, 1})
            .Cases({"FloorToInt", "RoundToInt", "Identity", "Abs", "floor", "ceiling"}, {1, 1})
            .Cases({"Not", "sqrt"}, {1, 1})
            .Cases({"Pow", "PowByNatural", "FloatPow", "Mod", "PythonMod", "FloorDiv"}, {2, 2})
            .Cases({"CleanDiv", "CeilDiv", "IntTrueDiv", "FloatTrueDiv", "Rational"}, {2, 2})
            .Cases({"RoundDecimal", "LShift", "RShift", "ExprCondPair", "Equality"}, {2, 2})
            .Cases({"Eq", "Ne", "Unequality", "StrictLessThan", "LessThan"}, {2, 2})
            .Cases({"StrictGreaterThan", "GreaterThan", "Lt", "Le", "Gt", "Ge"}, {2, 2})
            .Cases({"ModularIndexing", "Where"}, {3, 3})
            .Default({1, 0});
    return low <= arguments && arguments <= high;
  }

  /// Of conditions, which may be settled.
  static bool takesTruth(StringRef name) {
    return name == "ExprCondPair" || name == "And" || name == "Or" || name == "Not";
  }

  /// After "Symbol(" or "Float(": 'text', and what else is known of it.
  Result quoted(StringRef name) {
    if (!consume("'"))
      return std::nullopt;
    StringRef content = text.take_until([](char c) { return c == '\''; });
    text = text.drop_front(content.size());
    Result result = name == "Symbol" ? symbol(content) : number(content);
    if (!consume("'"))
      return std::nullopt;
    while (result && consume(",")) {
      if (word().empty() || !consume("=") || word().empty())
        return std::nullopt;
    }
    return consume(")") ? std::move(result) : std::nullopt;
  }

  /// After "name(": arguments and keywords up to ")".
  Result function(StringRef name) {
    if (name == "Symbol" || name == "Float")
      return quoted(name);
    SymExpr result;
    result.kind = SymExpr::Kind::Call;
    result.name = name.str();
    do {
      StringRef before = text, first = word();
      if (consume("=")) {
        word();
        continue;
      }
      if (takesTruth(name) && (first == "true" || first == "false")) {
        result.args.push_back(SymExpr::integer(first == "true"));
        continue;
      }
      text = before;
      Result argument = sum();
      if (!argument)
        return std::nullopt;
      result.args.push_back(std::move(*argument));
    } while (consume(","));
    if (!consume(")") || !isKnown(name, result.args.size()))
      return std::nullopt;
    if (name != "Integer")
      return result;
    bool whole = result.args[0].kind == SymExpr::Kind::Integer || result.args[0].name == "Mul";
    return whole ? Result(std::move(result.args[0])) : std::nullopt; // "Mul": -1
  }

  StringRef text;
  unsigned depth = 0, atoms = 0;
};

SymExpr SymExpr::integer(int64_t value) {
  SymExpr result;
  result.value = value;
  return result;
}

std::optional<SymExpr> SymExpr::parse(StringRef text) { return SymExprParser(text).run(); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::optional<int64_t> power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  if (exponent < 0 || exponent > 63)
    return std::nullopt;
  while (exponent-- > 0)
    if (MulOverflow(result, base, result))
      return std::nullopt;
  return result;
}

/// A function of integers that gives an integer.
static std::optional<int64_t> applyFunction(StringRef name, ArrayRef<int64_t> args) {
  if (args.empty())
    return std::nullopt;
  if (name == "Max")
    return *llvm::max_element(args);
  if (name == "Min")
    return *llvm::min_element(args);
  static constexpr StringLiteral identities[] = {"ToFloat",    "TruncToInt", "CeilToInt",
                                                 "FloorToInt", "RoundToInt", "Identity"};
  if (args.size() == 1 && llvm::is_contained(identities, name))
    return args[0];
  if (args.size() != 2)
    return std::nullopt;
  int64_t a = args[0], b = args[1];
  if (name == "PowByNatural" || name == "Pow")
    return power(a, b);
  if (b <= 0)
    return std::nullopt;
  if (name == "FloorDiv" || name == "CleanDiv")
    return divideFloorSigned(a, b);
  if (name == "CeilDiv")
    return divideCeilSigned(a, b);
  if (name == "Mod" || name == "PythonMod")
    return ((a % b) + b) % b;
  return std::nullopt;
}

std::optional<SymExpr::Rational> SymExpr::rational(Assignment symbols) const {
  if (kind == Kind::Integer)
    return Rational{value, 1};
  if (kind == Kind::Real)
    return std::nullopt;
  if (kind == Kind::Symbol) {
    auto bound = symbols(name);
    return bound ? std::optional(Rational{*bound, 1}) : std::nullopt;
  }
  SmallVector<Rational, 4> operands;
  for (const SymExpr &arg : args) {
    auto operand = arg.rational(symbols);
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  auto reduced = [](int64_t num, int64_t den) -> std::optional<Rational> {
    if (den <= 0 || num == INT64_MIN)
      return std::nullopt;
    int64_t divisor = std::gcd(num, den);
    return Rational{num / divisor, den / divisor};
  };
  if (name == "Add" || name == "Mul") {
    Rational total{name == "Mul", 1};
    for (Rational x : operands) {
      int64_t num, den, left, right;
      if (MulOverflow(total.den, x.den, den))
        return std::nullopt;
      if (name == "Mul" ? MulOverflow(total.num, x.num, num) != 0
                        : MulOverflow(total.num, x.den, left) ||
                              MulOverflow(x.num, total.den, right) || AddOverflow(left, right, num))
        return std::nullopt;
      auto sum = reduced(num, den);
      if (!sum)
        return std::nullopt;
      total = *sum;
    }
    return total;
  }
  SmallVector<int64_t, 4> integers;
  for (Rational x : operands) {
    if (x.den != 1)
      return std::nullopt;
    integers.push_back(x.num);
  }
  if (integers.size() == 2 &&
      (name == "Rational" || name == "IntTrueDiv" || name == "FloatTrueDiv"))
    return reduced(integers[0], integers[1]);
  auto result = applyFunction(name, integers);
  return result ? std::optional(Rational{*result, 1}) : std::nullopt;
}

std::optional<int64_t> SymExpr::evaluate(Assignment symbols) const {
  auto result = rational(symbols);
  return result && result->den == 1 ? std::optional(result->num) : std::nullopt;
}

void SymExpr::forEachSymbol(function_ref<void(StringRef)> f) const {
  if (kind == Kind::Symbol)
    f(name);
  for (const SymExpr &arg : args)
    arg.forEachSymbol(f);
}

void SymExpr::forEachDivisor(function_ref<void(const SymExpr &)> f) const {
  bool divides = StringSwitch<bool>(function())
                     .Cases({"FloorDiv", "CleanDiv", "CeilDiv", "IntTrueDiv"}, true)
                     .Cases({"FloatTrueDiv", "Rational", "Mod", "PythonMod"}, true)
                     .Case("ModularIndexing", true)
                     .Default(false);
  for (const SymExpr &arg : args) {
    if (divides && &arg != &args.front())
      f(arg);
    arg.forEachDivisor(f);
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string SymExpr::print(unsigned precedence) const {
  if (kind == Kind::Integer)
    return std::to_string(value);
  if (kind == Kind::Symbol || kind == Kind::Real)
    return name;
  bool isAdd = name == "Add", isMul = name == "Mul";
  std::string text;
  for (const SymExpr &arg : args) {
    if (&arg != &args.front())
      text += isAdd ? " + " : isMul ? "*" : ", ";
    text += arg.print(isAdd ? 1 : isMul ? 2 : 0);
  }
  if (!isAdd && !isMul)
    return name + "(" + text + ")";
  return precedence > (isAdd ? 1u : 2u) ? "(" + text + ")" : text;
}

std::string SymExpr::str() const { return print(0); }

std::optional<StringRef> SymExpr::symbol() const {
  return kind == Kind::Symbol ? std::optional<StringRef>(name) : std::nullopt;
}

} // namespace tcc::torchexport
