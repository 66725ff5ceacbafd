//===- KernelFrame.h - Arguments and loops of one kernel ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what every kernel template starts from.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaunchFrame.h"
#include "tcc/Codegen/Cpu/KernelCodegen.h"
#include "tcc/Dialect/Cpu/Cpu.h"

namespace tcc::codegen {

/// A launch with its arguments unpacked, for tasks [begin, end).
struct KernelFrame : LaunchFrame {
  KernelFrame(kernel::LaunchOp launch, mlir::func::FuncOp function, const CpuTarget &cpu);

  mlir::func::FuncOp function;
  const CpuTarget &cpu;
  mlir::Value begin, end; ///< the tasks to do

  /// The next of the launch's words: after construction, what follows its results.
  mlir::Value nextWord(mlir::Type type);

  /// Whether what is left of [low, high) after vectors of `lanes` is done as one more vector, of
  /// which a part is masked: where masks cost nothing, and more than a point may be left.
  bool endsMasked(mlir::Value low, mlir::Value high, unsigned lanes);
  /// Whether what is left of [low, high), whose length is known and at least a vector's, is done as
  /// one more vector that ends where the range does.
  bool endsOverlapping(mlir::Value low, mlir::Value high, unsigned lanes);
  /// The lanes at hand of those that lie in [i, high).
  mlir::Value lanesUpTo(mlir::Value i, mlir::Value high);
  /// The vectors of `lanes` that [0, high) has; gives the index behind them.
  mlir::Value wholeVectors(mlir::Value high, unsigned lanes,
                           llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  /// Runs `body(i, lanes)` for [low, high): vectors first, then what is left of one, or single
  /// points.
  void vectorLoop(mlir::Value low, mlir::Value high, unsigned lanes, bool lowAligned,
                  llvm::function_ref<void(mlir::Value)> body);
  /// The same for a body that reads all before it writes anything, and gets one index, or two:
  /// where masks cost something, what is left of a known range is done as a vector that ends where
  /// the range does, together with the last one before it, some of whose points it does again.
  void overlappingLoop(mlir::Value low, mlir::Value high, unsigned lanes, bool lowAligned,
                       llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  /// The same where a point alone costs as much as a vector (a walk along an axis): vectors of
  /// `lanes`, then of fewer and fewer, and of the fewest one of which a part is masked where
  /// `masksEnd` and masks cost nothing. Else it ends where the range does, if `high` is known to be
  /// at least `least`, and points before the range may be done again.
  void narrowingLoop(mlir::Value low, mlir::Value high, unsigned lanes,
                     llvm::function_ref<void(mlir::Value)> body, bool masksEnd = false,
                     int64_t least = 0);

private:
  mlir::Value words;
  int32_t wordsRead = 0;
};

/// Lanes, at most `most`, for a loop whose innermost extent is `extent` (kDynamic: not known).
unsigned lanesFor(unsigned most, int64_t extent);

/// Points of the axes after `axis`, whose extents are known.
int64_t pointsAfter(mlir::RankedTensorType type, unsigned axis);

/// Where, along the last axis of what a kernel of points stores, other operands begin to be read
/// (concatenations, the borders of pads), in order; few, or none.
llvm::SmallVector<int64_t> piecesOf(kernel::LaunchOp launch);

/// `sum`, of which `none` is neutral, with what `reduce` takes at `at`; where `mask` is.
mlir::Value combined(KernelFrame &frame, prim::ReduceOp reduce, mlir::TypedAttr none,
                     mlir::Value sum, llvm::ArrayRef<Coord> at, mlir::Value mask);

// Kernel templates; false after an error was emitted.
bool emitLoopKernel(KernelFrame &frame, cpu::LoopScheduleAttr schedule);
bool emitRowKernel(KernelFrame &frame, cpu::RowScheduleAttr schedule);
/// The same of rows that are reduced along axes before their last ones.
bool emitNarrowLines(KernelFrame &frame, cpu::RowScheduleAttr schedule);
bool emitSpecialKernel(KernelFrame &frame);

} // namespace tcc::codegen
