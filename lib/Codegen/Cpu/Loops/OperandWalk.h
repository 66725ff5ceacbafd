#pragma once
#include "../KernelFrame.h"
#include "tcc/Analysis/AccessMap.h"

namespace tcc::codegen {

/// Which axes of a kernel's result its operands lie along in memory, if not along the last.
class OperandWalk {
public:
  OperandWalk(unsigned rank, int lanes) : votes(rank), lanes(lanes) {}
  /// `across`: the lanes move through what is read, whether or not `at` tells.
  void visit(mlir::Value value, const Access &at, bool across = false);

  llvm::SmallVector<unsigned> votes; ///< an axis: operands that are contiguous along it
  unsigned operators = 0;            ///< that compute

private:
  void read(llvm::ArrayRef<int64_t> shape, const Access &at, bool across);
  int lanes; ///< the axis that they lie along
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Access, 1>> seen;
};

/// The operands of what is stored, with lanes along the axis `lanes`.
OperandWalk walkOf(kernel::LaunchOp launch, int lanes);

} // namespace tcc::codegen
