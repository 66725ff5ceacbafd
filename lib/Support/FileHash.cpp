#include "tcc/Support/FileHash.h"
#include "tcc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include <ctime>
#include <sys/stat.h>

using namespace llvm;

namespace tcc {

/// What no change of the file's content leaves as it is; empty for what is no file.
static std::string identityOf(const std::string &path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode))
    return "";
  std::string text = "sha256 of file";
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

std::optional<std::string> hashOfFile(const std::string &path, const DiskCache &cache) {
  std::string identity = identityOf(path);
  if (identity.empty())
    return std::nullopt;
  std::string key = sha256(identity);
  SmallVector<char, 64> known;
  if (cache.load(key, known) && isDigest({known.data(), known.size()}))
    return std::string(known.begin(), known.end());
  bool settled = isSettled(path);
  std::optional<std::string> digest = sha256OfFile(path);
  if (digest && settled && identityOf(path) == identity)
    cache.store(key, *digest);
  return digest;
}

} // namespace tcc
