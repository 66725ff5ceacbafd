//===- LaunchFrame.h - A launch's arguments and loops ------------*- C++ -*-===//
//
// What every kernel template of every target starts from: the launch, a builder, the
// elemental emitter bound to the launch's arguments, and where each result goes. How
// the arguments reach the kernel and what a task is are the target's.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::codegen {

struct LaunchFrame {
  explicit LaunchFrame(kernel::LaunchOp launch);

  kernel::LaunchOp launch;
  mlir::ImplicitLocOpBuilder b;
  Elemental e;
  llvm::SmallVector<Memory> results; ///< where each launch result goes
  bool failed = false;

  /// Binds what the launch's words hold, in their order: for each input a pointer and the
  /// dims that are `?` (a tensor) or the value (a host scalar: floats as bits), then for each
  /// result a pointer and its dims that are `?`. `word` gives the next one as an i64 or, of a
  /// pointer type, as an address of memory that is aligned to `alignment` bytes (0: to its
  /// elements).
  void bindArguments(mlir::Type pointer, unsigned alignment,
                     llvm::function_ref<mlir::Value(mlir::Type)> word);

  kernel::YieldOp yield() {
    return mlir::cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  }
  /// for (i = low; i < high; i += step) body(i), in a scope of its own.
  void loop(mlir::Value low, mlir::Value high, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// if (condition) body(), likewise.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// `linear` as an index into `extents`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, mlir::ValueRange extents);
  mlir::Value minIndex(mlir::Value x, mlir::Value y);
};

} // namespace tcc::codegen
