//===- OwnFiles.h - What tcc replaces without being told ---------*- C++ -*-===//
//
// A file whose name the user typed is replaced. A file whose name tcc derives (the default
// output, the manifest and the weights beside it) is replaced only where tcc wrote it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc {

enum class OwnFile {
  Library,  ///< has a manifest inside
  Manifest, ///< JSON with our version
  Weights,  ///< safetensors with our mark
  Text,     ///< bears no mark, so it is never known for ours
};

/// A user error where something lies at `path` that is no such file of ours.
llvm::Error mayReplace(llvm::StringRef path, OwnFile kind);

/// Whether `path` is a device or a pipe: there are no files beside it.
bool isSpecialFile(llvm::StringRef path);

/// Where tcc writes what it makes of `input` when the user does not say: the name without its
/// last extension, which is the file's and never a folder's, and `extension`.
std::string defaultOutput(llvm::StringRef input, llvm::StringRef extension);

} // namespace tcc
