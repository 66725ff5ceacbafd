//===- PeriodicLines.h - What is the same for each of the lines -*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// Elements after which what `op` spreads comes again along its last `joined` axes, seen as one: it
/// is the same for each line of the first of them, and for all that is before. 0: it has no period.
int64_t periodOf(prim::BroadcastOp op, size_t joined);
/// The same of a broadcast of which `op` makes one line; 0: it is none.
int64_t periodOf(mlir::Operation *op);

/// Writes each value that has a period once, and as many elements more as a vector has lanes, for
/// the kernel to read vectors of up to `lanes` from any of its elements on.
void keepPeriods(KernelFrame &f, unsigned lanes);

} // namespace tcc::codegen
