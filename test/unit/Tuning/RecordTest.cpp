// A tuning record is a file that people edit and merge: read as it was written, and one clear
// error where it is damaged.
#include "tcc/Tuning/Record.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::tuning;

namespace {

/// The record that a file of this text holds, or the error.
std::string readText(llvm::StringRef text, Record &record) {
  llvm::SmallString<64> path;
  int file;
  REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("record", "jsonl", file, path));
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
  auto read = Record::read(path);
  (void)llvm::sys::fs::remove(path);
  if (read) {
    record = std::move(*read);
    return "";
  }
  llvm::Error error = read.takeError();
  REQUIRE(error.isA<UserError>());
  return llvm::toString(std::move(error));
}

std::string readText(llvm::StringRef text) {
  Record record;
  return readText(text, record);
}

constexpr llvm::StringLiteral line =
    R"({"kernel":"dot","problem":"ab","target":"cpu","version":1,"schedule":"#s<n = 1>"})";

} // namespace

TEST_CASE("a record is read as it was written") {
  Record record;
  record.set({"b", "cpu", 1}, {ChoiceKind::Layout, "second", "#s<n = 2>"});
  record.set({"a", "cpu", 1}, {ChoiceKind::Schedule, "first", "#s<n = 1>"});
  record.set({"c", "cpu", 1}, {ChoiceKind::Cut, "third", "array<i64: 1>"});
  record.set({"a", "cpu", 2}, {ChoiceKind::Schedule, "newer", "#s<n = 3>"});
  Record again;
  CHECK(readText(record.text(), again) == "");
  CHECK(again.text() == record.text());
  REQUIRE(again.find({"a", "cpu", 2}));
  CHECK(again.find({"a", "cpu", 2})->chosen == "#s<n = 3>");
  REQUIRE(again.find({"b", "cpu", 1}));
  CHECK(again.find({"b", "cpu", 1})->kind == ChoiceKind::Layout);
  REQUIRE(again.find({"c", "cpu", 1}));
  CHECK(again.find({"c", "cpu", 1})->kind == ChoiceKind::Cut);
  CHECK_FALSE(again.find({"a", "other", 2}));
}

TEST_CASE("where there is no file the record is empty") {
  auto record = Record::read("/nonexistent/record.jsonl");
  REQUIRE(static_cast<bool>(record));
  CHECK(record->size() == 0);
}

TEST_CASE("a damaged record is one error that names the line") {
  using Catch::Contains;
  CHECK(readText((line + "\n\n").str()) == "");
  CHECK_THAT(readText((line + "\n{").str()), Contains("line 2: not valid JSON: "));
  CHECK_THAT(readText("[1]"), Contains("line 1: no JSON object"));
  CHECK_THAT(readText(R"({"problem":"ab","target":"cpu","version":1,"kernel":"k"})"),
             Contains("all of 'schedule', 'layout' and 'cut' are missing"));
  CHECK_THAT(
      readText(R"({"problem":"ab","target":"cpu","version":"1","kernel":"k","schedule":"s"})"),
      Contains("are missing"));
  CHECK_THAT(readText((line + "\n" + line).str()), Contains("line 2: the same problem as line 1"));
}
