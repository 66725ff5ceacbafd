//===- CrashReport.h - The end of a tcc that is at fault ---------*- C++ -*-===//
//
// For the main program: it installs the handlers once, and wraps a compile for
// which --reproducer is given.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Driver/Driver.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tcc {

/// Signals, assertions, LLVM's fatal errors and a lack of memory end the process with
/// one `error:` line and exit code 1, temporary files removed.
void installCrashHandlers();

/// The phase that such an error names.
void crashPhase(std::optional<Phase> phase);

/// What a crash says of text that is read as IR: MLIR's parser has faults that damaged text meets.
enum class IrText { None, IsRead, WasRefused };

/// From now on a crash is for the text's sake: it ends with exit code 2, after an error where
/// none was said yet.
void crashWhileReadingIr(IrText text);

/// Runs `work`, which compiles `options` and gives the exit code, in a child process.
/// Where it crashes, writes the reproducer and says where it is. Call before any thread
/// is started.
int withCrashReproducer(const DriverOptions &options, llvm::function_ref<int()> work);

} // namespace tcc
