//===- ReshapeGroups.h - Which axes of a reshape correspond ------*- C++ -*-===//
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen {

/// One side's axes [from, to) hold as many elements as the other side's.
struct AxisGroup {
  unsigned xBegin, xEnd, rBegin, rEnd;
};

/// Splits a reshape of extents `x` to extents `r` into groups, the smallest that are known.
llvm::SmallVector<AxisGroup> axisGroups(llvm::ArrayRef<mlir::Value> x,
                                        llvm::ArrayRef<mlir::Value> r);

} // namespace tcc::codegen
