//===- LoopPieces.h - Where a loop's points lie in the middle ---*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// Rows, along the axis before the last, from the first to before the second.
using RowRange = std::pair<int64_t, int64_t>;

/// The rows of what a kernel of points stores for which convolutions of planes have all taps of
/// that axis inside of their image; none where there are no such convolutions or rows.
std::optional<RowRange> innerRows(kernel::LaunchOp launch);

/// Lines of which every `count` neighbours come from as many planes, along whose lines the operand
/// lies; point `first` of a plane's line is the first that the result has.
struct PhasedLines {
  int64_t count, first;
  llvm::SmallVector<int64_t> pieces; ///< of a plane's line: where each begins, and their end
};

/// How a kernel of points joins such lines, where it stores a part of them (phases of a transposed
/// convolution, of which the ends are cut off); none where it does not.
std::optional<PhasedLines> phasedLines(kernel::LaunchOp launch);

/// The concatenation along the last axis by which a kernel of points, where only a run knows how
/// long its operands are, makes its lines; what it gives is computed with, but not moved. Null: it
/// does not make them so.
prim::ConcatOp openPiecesOf(kernel::LaunchOp launch);

} // namespace tcc::codegen
