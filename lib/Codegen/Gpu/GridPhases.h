//===- GridPhases.h - Work of a grid in phases -------------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A launch whose later work needs what all blocks have done before, as
// the passes of a sort do.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"

namespace tcc::codegen::device {

/// Blocks draw the items of a phase in turn, and wait until all of them are done. Whoever waits
/// waits for blocks that run: so a launch ends whatever number of its blocks the device runs at
/// once. Counters lie in scratch memory; they begin and end as zeros.
class GridPhases {
public:
  explicit GridPhases(KernelFrame &f);

  /// body(item) for each item in [0, items), by all threads of one block. It sees what was written
  /// in the phases before; the block's threads meet after it.
  void run(mlir::Value items, llvm::function_ref<void(mlir::Value item)> body);
  void run(int64_t items, llvm::function_ref<void(mlir::Value item)> body) {
    run(f.e.index(items), body);
  }
  /// The same without an order among blocks, for what nothing comes after.
  void finish(mlir::Value items, llvm::function_ref<void(mlir::Value item)> body);
  void finish(int64_t items, llvm::function_ref<void(mlir::Value item)> body) {
    finish(f.e.index(items), body);
  }

  /// A word of scratch memory that is zero when the launch begins, and again when it ends.
  mlir::Value word() { return counter(counters++); }

private:
  mlir::Value counter(unsigned number);
  mlir::Value add(mlir::Value place);
  mlir::Value draw(mlir::Value tickets);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value leads, drawn;
  unsigned counters = 1; ///< the first one counts the blocks that are done
};

} // namespace tcc::codegen::device
