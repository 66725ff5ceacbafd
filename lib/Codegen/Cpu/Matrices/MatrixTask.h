//===- MatrixTask.h - The matrices of a task ---------------------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: what a task of an operator on matrices finds in its operands' and
// results' memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../SpecialKernel.h"
#include "MatrixCode.h"

namespace tcc::codegen {

/// A matrix that is changed in place, and its extents.
struct Target {
  Matrix matrix;
  Index rows, columns;
};

/// Whole numbers in memory, one a row.
struct Places {
  MatrixCode &m;
  mlir::Value base;
  mlir::Type i64() { return m.f.b.getI64Type(); }
  mlir::Value address(Index i) { return m.k.address(base, i64(), i); }
  mlir::Value at(Index i) { return m.k.load(i64(), address(i)); }
  void put(mlir::Value v, Index i) { m.k.store(v, address(i)); }
};

/// A task's matrices.
struct TaskMatrices {
  KernelFrame &f;
  MatrixCode &m;
  mlir::Value batch;

  /// The one that memory of `rows` by `columns` holds for this batch.
  mlir::Value base(const Memory &memory, mlir::Type type, unsigned inner);
  Matrix matrix(const Memory &memory, unsigned inner = 2);
  Target target(const Memory &memory);
  /// An operand, whatever its shape was before: of `inner` axes a matrix.
  Matrix operand(mlir::Value v, unsigned inner = 2);
  Places places(const Memory &memory) { return {m, base(memory, f.b.getI64Type(), 1)}; }
  /// Columns [low, high) of x to the result.
  void copy(mlir::Value x, const Memory &to, mlir::Value low, mlir::Value high);
};

/// Whether vectors of matrices are done at once: of many, of few rows.
bool areMatricesInLanes(mlir::Operation *op);
/// All tasks, each of which has a matrix.
void emitMatricesInLanes(KernelFrame &f, MatrixCode &m, mlir::Operation *op);

/// Eigenvalues or singular values of the task's matrix.
void emitSpectral(TaskMatrices &task, mlir::Operation *op);

} // namespace tcc::codegen
