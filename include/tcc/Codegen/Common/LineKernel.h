//===- LineKernel.h - Operators that work along one axis ---------*- C++ -*-===//
//
// Scans, the place of an extremum, sorting and top-k: lines along the operator's axis
// are independent of each other, and one task does one line, whatever the target.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Analysis/FirstInLanes.h"
#include "tcc/Codegen/Common/LaunchFrame.h"
#include <optional>

namespace tcc::codegen {

/// The tensor and axis whose lines are an operator's tasks, if they are.
std::optional<std::pair<mlir::Value, unsigned>> lineAxis(mlir::Operation *op);

/// Does `op`, of which `lineAxis` knows the lines, for the line at `at`, whose index along
/// the axis is anything; the line has `length` elements. Scans and places of extrema take a
/// line a lane as well, where `at` varies along the lanes.
/// `along`: elements of the line to look at at once; all but sorting do it, along a last axis.
void emitLine(LaunchFrame &f, mlir::Operation *op, Coords at, mlir::Value length,
              unsigned along = 1);

/// A scan of the lines at `lines`, one beside the other: none waits for a step of another.
void emitScans(LaunchFrame &f, prim::CumulativeOp op, llvm::ArrayRef<Coords> lines,
               mlir::Value length);

/// The first elements of the lines at `at`, which varies along the lanes, of an operator that
/// `keepsFirstInLanes` is true of.
void emitFirstInLanes(LaunchFrame &f, prim::TopKOp op, Coords at, mlir::Value length);

/// The extents of a value in the region.
llvm::SmallVector<mlir::Value> extentsOf(LaunchFrame &f, mlir::Value v);

/// Whether `x` comes before `y` in an ordering where NaN is the largest.
mlir::Value comesBefore(LaunchFrame &f, mlir::Type elementType, bool descending, mlir::Value x,
                        mlir::Value y);

/// Calls body(first + i, carried) for the lanes i that `mask` (a vector of i1) has, in order, and
/// gives what the last call gave, or `carried` if it has none.
using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
llvm::SmallVector<mlir::Value> forEachLane(LaunchFrame &f, mlir::Value first, mlir::Value mask,
                                           mlir::ValueRange carried, LaneBody body);

/// Results 0 and 1: the first elements of a line in order, and their places. What is behind as
/// many elements is looked at `along` at once, and one by one where any comes before the last.
void emitOrderedLine(LaunchFrame &f, mlir::Value x, unsigned axis, bool descending, Coords at,
                     mlir::Value length, unsigned along = 1);

/// The same for no more elements than lanes hold, of a line of known length; false, with nothing
/// done, for others.
bool emitFirstOfLine(LaunchFrame &f, mlir::Value x, unsigned axis, bool descending, Coords at,
                     mlir::Value length, unsigned along);

} // namespace tcc::codegen
