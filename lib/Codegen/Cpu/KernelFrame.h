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

/// Lanes for a loop whose innermost extent is `extent` (kDynamic: not known).
unsigned lanesFor(const CpuTarget &cpu, kernel::LaunchOp launch, int64_t extent);

/// How a loop kernel's points are cut into tasks. `axis` is the one along which lanes
/// lie: the last one, unless that and those after `axis` have but a few points, which
/// are then written out one by one (the three channels of an image).
struct LoopCut {
  unsigned axis;
  int64_t innerPoints;  ///< of the axes after it, static
  int64_t chunk;        ///< points along `axis` in a task
  int64_t grain;        ///< tasks worth a thread
  unsigned rowAxis = 0; ///< with rows > 1: the axis of which a task does a block
  int64_t rows = 1;     ///< in a block, a power of two
};
LoopCut cutLoop(kernel::LaunchOp launch, const CpuTarget &cpu);

/// An axis before the last along which operands lie that lanes along the last axis
/// would gather, and how many of its indices make a block (RowBlock).
struct BlockedAxis {
  unsigned axis;
  int64_t rows;
};
std::optional<BlockedAxis> blockedAxis(kernel::LaunchOp launch, const CpuTarget &cpu);

// Kernel templates; false after an error was emitted.
bool emitLoopKernel(KernelFrame &frame);
bool emitRowKernel(KernelFrame &frame);
bool emitSpecialKernel(KernelFrame &frame);

} // namespace tcc::codegen
