//===- Sha256.h - The hash that names a model's file -----------*- C++ -*-===//
//
// SHA-256 as anybody can check it with sha256sum. A model's file has hundreds of
// megabytes and LLVM's portable code takes a second for them, so the processor's
// own instructions do it where there are some (about 2 GB/s).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tcc {

/// In lower-case hexadecimal.
std::string sha256(llvm::StringRef bytes);

} // namespace tcc
