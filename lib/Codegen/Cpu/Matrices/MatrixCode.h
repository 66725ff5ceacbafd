//===- MatrixCode.h - What factors of matrices are made of -------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu. A matrix is taken in blocks of as many rows and columns as a vector
// has lanes. What is done within a block goes from one row to the next; what all rows after it
// have of it is a product, which a tile of registers adds to them. Columns are lanes, so that
// several of them are a few vectors of a row.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

namespace tcc::codegen {

/// Element (i, j) lies at base + i * rowStride + j * columnStride; strides may be negative.
struct Matrix {
  mlir::Value base;
  Index rowStride, columnStride;
};

/// Vectors of columns at once, of which a block of a row is made.
inline constexpr unsigned kColumnVectors = 2;

/// Vectors of neighbouring columns: all lanes of `vectors`, or the first `valid` ones of one.
struct Columns {
  Index first;
  unsigned vectors;
  Index valid;
};

class MatrixCode {
public:
  MatrixCode(KernelFrame &f, mlir::Type element);

  mlir::Value pointer(const Matrix &m, Index i, Index j);
  mlir::Value element(const Matrix &m, Index i, Index j);
  mlir::Value inLanes(const Matrix &m, Index i, Index j);
  void put(mlir::Value v, const Matrix &m, Index i, Index j) { k.store(v, pointer(m, i, j)); }
  /// Vector `v` of the columns, in row i.
  mlir::Value row(const Matrix &m, Index i, const Columns &at, unsigned v = 0);
  void putRow(mlir::Value value, const Matrix &m, Index i, const Columns &at, unsigned v = 0);

  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value negated(mlir::Value v);
  mlir::Value number(double v); ///< in one lane
  /// Which lanes compare so with lane number `c`.
  mlir::Value lanesThat(mlir::arith::CmpIPredicate predicate, Index c);
  mlir::Value laneNumbers();
  mlir::Value splat(mlir::Value scalar) { return k.broadcast(scalar, lanes); }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);

  /// Columns [low, high) as they are done at once.
  void forColumns(Index low, Index high, llvm::function_ref<void(const Columns &)> body);
  /// The columns of the block that begins at `first`, in one vector.
  Columns block(Index first, Index columns);
  /// body(i, rows) for [low, high): `most` rows at once, then fewer and fewer.
  void forRows(Index low, Index high, unsigned most,
               llvm::function_ref<void(Index, unsigned)> body);

  /// Rows [k, k + lanes) of x become those of T^-1 x, T the lower triangle of the block of t at
  /// (k, k), with a diagonal of 1 if it is `unit`. Minus these rows are put aside.
  void solveBlock(const Matrix &t, const Matrix &x, Index k, const Columns &at, bool unit);
  /// The same for the `k`.. last rows of all, of which there are fewer than lanes; not put aside.
  void solveRest(const Matrix &t, const Matrix &x, Index k, Index rows, const Columns &at,
                 bool unit);
  /// Adds a[i, k..] times what was put aside to rows [low, high) of x.
  void addProduct(const Matrix &a, const Matrix &x, Index low, Index high, Index k,
                  const Columns &at);
  /// What was put aside: `lanes` rows of vectors.
  mlir::Value aside(unsigned row, unsigned v, unsigned vectors);

  KernelFrame &f;
  KernelBuilder k;
  mlir::Type type;
  unsigned lanes;
  mlir::VectorType vector;

private:
  mlir::Value kept; ///< scratch
  unsigned tileRows;
};

/// T^-1 x in place of x, which has `rows` rows, for columns [low, high).
void emitTriangularSolve(MatrixCode &m, const Matrix &t, const Matrix &x, Index rows, Index low,
                         Index high, bool unit);

/// Applies 1 - tau v v^T to rows [step, rows) of y, v being column `step` of `packed`. Lanes not
/// in `mask`, if there is one, stay.
void emitReflection(MatrixCode &m, const Matrix &packed, mlir::Value tau, const Matrix &y,
                    Index step, Index rows, const Columns &at, mlir::Value mask = {});

} // namespace tcc::codegen
