//===- RowGroups.h - Reductions across far rows, some at a time --*- C++ -*-===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// The reduction of a kernel of points whose rows are read in groups: across rows that come from
/// far beyond L2. Null: there is none.
prim::ReduceOp groupedRows(kernel::LaunchOp launch, const CpuTarget &cpu);

/// Lanes of a vector of such rows, and columns of a task.
unsigned groupedLanes(prim::ReduceOp op, const CpuTarget &cpu);
int64_t groupedColumns(prim::ReduceOp op);

/// What such a reduction comes to for the columns at hand, on the stack.
class RowGroups {
public:
  /// Room for as many columns; the reduction's points are read from there then.
  RowGroups(KernelFrame &f, prim::ReduceOp op, int64_t columns);
  /// Reduces columns [low, high) of the rows that `outer` says.
  void fill(const Coords &outer, mlir::Value low, mlir::Value high);

private:
  void fillOpen(const Coords &outer, mlir::Value low, mlir::Value high);
  void add(const Coords &outer, mlir::Value first, int64_t rows, bool begun, mlir::Value high);
  Coords placeOf(const Coord &column) const;

  KernelFrame &f;
  prim::ReduceOp op;
  Memory sums;
  mlir::Value low;
};

} // namespace tcc::codegen
