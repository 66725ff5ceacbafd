//===- Embedded.h - Files that tcc carries with it --------------*- C++ -*-===//
//
// Built for every target by CMake and put into this program as bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

namespace tcc::emit {

struct EmbeddedFiles {
  llvm::StringRef runtime;    ///< lib/Runtime as one relocatable object
  llvm::StringRef device;     ///< its part for models with kernels for devices
  llvm::StringRef libc, libm; ///< stubs: sonames, symbols and versions
};

/// Empty members for a target that has none.
EmbeddedFiles embeddedFiles(const llvm::Triple &triple);

} // namespace tcc::emit
