#include "tcc/Support/Json.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace llvm;
using namespace tcc;

constexpr unsigned kMaxDepth = 256;
constexpr size_t kMaxValues = 24'000'000; // about 1.5 GB once parsed

/// A key, quotes and all, that an object of valid JSON has twice; empty when none has.
static StringRef keyTwice(StringRef text) {
  std::vector<std::vector<StringRef>> keys; // of the objects and arrays around, outermost first
  bool keyFollows = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      size_t begin = i;
      while (text[++i] != '"')
        i += text[i] == '\\';
      if (keyFollows)
        keys.back().push_back(text.slice(begin, i + 1));
      keyFollows = false;
    } else if (c == '{' || c == '[') {
      keys.emplace_back();
      keyFollows = c == '{';
    } else if (c == ',') {
      keyFollows = !keys.back().empty();
    } else if (c == '}' || c == ']') {
      llvm::sort(keys.back());
      auto twice = std::adjacent_find(keys.back().begin(), keys.back().end());
      if (twice != keys.back().end())
        return *twice;
      keys.pop_back();
    }
  }
  return {};
}

Expected<json::Value> tcc::parseJson(StringRef text) {
  unsigned depth = 0;
  size_t values = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      while (++i < text.size() && text[i] != '"')
        i += text[i] == '\\';
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > kMaxDepth)
        return userError("JSON nested more than " + Twine(kMaxDepth) + " deep");
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    } else if (c == ',') {
      ++values;
    }
    if (values > kMaxValues)
      return userError("JSON of more than " + Twine(kMaxValues) + " values");
  }
  auto parsed = json::parse(text);
  if (!parsed)
    return userError("not valid JSON: " + printable(toString(parsed.takeError())));
  if (StringRef key = keyTwice(text); !key.empty())
    return userError("JSON has the key " + printable(key) + " twice in one object");
  return parsed;
}
