//===- SymExpr.h - Dimension expressions -------------------------*- C++ -*-===//
//
// Sizes and strides of a dynamic model are expressions over symbols, written as
// sympy's `srepr` ("Mul(Integer(2), Symbol('s11', integer=True))") or, by older
// torch, as its `str` ("2*s11"). The importer needs two things of them: text to
// name an input's dim by, and the value under some assignment, either the
// user's, who may have fixed a symbol, or a trial one, which tells whether two
// expressions are the same.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tcc::torchexport {

class SymExpr {
public:
  using Assignment = llvm::function_ref<std::optional<int64_t>(llvm::StringRef symbol)>;

  static SymExpr integer(int64_t value);
  /// Reads either form; nothing when `text` is neither, or has a function that torch's sizes do
  /// not have.
  static std::optional<SymExpr> parse(llvm::StringRef text);

  /// The value under an assignment; nothing when a symbol has none, the value
  /// is not an integer or overflows, or a function is not known here.
  std::optional<int64_t> evaluate(Assignment symbols) const;
  /// Infix text: "2*s11 + 1".
  std::string str() const;
  /// Calls `f` for every symbol in it, and for every expression that it divides by.
  void forEachSymbol(llvm::function_ref<void(llvm::StringRef)> f) const;
  void forEachDivisor(llvm::function_ref<void(const SymExpr &)> f) const;
  /// The symbol's name, when the expression is just that.
  std::optional<llvm::StringRef> symbol() const;
  /// The number, when it is just that.
  std::optional<int64_t> constant() const {
    return kind == Kind::Integer ? std::optional(value) : std::nullopt;
  }
  /// Of a call: "Add", "FloorDiv", ..; else empty.
  llvm::StringRef function() const { return kind == Kind::Call ? name : llvm::StringRef(); }
  llvm::ArrayRef<SymExpr> operands() const { return args; }

private:
  friend class SymExprParser;
  enum class Kind { Integer, Real, Symbol, Call };
  struct Rational {
    int64_t num, den;
  };
  std::optional<Rational> rational(Assignment symbols) const;
  std::string print(unsigned precedence) const;

  Kind kind = Kind::Integer;
  int64_t value = 0;
  std::string name; ///< of the symbol or the function, or the digits of a real
  std::vector<SymExpr> args;
};

} // namespace tcc::torchexport
