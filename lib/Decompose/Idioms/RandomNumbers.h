//===- RandomNumbers.h - Distributions, for the rules of both formats -*- C++ -*-===//
//
// Every call is a draw: other numbers each time that the model gets there, on the
// next turn of a loop and in the next run as well. What tells draws apart is in
// the IR: prim.random_draw counts them on the host, and prim.random_bits is a
// function of seed, count and position (docs/Rationale/random-numbers.md).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

class RandomNumbers {
public:
  /// From the generator of the context.
  explicit RandomNumbers(PrimBuilder &b) : b(b) {}
  /// From a generator of `node` alone, which starts at this seed in every context. It stays the
  /// node's where the body that the node is in is built more than once.
  RandomNumbers(PrimBuilder &b, int64_t seed, mlir::Operation *node);

  /// From a seed that is data, the same in every run: `draw` tells draws apart. Both are tensors of
  /// rank 0 and i64.
  RandomNumbers(PrimBuilder &b, mlir::Value seed, mlir::Value draw);

  /// Words of 32 or 64 random bits.
  mlir::Value words(llvm::ArrayRef<Dim> shape, unsigned bits);
  /// In [0, 1), a multiple of the distance between the type's numbers below 1: 53 bits of an
  /// f64, 24 of an f32, 11 of an f16. None of them is ever 1.
  mlir::Value uniform(llvm::ArrayRef<Dim> shape, mlir::FloatType type);
  /// Of mean 0 and deviation 1, in f32 or f64.
  mlir::Value normal(llvm::ArrayRef<Dim> shape, mlir::FloatType type);
  /// Of rate 1, above 0, in f32 or f64.
  mlir::Value exponential(llvm::ArrayRef<Dim> shape, mlir::FloatType type);
  /// Integers of [low, low + count), as i64; both are tensors of rank 0 and i64. A count that is
  /// negative means 2^64 more.
  mlir::Value integers(llvm::ArrayRef<Dim> shape, mlir::Value low, mlir::Value count);
  /// Indices of classes along the last axis of `weights` [.., classes], `draws` for each line, by
  /// weights that need not add up to 1; as i64.
  mlir::Value classes(mlir::Value weights, Dim draws);

private:
  mlir::Value halfOpen(mlir::Value words, mlir::FloatType type);
  mlir::Value aboveZero(mlir::Value words, mlir::FloatType type);

  PrimBuilder &b;
  int64_t generator = 0;
  std::optional<int64_t> seed;
  mlir::Value givenSeed, givenDraw; ///< on the host; null: of a generator
};

} // namespace tcc
