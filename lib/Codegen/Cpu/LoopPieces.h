//===- LoopPieces.h - Where a loop's points lie in the middle ---*- C++ -*-===//
#pragma once
#include "KernelFrame.h"

namespace tcc::codegen {

/// Rows, along the axis before the last, from the first to before the second.
using RowRange = std::pair<int64_t, int64_t>;

/// The rows of what a kernel of points stores for which convolutions of planes have all taps of
/// that axis inside of their image; none where there are no such convolutions or rows.
std::optional<RowRange> innerRows(kernel::LaunchOp launch);

} // namespace tcc::codegen
