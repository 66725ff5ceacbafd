#include "tcc/Support/FileHash.h"
#include "tcc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include <ctime>
#include <sys/stat.h>

using namespace llvm;

namespace tcc {

/// What no change of the file's content leaves as it is; empty for what is no file.
static std::string identityOf(const std::string &path, StringRef subject) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode))
    return "";
  std::string text = subject.str();
  for (uint64_t number :
       {uint64_t(s.st_dev), uint64_t(s.st_ino), uint64_t(s.st_size), uint64_t(s.st_mtim.tv_sec),
        uint64_t(s.st_mtim.tv_nsec), uint64_t(s.st_ctim.tv_sec), uint64_t(s.st_ctim.tv_nsec)})
    text += ' ' + utostr(number);
  return text;
}

/// Whether the clock of the file's system has moved on since it changed.
static bool isSettled(const std::string &path) {
  constexpr time_t coarsest = 2; // seconds: FAT's times
  struct stat s;
  return stat(path.c_str(), &s) == 0 && time(nullptr) > s.st_ctim.tv_sec + coarsest;
}

static bool isDigest(StringRef text) { return text.size() == 64 && all_of(text, isHexDigit); }

/// What `find` finds out about the file, or the cache knows in a form that `isValid` accepts.
static std::optional<std::string> factOfFile(const std::string &path, StringRef subject,
                                             const DiskCache &cache,
                                             function_ref<bool(StringRef)> isValid,
                                             function_ref<std::optional<std::string>()> find) {
  std::string identity = identityOf(path, subject);
  if (identity.empty())
    return std::nullopt;
  std::string key = sha256(identity);
  SmallVector<char, 64> known;
  if (cache.load(key, known) && isValid({known.data(), known.size()}))
    return std::string(known.begin(), known.end());
  bool settled = isSettled(path);
  std::optional<std::string> fact = find();
  if (fact && settled && identityOf(path, subject) == identity)
    cache.store(key, *fact);
  return fact;
}

std::optional<std::string> hashOfFile(const std::string &path, const DiskCache &cache) {
  return factOfFile(path, "sha256 of file", cache, isDigest, [&] { return sha256OfFile(path); });
}

bool checkFile(const std::string &path, StringRef subject, const DiskCache &cache,
               function_ref<bool()> check) {
  constexpr StringLiteral passed = "passed";
  auto find = [&] { return check() ? std::optional(passed.str()) : std::nullopt; };
  return factOfFile(
             path, subject, cache, [&](StringRef known) { return known == passed; }, find)
      .has_value();
}

} // namespace tcc
