//===- PastCaches.h - Stores of results that outgrow the caches --*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu. A line that is stored is read first, and thrown out again to make
// room, where a result is larger than the last cache: whoever reads it next finds its beginning in
// memory anyway. Stores that go past the caches (non-temporal ones) write whole lines, and leave
// what the kernel reads where it is.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// Whether what a kernel of points stores is so large, and lies in whole vectors.
bool pointsOutgrowCaches(kernel::LaunchOp launch, const CpuTarget &cpu);
/// The same of a row kernel, whose costly values do not wait in the result for their last loop:
/// rows of at most `kept` elements have them on the stack.
bool rowsOutgrowCaches(kernel::LaunchOp launch, int64_t kept, const CpuTarget &cpu);

/// What `emit` makes, with stores past the caches where a run finds that results begin with a line
/// and lie over no input, and without. It is told which.
void emitPastCaches(KernelFrame &f, llvm::function_ref<void(bool pastCaches)> emit);

/// Copies `bytes` (i64) of a part of the result from `from` to `to`, which lie apart, past the
/// caches where the whole result outgrows them; else the C library does.
void copyBytes(KernelFrame &f, mlir::Value to, mlir::Value from, mlir::Value bytes);

} // namespace tcc::codegen
