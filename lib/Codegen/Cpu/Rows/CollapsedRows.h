//===- CollapsedRows.h - Several axes as one line ----------------*- C++ -*-===//
#pragma once
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Codegen/Common/LaunchFrame.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <optional>

namespace tcc::codegen {

/// The elements along the last axes of the rows of `launch`, of kind row, if nothing in it tells
/// those apart; none where there is one such axis.
std::optional<int64_t> collapsedLength(kernel::LaunchOp launch);

/// Makes one axis of those. The elements of all arguments and results stay where they are.
void collapseRows(kernel::LaunchOp launch);

/// The same before `launch` has a schedule, where only a run knows how long that axis is, or of
/// those behind the axes that are reduced. What it reads and gives is reshaped around it.
void joinRows(kernel::LaunchOp launch);

/// Makes one axis of the last axes of `launch`, of kind loop, that nothing in it tells apart, where
/// its lines are short or end in a part of a vector: the next one begins within it. What it reads
/// and gives is reshaped around it.
void joinShortLines(kernel::LaunchOp launch);

/// How many last axes of what a kernel of points stores are one for its code, as its schedule says.
struct JoinedAxes {
  unsigned count = 1;
  bool pieces = false; ///< it puts its operands together along the first, and does nothing else
};

/// Which may be, although only a run knows all of their extents: those that nothing in `launch`, of
/// kind loop, tells apart, if its lines are short, or that along which it puts its operands
/// together and those behind it.
JoinedAxes joinedAxes(kernel::LaunchOp launch);

/// Makes them one inside of `launch`, a copy that nobody else sees: how long the axis is its first
/// argument that has all of it says.
void joinAxesInside(kernel::LaunchOp launch, JoinedAxes joined);
/// The same of a frame, whose launch is such a copy, with what its arguments were bound to.
void joinAxesInside(LaunchFrame &f, JoinedAxes joined);

/// Makes one axis of that along which `launch`, of kind loop, puts its operands together and those
/// behind it, if it does nothing else.
void joinPieces(kernel::LaunchOp launch);

/// The concatenation that is all that `launch`, of kind loop, does with its operands or parts of
/// them, if its axis and those behind it may be one inside of its code alone; else null.
prim::ConcatOp openPieces(kernel::LaunchOp launch);
/// The arguments of such a launch that it sees in another shape.
llvm::SmallVector<mlir::BlockArgument> seenPieces(kernel::LaunchOp launch);
/// Such a one as the lines, of `type`, that its axes become.
Memory lineSeen(LaunchFrame &f, const Memory &memory, mlir::RankedTensorType type);
/// Makes them one inside of `launch`, a copy that nobody else sees.
void joinOpenPieces(kernel::LaunchOp launch);

/// Makes one axis of each run of axes that stay beside each other, if `launch`, of kind loop, does
/// nothing but transpose.
void joinTurns(kernel::LaunchOp launch);

/// Makes one axis of those behind the lines of `launch`, of kind special, that nothing in it tells
/// apart: the lines that are neighbours there are its lanes.
void joinLines(kernel::LaunchOp launch);

/// Computes in the shape before what `launch`, of kind loop, computes point by point of a reshaped
/// value, and gives it so.
void reshapeLate(kernel::LaunchOp launch);

} // namespace tcc::codegen
