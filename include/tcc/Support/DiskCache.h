//===- DiskCache.h - Results kept from compile to compile -------*- C++ -*-===//
//
// Files named by the hash of everything that their content depends on. What lies there is linked
// into products, so it is believed only where nobody else can have put it: the folder and its
// files belong to this user and nobody else may write them (a folder that tcc makes has mode
// 0700). Each file has a checksum, is written under a temporary name, brought to the disk and
// renamed, so a machine that loses power leaves whole files or none. Errors mean no cache, never
// a failed compile. Thread- and process-safe.
//
// The folder has a bound (cacheLimit): a compile that stored something and finds it exceeded
// removes what was not used for longest.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace tcc {
class CacheFolder;
class CacheWriter;

class DiskCache {
public:
  /// No folder, no cache. It is made when something is stored first.
  explicit DiskCache(std::string folder);
  bool load(llvm::StringRef key, llvm::SmallVectorImpl<char> &bytes) const;
  /// Returns at once: another thread writes. The last copy of the cache waits for it.
  void store(llvm::StringRef key, llvm::ArrayRef<char> bytes) const;
  /// Waits until everything that was stored can be loaded.
  void flush() const;
  /// Why a folder that exists is not used; empty when it is.
  std::string refusal() const;

private:
  std::shared_ptr<CacheFolder> folder; ///< null: none
  std::shared_ptr<CacheWriter> writer;
};

struct CacheStats {
  uint64_t entries = 0, bytes = 0;
  int64_t oldestUse = 0; ///< seconds since 1970; of no meaning without entries
};

/// The bytes that the folder may hold: $TCC_CACHE_LIMIT in megabytes, else 1000 MB.
uint64_t cacheLimit();
/// A UserError where $TCC_CACHE_LIMIT is set to what is no such number.
llvm::Error checkCacheLimit();
/// What lies in `folder`; a user error where the folder is refused.
llvm::Expected<CacheStats> cacheStats(const std::string &folder);
/// Removes what was not used for longest until at most `limit` bytes are left; gives what went.
llvm::Expected<CacheStats> pruneCache(const std::string &folder, uint64_t limit);

} // namespace tcc
