//===- Sha256.h - The hash that names a model's file -----------*- C++ -*-===//
//
// SHA-256 as anybody can check it with sha256sum. A model's file has hundreds of
// megabytes and LLVM's portable code takes a second for them, so the processor's
// own instructions do it where there are some (about 2 GB/s).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tcc {

/// In lower-case hexadecimal.
std::string sha256(llvm::StringRef bytes);
/// Nothing when the file cannot be read. Maps a few megabytes
/// at a time: a model that is mapped as a whole a second time would count twice.
std::optional<std::string> sha256OfFile(const std::string &path);

} // namespace tcc
