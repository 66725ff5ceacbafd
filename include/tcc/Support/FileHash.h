//===- FileHash.h - A model's SHA-256, computed once ------------*- C++ -*-===//
#pragma once
#include "tcc/Support/DiskCache.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>

namespace tcc {

/// sha256OfFile, remembered in `cache` under the file's device, inode, size and times of change
/// to the nanosecond, as Git's index does: hashing hundreds of megabytes takes longer than the
/// rest of a compile with a warm cache. A file that changed within the last seconds is hashed
/// and not remembered, since another change might leave the same times. Nothing when the file
/// cannot be read or is no regular file.
std::optional<std::string> hashOfFile(const std::string &path, const DiskCache &cache);

/// Whether the content of the file passes `check`, which is named `subject`: remembered in the
/// same way where it does, and checked again where it does not.
bool checkFile(const std::string &path, llvm::StringRef subject, const DiskCache &cache,
               llvm::function_ref<bool()> check);

} // namespace tcc
