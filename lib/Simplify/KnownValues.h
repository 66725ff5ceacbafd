//===- KnownValues.h - What is known at compile time -----------*- C++ -*-===//
#pragma once
#include "mlir/IR/Operation.h"
#include "tcc/Reference/Tensor.h"
#include "tcc/Simplify/FoldConstants.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc {

/// The values that depend on constants only. A constant (prim.constant,
/// prim.weight, arith.constant) is known; so is the result of an operator that
/// was `defer`red: it stays in the IR and is computed when somebody needs it.
class KnownValues {
public:
  KnownValues(const WeightTable &weights, const FoldOptions &options)
      : weights(weights), options(options) {}

  static bool isConstant(mlir::Operation *op);
  bool isKnown(mlir::Value value) const;
  /// Bytes of the constants that `op`'s operands, which are known, are made of.
  int64_t sourceBytes(mlir::Operation *op) const;
  /// Element operators that a point of `op`'s results takes, one after the other, if what was
  /// deferred is computed again; a costly one counts as many as make a table.
  unsigned steps(mlir::Operation *op) const;

  /// Makes the results of `op`, whose operands are known, known as well.
  void defer(mlir::Operation *op);

  /// The results of `op`, whose operands are known.
  llvm::Expected<llvm::SmallVector<reference::Tensor, 1>> evaluate(mlir::Operation *op);

  /// The one element that all results of `op` repeat, if that can be told
  /// without computing them: its operands are splats and it treats points alike.
  std::optional<reference::Tensor> splatResult(mlir::Operation *op);

private:
  struct Deferred {
    int64_t sourceBytes;
    unsigned depth; ///< longest chain of deferred operators
    unsigned steps;
  };
  llvm::Expected<reference::Tensor> valueOf(mlir::Value value);
  std::optional<reference::Tensor> splatOf(mlir::Value value);

  const WeightTable &weights;
  const FoldOptions &options;
  llvm::DenseMap<mlir::Operation *, Deferred> deferred;
  /// Computed values of deferred operators, dropped when they get too many.
  llvm::DenseMap<mlir::Value, reference::Tensor> cache;
  int64_t cachedBytes = 0;
};

} // namespace tcc
