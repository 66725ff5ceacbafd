//===- TargetOptions.h - What the command line compiles for -----*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"

namespace tcc {

/// What --target, --cpu, --arch and --ptxas name together. An unknown name, and what other flags
/// ask of GPUs that cannot be, are the user's errors.
llvm::Expected<Target> targetOf(const DriverOptions &options);

} // namespace tcc
