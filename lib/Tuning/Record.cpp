#include "tcc/Tuning/Record.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/InputFile.h"
#include "tcc/Support/Json.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace tcc;
using namespace tcc::tuning;

static Error damaged(StringRef path, unsigned line, const Twine &what) {
  return userError("--tuning " + printable(path, 1000) + ", line " + Twine(line) + ": " + what +
                   "; remove the line, or tune again into a new file");
}

static constexpr std::pair<ChoiceKind, StringLiteral> fields[] = {
    {ChoiceKind::Schedule, "schedule"}, {ChoiceKind::Layout, "layout"}, {ChoiceKind::Cut, "cut"}};

static StringRef fieldOf(ChoiceKind kind) {
  return llvm::find_if(fields, [&](const auto &field) { return field.first == kind; })->second;
}

/// One line as an entry.
static Error readLine(StringRef path, unsigned line, StringRef text,
                      std::pair<ProblemKey, Choice> &entry) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return damaged(path, line, toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return damaged(path, line, "no JSON object");
  auto word = [&](StringRef name, std::string &field) {
    std::optional<StringRef> given = object->getString(name);
    field = given.value_or("").str();
    return !field.empty();
  };
  std::optional<int64_t> version = object->getInteger("version");
  auto &[key, choice] = entry;
  for (const auto &[kind, field] : fields)
    if (object->get(field))
      choice.kind = kind;
  if (!word("problem", key.problem) || !word("target", key.target) ||
      !word("kernel", choice.kernel) || !word(fieldOf(choice.kind), choice.chosen) || !version)
    return damaged(path, line,
                   "'problem', 'target', 'version', 'kernel', or all of 'schedule', 'layout' and "
                   "'cut' are missing");
  key.version = *version;
  choice.line = line;
  return Error::success();
}

Expected<Record> Record::read(StringRef path) {
  Record record;
  if (!sys::fs::exists(path))
    return record;
  auto file = openInputFile(path);
  if (!file)
    return userError("--tuning " + printable(path, 1000) + " " + toString(file.takeError()));
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  for (auto [i, text] : enumerate(lines)) {
    if (text.trim().empty())
      continue;
    unsigned line = i + 1;
    std::pair<ProblemKey, Choice> entry;
    if (Error error = readLine(path, line, text, entry))
      return std::move(error);
    if (const Choice *known = record.find(entry.first))
      return damaged(path, line, "the same problem as line " + Twine(known->line));
    record.set(entry.first, std::move(entry.second));
  }
  return record;
}

const Choice *Record::find(const ProblemKey &key) const {
  auto at = entries.find(key);
  return at == entries.end() ? nullptr : &at->second;
}

std::string Record::text() const {
  std::string text;
  raw_string_ostream os(text);
  for (const auto &[key, choice] : entries) {
    json::OStream line(os);
    line.object([&, &key = key, &choice = choice] {
      line.attribute("kernel", choice.kernel);
      line.attribute("problem", key.problem);
      line.attribute("target", key.target);
      line.attribute("version", key.version);
      line.attribute(fieldOf(choice.kind), choice.chosen);
    });
    os << '\n';
  }
  return text;
}
