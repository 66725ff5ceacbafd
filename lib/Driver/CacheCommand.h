//===- CacheCommand.h - tcc cache: the kernel cache --------------*- C++ -*-===//
#pragma once
#include "llvm/Support/Error.h"
#include <string>

namespace tcc {

/// `tcc cache ...`, `argv` from "cache" on: gives what is to be printed.
llvm::Expected<std::string> cacheCommand(int argc, const char *const *argv);
/// Its --help.
std::string cacheCommandHelp();

} // namespace tcc
