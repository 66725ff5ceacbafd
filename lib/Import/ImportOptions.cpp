#include "tcc/Import/ImportOptions.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace tcc;
using llvm::StringRef;

namespace {

/// Splits at the last '=', since a name may hold one.
std::optional<std::pair<StringRef, StringRef>> splitAssignment(StringRef text) {
  size_t at = text.rfind('=');
  if (at == StringRef::npos || at == 0)
    return std::nullopt;
  return std::pair(text.take_front(at), text.drop_front(at + 1));
}

std::optional<ShapeDim> parseDim(StringRef text) {
  text = text.trim();
  if (text.empty())
    return std::nullopt;
  if (text == "?" || text == "-1")
    return ShapeDim{};
  if (llvm::isDigit(text[0])) {
    int64_t value;
    if (text.getAsInteger(10, value))
      return std::nullopt;
    return ShapeDim{value, {}};
  }
  return ShapeDim{std::nullopt, text.str()};
}

} // namespace

llvm::Error tcc::addShapeOption(ImportOptions &options, StringRef text) {
  auto bad = [&] {
    return userError("--shape " + printable(text) +
                     ": expected NAME=D0xD1x..., as in x=1x3x224x224 or x=N,3,?,?");
  };
  auto parts = splitAssignment(text);
  if (!parts)
    return bad();
  auto [name, list] = *parts;
  llvm::SmallVector<ShapeDim, 4> dims;
  if (!list.empty()) {
    llvm::SmallVector<StringRef> items;
    // Names may hold an 'x': with commas, only commas separate.
    list.split(items, list.contains(',') ? ',' : 'x');
    for (StringRef item : items) {
      auto dim = parseDim(item);
      if (!dim)
        return bad();
      dims.push_back(std::move(*dim));
    }
  }
  if (!options.shapes.try_emplace(name, std::move(dims)).second)
    return userError("--shape gives input '" + printable(name) + "' twice");
  return llvm::Error::success();
}

llvm::Error tcc::addDimOption(ImportOptions &options, StringRef text) {
  auto bad = [&] {
    return userError("--dim " + printable(text) + ": expected NAME=VALUE or NAME=MIN..MAX");
  };
  auto parts = splitAssignment(text);
  if (!parts)
    return bad();
  auto [name, values] = *parts;
  auto [low, high] = values.contains("..") ? values.split("..") : std::pair(values, values);
  DimRange range;
  if (low.trim().getAsInteger(10, range.min) || high.trim().getAsInteger(10, range.max) ||
      range.min < 0 || range.max < range.min)
    return bad();
  if (!options.dims.try_emplace(name, range).second)
    return userError("--dim gives '" + printable(name) + "' twice");
  return llvm::Error::success();
}
