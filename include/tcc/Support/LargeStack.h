//===- LargeStack.h - Threads for recursive work ----------------*- C++ -*-===//
//
// The importers bound how deep a file may nest, but passes of MLIR and LLVM recurse
// once for every level, and some along chains of values. What compiles runs on threads
// made here: their stacks do not depend on `ulimit -s`, and one that overflows all the
// same ends as every crash does (Driver/CrashReport.h).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/thread.h"

namespace tcc {

/// Starts `work` on a thread with a large stack. Pages that it never reaches cost nothing.
llvm::thread startWithLargeStack(llvm::unique_function<void()> work);

/// Runs `work` on such a thread and waits for it.
void runWithLargeStack(llvm::unique_function<void()> work);

} // namespace tcc
