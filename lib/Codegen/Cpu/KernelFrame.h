//===- KernelFrame.h - Arguments and loops of one kernel ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what every kernel template starts from.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaunchFrame.h"
#include "tcc/Codegen/Cpu/KernelCodegen.h"

namespace tcc::codegen {

/// A launch with its arguments unpacked, for tasks [begin, end).
struct KernelFrame : LaunchFrame {
  KernelFrame(kernel::LaunchOp launch, mlir::func::FuncOp function, const CpuTarget &cpu);

  mlir::func::FuncOp function;
  const CpuTarget &cpu;
  mlir::Value begin, end; ///< the tasks to do

  /// The next of the launch's words: after construction, what follows its results.
  mlir::Value nextWord(mlir::Type type);

  /// Runs `body(i, lanes)` for [low, high): vectors first, then single points.
  void vectorLoop(mlir::Value low, mlir::Value high, unsigned lanes, bool lowAligned,
                  llvm::function_ref<void(mlir::Value)> body);
  /// The same where a point alone costs as much as a vector (a walk along an axis): vectors of
  /// `lanes`, then of fewer and fewer.
  void narrowingLoop(mlir::Value low, mlir::Value high, unsigned lanes,
                     llvm::function_ref<void(mlir::Value)> body);

private:
  mlir::Value words;
  int32_t wordsRead = 0;
};

/// Lanes, at most `most`, for a loop whose innermost extent is `extent` (kDynamic: not known).
unsigned lanesFor(unsigned most, int64_t extent);

/// Points of the axes after `axis`, whose extents are known.
int64_t pointsAfter(mlir::RankedTensorType type, unsigned axis);

// Kernel templates; false after an error was emitted.
bool emitLoopKernel(KernelFrame &frame, kernel::LoopScheduleAttr schedule);
bool emitRowKernel(KernelFrame &frame, kernel::RowScheduleAttr schedule);
bool emitSpecialKernel(KernelFrame &frame);

} // namespace tcc::codegen
