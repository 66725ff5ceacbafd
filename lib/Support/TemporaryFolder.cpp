//===- TemporaryFolder.cpp - Folders that leave nothing behind -----------===//
//
// LLVM removes single files when a signal comes, and no folders. Those that exist are in a table,
// which a handler goes through with what a handler may call; then the handler that was there before
// gets the signal.
//
//===----------------------------------------------------------------------===//
#include "tcc/Support/TemporaryFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace llvm;
using namespace tcc;

namespace {

constexpr size_t kMost = 2048; ///< at once: one for each thread that assembles, and a few
std::array<std::atomic<char *>, kMost> folders;
constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
std::array<struct sigaction, kSignals.size()> before;

/// What getdents64 writes.
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};

} // namespace

/// Async-signal-safe. False: something is in it.
static bool emptied(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0)
    return true;
  alignas(Entry) char entries[4096];
  long bytes;
  while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (long at = 0; at < bytes;) {
      auto *entry = reinterpret_cast<Entry *>(entries + at);
      unlinkat(folder, entry->name, 0); // . and .. are none
      at += entry->length;
    }
  close(folder);
  return !rmdir(path) || errno != ENOTEMPTY;
}

/// Other threads go on and may write into it meanwhile.
static void removeFolder(const char *path) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts && !emptied(path); ++i)
    ;
}

static void onSignal(int number) {
  int saved = errno;
  for (const std::atomic<char *> &folder : folders)
    if (const char *path = folder)
      removeFolder(path);
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == number)
      sigaction(number, &before[i], nullptr);
  errno = saved;
  raise(number); // comes when this returns
}

static void installHandlers() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    bool ignored = !(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_IGN;
    if (!ignored)
      sigaction(kSignals[i], &action, nullptr);
  }
}

/// Leaves `path` in the table; -1 where that is full.
static int keep(char *path) {
  for (size_t i = 0; i < folders.size(); ++i) {
    char *none = nullptr;
    if (folders[i].compare_exchange_strong(none, path))
      return static_cast<int>(i);
  }
  return -1;
}

Expected<TemporaryFolder> TemporaryFolder::create(StringRef name) {
  static std::once_flag once;
  std::call_once(once, installHandlers);
  SmallString<128> path;
  if (std::error_code code = sys::fs::createUniqueDirectory(name, path))
    return createStringError("no temporary folder: " + code.message());
  char *kept = strdup(path.c_str());
  TemporaryFolder folder;
  folder.slot = kept ? keep(kept) : -1;
  if (folder.slot >= 0)
    return std::move(folder);
  removeFolder(path.c_str());
  free(kept);
  return createStringError("too many temporary folders at once");
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) noexcept
    : slot(std::exchange(other.slot, -1)) {}

TemporaryFolder &TemporaryFolder::operator=(TemporaryFolder &&other) noexcept {
  std::swap(slot, other.slot);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (slot < 0)
    return;
  char *path = folders[slot].exchange(nullptr);
  removeFolder(path);
  free(path);
}

std::string TemporaryFolder::file(const Twine &name) const {
  return (Twine(folders[slot].load()) + "/" + name).str();
}
