//===- CacheFolder.cpp - What lies in the cache, and how much -------------===//
//
// How much the folder holds is kept in a file beside the entries, `size`, which each compile
// that stores something adds to under a lock: looking at thousands of files would cost a compile
// more than the kernels that it finds. The number is an estimate (somebody may remove files); it
// is counted anew whenever it reaches the bound. An entry's time of change is its last use, to
// the hour: a compile that finds everything in the cache writes nothing.
//
//===----------------------------------------------------------------------===//
#include "CacheFolder.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace tcc;

static constexpr const char *kSizeFile = "size";

Descriptor::~Descriptor() {
  if (number >= 0)
    close(number);
}

/// Why what `status` tells of cannot be believed; empty where it can.
static std::string distrust(const struct stat &status) {
  if (status.st_uid != geteuid())
    return "it belongs to another user";
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return "others may write it (chmod go-w helps)";
  return "";
}

std::string CacheFolder::check(int number) const {
  struct stat status;
  std::string why = fstat(number, &status) ? "it cannot be looked at" : distrust(status);
  return why.empty() ? why : refusalText(why);
}

std::string CacheFolder::refusalText(StringRef why) const {
  return "the cache '" + printable(path) + "' is not used: " + why.str();
}

int CacheFolder::open(bool create) {
  std::lock_guard guard(mutex);
  if (folder || !refused.empty())
    return folder.get();
  auto openIt = [&] {
    return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  Descriptor opened = openIt();
  if (!opened && errno == ENOENT && create) {
    (void)sys::fs::create_directories(sys::path::parent_path(path));
    if (mkdir(path.c_str(), S_IRWXU) && errno != EEXIST)
      return -1;
    opened = openIt();
  }
  if (!opened && errno != ENOENT)
    refused = refusalText(sys::StrError());
  if (!opened)
    return -1;
  refused = check(opened.get());
  if (refused.empty())
    folder = std::move(opened);
  return folder.get();
}

std::string CacheFolder::refusal() {
  open(/*create=*/false);
  std::lock_guard guard(mutex);
  return refused;
}

Descriptor CacheFolder::openEntry(StringRef name) {
  int at = open(/*create=*/false);
  if (at < 0)
    return Descriptor();
  Descriptor file(openat(at, name.str().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!file || fstat(file.get(), &status) || !S_ISREG(status.st_mode) || !distrust(status).empty())
    return Descriptor();
  constexpr time_t oftenEnough = 3600;
  if (time(nullptr) - status.st_mtim.tv_sec > oftenEnough)
    (void)futimens(file.get(), nullptr);
  return file;
}

/// A SHA-256, and perhaps the end of a temporary name.
static bool isEntryName(StringRef name) {
  constexpr size_t digits = 64;
  return name.size() >= digits && all_of(name.take_front(digits), isHexDigit) &&
         (name.size() == digits || name[digits] == '.');
}

std::vector<CacheFolder::Entry> CacheFolder::entries() {
  std::vector<Entry> result;
  int at = open(/*create=*/false);
  int copy = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy < 0 ? nullptr : fdopendir(copy);
  if (!list)
    return result;
  while (dirent *one = readdir(list)) {
    StringRef name = one->d_name;
    struct stat status;
    if (isEntryName(name) && !fstatat(at, one->d_name, &status, AT_SYMLINK_NOFOLLOW))
      result.push_back({name.str(), static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec,
                        name.contains('.')});
  }
  closedir(list);
  return result;
}

CacheStats CacheFolder::prune(uint64_t limit) {
  constexpr time_t abandoned = 24 * 3600; // a temporary file of this age has no writer
  std::vector<Entry> all = entries();
  sort(all, [](const Entry &a, const Entry &b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const Entry &entry : all)
    total += entry.bytes;
  CacheStats removed;
  for (const Entry &entry : all) {
    bool goes = entry.temporary ? time(nullptr) - entry.used > abandoned : total > limit;
    if (!goes || unlinkat(open(/*create=*/false), entry.name.c_str(), 0))
      continue;
    total -= entry.bytes;
    removed.bytes += entry.bytes;
    ++removed.entries;
  }
  return removed;
}

/// The number in the file, or nothing where it holds none.
static std::optional<uint64_t> readNumber(int file) {
  char text[24];
  ssize_t length = pread(file, text, sizeof text, 0);
  uint64_t number;
  if (length <= 0 || StringRef(text, length).trim().getAsInteger(10, number))
    return std::nullopt;
  return number;
}

static void writeNumber(int file, uint64_t number) {
  std::string text = std::to_string(number) + "\n";
  if (!ftruncate(file, 0))
    (void)!pwrite(file, text.data(), text.size(), 0);
}

void CacheFolder::account(uint64_t bytes) {
  int at = open(/*create=*/false);
  if (at < 0)
    return;
  Descriptor file(
      openat(at, kSizeFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file || flock(file.get(), LOCK_EX))
    return;
  std::optional<uint64_t> known = readNumber(file.get());
  uint64_t total = known.value_or(0) + bytes, limit = cacheLimit();
  if (!known || total > limit) {
    prune(total > limit ? limit / 5 * 4 : limit); // not again at the next compile
    total = 0;
    for (const Entry &entry : entries())
      total += entry.bytes;
  }
  writeNumber(file.get(), total);
}

static constexpr uint64_t kMegabyte = 1000 * 1000;

/// Of $TCC_CACHE_LIMIT, in megabytes; nothing where that is no such number.
static std::optional<uint64_t> ownLimit() {
  uint64_t megabytes;
  const char *own = std::getenv("TCC_CACHE_LIMIT");
  if (!own || StringRef(own).getAsInteger(10, megabytes) || megabytes > UINT64_MAX / kMegabyte)
    return std::nullopt;
  return megabytes * kMegabyte;
}

uint64_t tcc::cacheLimit() {
  constexpr uint64_t usual = 1000 * kMegabyte;
  return ownLimit().value_or(usual);
}

Error tcc::checkCacheLimit() {
  const char *own = std::getenv("TCC_CACHE_LIMIT");
  if (!own || !*own || ownLimit())
    return Error::success();
  return userError("TCC_CACHE_LIMIT is '" + printable(own) + "': it must be a number of megabytes");
}

static Error refusalOf(CacheFolder &folder) {
  std::string why = folder.refusal();
  return why.empty() ? Error::success() : userError(why);
}

Expected<CacheStats> tcc::cacheStats(const std::string &path) {
  CacheFolder folder(path);
  if (Error error = refusalOf(folder))
    return std::move(error);
  CacheStats stats;
  for (const CacheFolder::Entry &entry : folder.entries()) {
    stats.oldestUse = stats.entries ? std::min(stats.oldestUse, entry.used) : entry.used;
    stats.bytes += entry.bytes;
    ++stats.entries;
  }
  return stats;
}

Expected<CacheStats> tcc::pruneCache(const std::string &path, uint64_t limit) {
  CacheFolder folder(path);
  if (Error error = refusalOf(folder))
    return std::move(error);
  return folder.prune(limit);
}
