//===- Jacobi.h - Rotations by the threads of a block ------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. What eigenvalues and singular values by Jacobi's method share: the
// tournament in which every column meets every other once a sweep, the rotation of a pair, sweeps
// until nothing is left to turn, and the order of what was found.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "MatrixBlock.h"

namespace tcc::codegen::device {

/// Of `count` columns, and one of zeros if their number is odd.
struct Tournament {
  explicit Tournament(int64_t count)
      : count(count), even(count + count % 2), pairs(even / 2), rounds(even - 1) {}
  int64_t count, even, pairs, rounds;
};

class Jacobi : protected Tournament {
protected:
  /// The block's shared memory has lists of its own first, as roomOfJacobi says.
  Jacobi(MatrixBlock &m, int64_t count);

  struct Pair {
    mlir::Value first, second;
  };
  /// The columns that meet as pair `k` of a round.
  Pair pairOf(mlir::Value round, mlir::Value k);

  struct Rotation {
    mlir::Value c, s;
  };
  /// first' = c first - s second, second' = s first + c second, after which `mixed`, what both have
  /// in common, is about 1e-7 of what it was; `turns`: else c = 1 and s = 0.
  Rotation rotation(mlir::Value first, mlir::Value second, mlir::Value mixed, mlir::Value turns);
  Pair rotated(const Rotation &r, mlir::Value first, mlir::Value second);

  /// Calls body(round), which ends with a barrier, sweep after sweep until one goes by in which
  /// nobody said `goesOn`.
  void sweeps(llvm::function_ref<void(mlir::Value)> body);
  void goesOn(mlir::Value condition);

  /// put(v, i, j) for all elements of `x`, by all threads, scaled by a power of two so that the
  /// largest is from 1 to below 2. Ends with a barrier.
  void bring(mlir::Value x, int64_t rows,
             llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> put);
  /// What was scaled, as it was; NaN if any element of x was not finite.
  mlir::Value asBefore(mlir::Value v);
  mlir::Value orNan(mlir::Value v); ///< of numbers that were not scaled

  /// Gives the value `of(i)` of each column to result `number`, in order, and its place to
  /// `placeOf`. Begins and ends with a barrier.
  void order(bool falls, unsigned number, llvm::function_ref<mlir::Value(mlir::Value)> of);
  mlir::Value placeOf(mlir::Value i);

  /// body(i, j) for all i < rows and j < columns, some of a thread each.
  void forAll(int64_t rows, int64_t columns,
              llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value exceeds(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);

  MatrixBlock &m;
  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value bad; ///< 0, or NaN

private:
  mlir::Type i32;
  mlir::Value warpNumbers, values, places, met, unscale;
};

/// What the class has in shared memory.
Room roomOfJacobi(int64_t columns);

} // namespace tcc::codegen::device
