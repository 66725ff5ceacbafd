//===- CopiedRuns.h - Runs that are moved as they lie -----------*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// Places along the last axis, from the first to before the second.
using PointRange = std::pair<int64_t, int64_t>;

/// Copies the points [from, to) along the last axis of what a kernel stores, which lie in `range`
/// if that is known, at `outer` of the other axes. False, and nothing is stored, where they do not
/// lie side by side in an operand.
bool copiedRun(KernelFrame &f, unsigned lanes, llvm::ArrayRef<Coord> outer, mlir::Value from,
               mlir::Value to, std::optional<PointRange> range);

} // namespace tcc::codegen
