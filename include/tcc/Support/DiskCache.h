//===- DiskCache.h - Results kept from compile to compile -------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tcc {

/// Files named by the hash of everything that their content depends on, written
/// under a temporary name and renamed. Errors mean no cache, never a failed
/// compile. Thread- and process-safe.
class DiskCache {
public:
  /// No folder, no cache.
  explicit DiskCache(std::string folder) : folder(std::move(folder)) {}
  bool load(llvm::StringRef key, llvm::SmallVectorImpl<char> &bytes) const;
  void store(llvm::StringRef key, llvm::ArrayRef<char> bytes) const;

private:
  std::string folder;
};

} // namespace tcc
