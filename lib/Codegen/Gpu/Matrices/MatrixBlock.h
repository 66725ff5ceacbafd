//===- MatrixBlock.h - A matrix that the threads of a block factor -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A matrix is taken in panels of a few columns. The threads of a
// block do a panel together, in registers and shared memory; what all columns after it have of it
// is done for many of them at once.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"

namespace tcc::codegen::device {

class MatrixBlock {
public:
  /// Of the launch whose operator is `op`; `depth` columns of its schedule are a panel.
  MatrixBlock(KernelFrame &f, mlir::Operation *op);
  bool isShared() const { return f.schedule.getSplit() > 1; } ///< by the blocks of a cluster

  //===-- Numbers -----------------------------------------------------------===//
  mlir::Value number(double v);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value negated(mlir::Value v);
  mlir::Value isEqual(mlir::Value i, mlir::Value j);
  /// Carries `values` through for (i = low; i < high; i += step).
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange values,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// What `body` makes of `values` where `condition` holds, else `values`.
  llvm::SmallVector<mlir::Value> where(mlir::Value condition, mlir::ValueRange values,
                                       llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);
  /// body(k0, columns) for the panels of columns [0, count).
  void forPanels(int64_t count, llvm::function_ref<void(mlir::Value, int64_t)> body);

  //===-- Memory ------------------------------------------------------------===//
  /// The next `count` elements of the block's shared memory, from a multiple of 16 bytes on.
  mlir::Value room(mlir::Type element, int64_t count);
  mlir::Value get(mlir::Value base, mlir::Value index) { return get(base, type, index); }
  mlir::Value get(mlir::Value base, mlir::Type element, mlir::Value index);
  void put(mlir::Value v, mlir::Value base, mlir::Value index);
  /// An operand's element (i, j) of this matrix.
  mlir::Value operand(mlir::Value x, mlir::Value i, mlir::Value j);
  /// The same of an operand that has one number a row.
  mlir::Value operandInColumn(mlir::Value x, mlir::Value i);
  /// Element (i, j) of result 0, or i of a result that is one number a row.
  mlir::Value element(mlir::Value i, mlir::Value j);
  void putElement(mlir::Value v, mlir::Value i, mlir::Value j);
  void putInColumn(mlir::Value v, unsigned result, mlir::Value i);
  /// The same of a result that is a matrix.
  void putInMatrix(mlir::Value v, unsigned result, mlir::Value i, mlir::Value j);
  /// Result 0 becomes `x`, by all threads.
  void copy(mlir::Value x);

  /// Rows [low, rows) of columns [first, end) of result 0 lose left x right, whose inner extent is
  /// a panel's. Both are read in shared memory; all threads take part. `symmetric`: what lies above
  /// the diagonal may be anything.
  using Factor = llvm::function_ref<mlir::Value(mlir::Value at, int64_t k)>;
  void subtractProduct(mlir::Value low, mlir::Value first, mlir::Value end, int64_t depth,
                       Factor left, Factor right, bool symmetric = false);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  int64_t rows, columns; ///< of result 0
  int64_t width;         ///< of a panel
  mlir::Value lane, warp;
  mlir::Value firstColumn; ///< of those that this block solves, if it does not all

private:
  Coords at(mlir::Value i, mlir::Value j);
  Coords batch;
  mlir::Value shared, base; ///< base: the matrix's first element in result 0
  int64_t used = 0;
};

/// A reflection 1 - factor v v^T, which makes a column beta in its row and 0 below. A warp has it,
/// a lane as many of its elements as `packed`: those of the column's that result 0 keeps.
struct Reflection {
  llvm::SmallVector<mlir::Value> v, packed;
  mlir::Value factor;
};
/// That of `column`, whose elements a lane has in `rows`, and whose head is row `at`.
Reflection reflectionOf(MatrixBlock &m, mlir::Value at, llvm::ArrayRef<mlir::Value> rows,
                        llvm::ArrayRef<mlir::Value> column);
/// One column after the other, reflected.
llvm::SmallVector<mlir::Value> reflected(MatrixBlock &m, llvm::ArrayRef<mlir::Value> v,
                                         mlir::Value factor, llvm::ArrayRef<mlir::Value> columns);

/// The power of two of a number's exponent, short of the least and the largest, and its inverse.
std::pair<mlir::Value, mlir::Value> powersOf(MatrixBlock &m, mlir::Value number);

/// Factors of reflections that there are none of become 0.
void clearFactors(MatrixBlock &m);

/// Of elements in shared memory, each list from a multiple of 16 bytes on: their number and bytes.
using Room = llvm::SmallVector<std::pair<int64_t, int64_t>>;

/// The way to factor matrices, or to solve with them.
void scheduleMatrices(ScheduleChoice &choice, mlir::Operation *op, const GpuArch &arch);
/// Line: the kernel of such a schedule.
void emitMatrixKernel(KernelFrame &f);

// Its parts, and the room that they take in this order, of `rows` by panels of `width` columns of
// elements of `bytes`, `columns` of them to be solved.
void emitLu(MatrixBlock &m, prim::LuOp op);
Room roomOfLu(int64_t rows, int64_t width, int64_t bytes);
void emitCholesky(MatrixBlock &m, prim::CholeskyOp op);
Room roomOfCholesky(int64_t rows, int64_t width, int64_t bytes);
void emitTriangularSolve(MatrixBlock &m, prim::TriangularSolveOp op);
Room roomOfTriangularSolve(int64_t columns, int64_t width, int64_t bytes);
void emitQr(MatrixBlock &m, prim::QrOp op);
/// The same by a cluster of blocks, each of which has columns; and what a block needs of shared
/// memory for so many reflections at once.
void emitSharedQr(MatrixBlock &m, prim::QrOp op);
bool sharesColumns(ScheduleChoice &choice, prim::QrOp op, const GpuArch &arch);
Room roomOfSharedQr(int64_t rows, int64_t reflections);
void emitReflect(MatrixBlock &m, prim::ReflectOp op);
Room roomOfReflections(int64_t rows, int64_t width, int64_t bytes);
void emitSymmetric(MatrixBlock &m, prim::SymmetricEigenOp op);
Room roomOfSymmetric(int64_t rows, bool vectors);
void emitSingular(MatrixBlock &m, prim::SvdOp op);
Room roomOfSingular(int64_t rows, int64_t columns, bool vectors);
unsigned lanesOfPair(int64_t rows, int64_t columns); ///< of columns that turn

} // namespace tcc::codegen::device
