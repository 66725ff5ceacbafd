//===- CacheFolder.h - A folder that only its owner can fill -----*- C++ -*-===//
#pragma once
#include "tcc/Support/DiskCache.h"
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tcc {

/// An open file; closed with the object.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor();
  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }

private:
  int number;
};

/// The folder is opened and checked once; files are then named relative to what was opened, so
/// nobody can put another folder in its place. Thread-safe.
class CacheFolder {
public:
  explicit CacheFolder(std::string path) : path(std::move(path)) {}

  /// The descriptor; -1 where there is no such folder or it is refused.
  int open(bool create);
  std::string refusal();
  /// An entry that belongs to this user and that nobody else may write.
  Descriptor openEntry(llvm::StringRef name);

  struct Entry {
    std::string name;
    uint64_t bytes;
    int64_t used; ///< seconds since 1970
    bool temporary;
  };
  /// Our files, whatever else lies in the folder.
  std::vector<Entry> entries();
  /// Removes what was not used for longest until `limit` bytes are left.
  CacheStats prune(uint64_t limit);
  /// Counts `bytes` as stored; prunes when the bound is exceeded.
  void account(uint64_t bytes);

private:
  std::string check(int folder) const;
  std::string refusalText(llvm::StringRef why) const;

  const std::string path;
  std::mutex mutex;
  Descriptor folder;
  std::string refused;
};

} // namespace tcc
