//===- ShapeChecks.cpp - What the file says of sizes, before it is used ----------===//
//
// Sizes, strides and computed numbers are stated as text. What cannot be read
// would pass for a size that only a run knows, and with it the fault in the file
// that made it so. Symbols come from the extents of inputs and from the ranges;
// `u0`, `zuf0` are torch's names for numbers that nodes compute.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Shapes.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::torchexport {

llvm::Error Shapes::readRanges(const llvm::StringMap<Range> &ranges) {
  for (const auto &entry : ranges) {
    std::string shown = "range_constraints: '" + printable(entry.getKey()) + "' ";
    const SymExpr *expr = parsed(entry.getKey());
    if (!expr)
      return userError(shown + "is no expression over dims");
    expr->forEachSymbol([&](StringRef symbol) { ranged.insert(symbol); });
    const Range &range = entry.getValue();
    if (range.min && range.max && *range.min > *range.max)
      return userError(shown + "reaches from " + llvm::Twine(*range.min) + " to " +
                       llvm::Twine(*range.max) + ", which is empty");
  }
  return llvm::Error::success();
}

bool Shapes::isKnown(StringRef symbol) const {
  if (bounds.contains(symbol) || ranged.contains(symbol))
    return true;
  StringRef computed = symbol;
  return (computed.consume_front("zuf") || computed.consume_front("zf") ||
          computed.consume_front("u")) &&
         !computed.empty() && llvm::all_of(computed, llvm::isDigit);
}

std::string Shapes::faultOf(const SymExpr &expr) {
  std::string fault;
  bool hasSymbols = false;
  expr.forEachSymbol([&](StringRef symbol) {
    hasSymbols = true;
    if (fault.empty() && !isKnown(symbol))
      fault = "has the symbol '" + symbol.str() + "', which no input and no range defines";
  });
  expr.forEachDivisor([&](const SymExpr &divisor) {
    auto isZero = [&](std::optional<int64_t> value) { return value == 0; };
    bool zero = isZero(divisor.evaluate([&](StringRef name) { return fixedValue(name); })) ||
                (isZero(trial(divisor, 1)) && isZero(trial(divisor, 2)));
    if (fault.empty() && zero)
      fault = "divides by zero";
  });
  if (fault.empty() && !hasSymbols && !expr.evaluate([](StringRef) { return std::nullopt; }))
    fault = "is no integer of 64 bits";
  return fault;
}

std::string Shapes::faultOf(const SymInt &value) {
  if (value.value)
    return "";
  auto [known, isNew] = faults.try_emplace(value.expr);
  if (isNew) {
    const SymExpr *expr = parsed(value.expr);
    known->second = expr ? faultOf(*expr) : "is no expression over dims";
  }
  return known->second;
}

llvm::Error Shapes::check(const Graph &graph) {
  auto checked = [&](const SymInt &value, const llvm::Twine &what,
                     bool mayBeNegative = false) -> llvm::Error {
    if (value.value && *value.value < 0 && !mayBeNegative)
      return userError(what + " " + llvm::Twine(*value.value) + " is negative");
    std::string fault = faultOf(value);
    return fault.empty() ? llvm::Error::success()
                         : userError(what + " '" + printable(value.expr) + "' " + fault);
  };
  for (const auto &entry : graph.tensors) {
    std::string of = "tensor '" + printable(entry.getKey()) + "': its ";
    for (const SymInt &size : entry.getValue().sizes)
      if (llvm::Error error = checked(size, of + "size"))
        return error;
    for (const SymInt &stride : entry.getValue().strides)
      if (llvm::Error error = checked(stride, of + "stride"))
        return error;
    if (llvm::Error error = checked(entry.getValue().offset, of + "offset"))
      return error;
  }
  for (const auto &entry : graph.integers)
    if (llvm::Error error = checked(entry.getValue(), "number '" + printable(entry.getKey()) + "':",
                                    /*mayBeNegative=*/true))
      return error;
  return llvm::Error::success();
}

} // namespace tcc::torchexport
