//===- KernelFrame.h - Arguments and loops of one kernel ---------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what every kernel template starts from.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Codegen/Cpu/KernelCodegen.h"

namespace tcc::codegen {

/// Unpacked arguments, the elemental emitter bound to them, and loop helpers.
struct KernelFrame {
  KernelFrame(kernel::LaunchOp launch, mlir::func::FuncOp function, const CpuTarget &cpu);

  kernel::LaunchOp launch;
  mlir::func::FuncOp function;
  const CpuTarget &cpu;
  mlir::ImplicitLocOpBuilder b;
  Elemental e;
  mlir::Value begin, end;            ///< the tasks to do
  llvm::SmallVector<Memory> results; ///< where each launch result goes

  kernel::YieldOp yield() {
    return mlir::cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  }
  /// for (i = low; i < high; i += step) body(i), in a scope of its own.
  void loop(mlir::Value low, mlir::Value high, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// Runs `body(i, lanes)` for [low, high): vectors first, then single points.
  void vectorLoop(mlir::Value low, mlir::Value high, unsigned lanes, bool lowAligned,
                  llvm::function_ref<void(mlir::Value)> body);
  /// `linear` as an index into `extents`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, mlir::ValueRange extents);
  mlir::Value minIndex(mlir::Value x, mlir::Value y);
  bool failed = false;
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
