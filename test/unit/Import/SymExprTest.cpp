// Dimensions in a .pt2 are text that a file can make as long and as odd as it likes: values,
// limits, and what is no expression.
#include "Import/TorchExport/SymExpr.h"
#include <catch2/catch.hpp>

using tcc::torchexport::SymExpr;

static std::optional<int64_t> valueOf(llvm::StringRef text) {
  auto expr = SymExpr::parse(text);
  if (!expr)
    return std::nullopt;
  return expr->evaluate([](llvm::StringRef symbol) -> std::optional<int64_t> {
    if (symbol == "s0")
      return 12;
    return symbol == "u1" ? std::optional<int64_t>(5) : std::nullopt;
  });
}

TEST_CASE("dimension expressions have values") {
  CHECK(valueOf("7") == 7);
  CHECK(valueOf("2*s0 + 1") == 25);
  CHECK(valueOf("s0//u1") == 2);
  CHECK(valueOf("(s0/2)") == 6);
  CHECK(valueOf("-s0 + u1**2") == 13);
  CHECK(valueOf("Mod(s0, u1)") == 2);
  CHECK(valueOf("Symbol('s0', positive=True, integer=True)") == 12);
  CHECK(valueOf("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))") == 23);
  CHECK(valueOf("Mul(Rational(1, 2), Symbol('s0', positive=True))") == 6);
  CHECK(valueOf("Max(Integer(1), Symbol('u1', integer=True))") == 5);
  CHECK(valueOf("Pow(Symbol('u1', integer=True), Integer(2))") == 25);
}

TEST_CASE("dimension expressions without a value") {
  for (const char *text : {"", "s9", "s0 +", "(s0", "s0/5", "9223372036854775807*s0", "Mod(s0, 0)",
                           "f(s0)", "s0 s0", "99999999999999999999"})
    CHECK(!valueOf(text));
  CHECK(!valueOf(std::string(100000, '(')));
  CHECK(!valueOf(std::string(100000, '-') + "1"));
}

/// "s0*s0*...", with `count` times s0.
static std::string repeated(llvm::StringRef glue, unsigned count) {
  std::string text = "s0";
  while (--count)
    text += glue.str() + "s0";
  return text;
}

TEST_CASE("long sums and products are read in linear time, up to a limit") {
  CHECK(valueOf(repeated(" + ", 1000)) == 12000);
  CHECK(valueOf(repeated("*", 10)) == 61917364224);
  CHECK(!valueOf(repeated("*", 1000)));
  CHECK(valueOf(repeated(" + ", 20000)) == 240000);
  CHECK(!valueOf(repeated(" + ", 20001)));
  CHECK(!valueOf(repeated("*", 1000000)));
}

TEST_CASE("what is no dimension expression is not read as one") {
  for (const char *text : {"", "s0 +", "Frob(s0)", "Mod(s0)", "Max()", "Symbol('')", "Symbol('s0",
                           "Symbol('s\u202e')", "Symbol('a b')", "Integer('1')", "2s", "s0.5", "oo",
                           "nan", "1e5", "s0\x1b", "FloorDiv(s0, 1, 2)", "true", "Max(s0, true)"}) {
    INFO(text);
    CHECK(!SymExpr::parse(text));
  }
  for (const char *text :
       {"2.5", "Float('1.0e-5', precision=53)", "Float('-0.5', precision=53)", "Integer(-1)",
        "FloorToInt(FloatTrueDiv(ToFloat(Symbol('s0')), Float('2.0', precision=53)))",
        "Where(StrictLessThan(Symbol('s0'), Integer(2)), Integer(1), Symbol('s0'))",
        "Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0', integer=True), Integer(1))), "
        "ExprCondPair(Integer(0), true))"}) {
    INFO(text);
    CHECK(SymExpr::parse(text));
  }
}

TEST_CASE("dimension expressions know their symbols and what they divide by") {
  auto expr = *SymExpr::parse("s0//(u1 - 5) + Mod(s3, 2)");
  std::string symbols;
  expr.forEachSymbol([&](llvm::StringRef name) { symbols += name.str() + " "; });
  CHECK(symbols == "s0 u1 s3 ");
  std::string divisors;
  expr.forEachDivisor([&](const SymExpr &divisor) { divisors += divisor.str() + "; "; });
  CHECK(divisors == "u1 + -1*5; 2; ");
}

TEST_CASE("dimension expressions as text") {
  auto text = [](llvm::StringRef from) { return SymExpr::parse(from)->str(); };
  CHECK(text("Symbol('s0', integer=True)") == "s0");
  CHECK(text("Mul(Integer(2), Add(Symbol('s0'), Integer(1)))") == "2*(s0 + 1)");
  CHECK(text("FloorDiv(Symbol('s0'), Integer(2))") == "FloorDiv(s0, 2)");
  CHECK(SymExpr::parse("s0")->symbol() == llvm::StringRef("s0"));
  CHECK(!SymExpr::parse("2*s0")->symbol());
}
