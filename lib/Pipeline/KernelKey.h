//===- KernelKey.h - The name of compiled code in the cache -----*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace tcc {

/// The hash of this build of the compiler, LLVM included, and of `parts`, which are all that the
/// code depends on.
std::string kernelKey(llvm::ArrayRef<std::string> parts);

} // namespace tcc
