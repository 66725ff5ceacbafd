//===- KernelCache.h - Compiled kernels on disk ------------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tcc {

/// Objects by content: files named by the hash of everything they depend on,
/// written under a temporary name and renamed. Errors mean no cache, never a
/// failed compile. Thread- and process-safe.
class KernelCache {
public:
  explicit KernelCache(std::string folder) : folder(std::move(folder)) {}
  static std::string key(llvm::ArrayRef<std::string> parts);
  bool load(llvm::StringRef key, llvm::SmallVectorImpl<char> &bytes) const;
  void store(llvm::StringRef key, llvm::ArrayRef<char> bytes) const;

private:
  std::string folder;
};

} // namespace tcc
