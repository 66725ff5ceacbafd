//===- ForwardMode.h - Derivatives along with values --------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"
#include "llvm/ADT/STLExtras.h"

namespace tcc {

/// The tangents of values: how much each changes, to first order, as the values that were given a
/// tangent change by theirs. A value that does not change has none.
class Tangents {
public:
  explicit Tangents(PrimBuilder &b) : b(b) {}

  void give(mlir::Value v, mlir::Value tangent) { known[v] = tangent; }
  /// Null where there is none.
  mlir::Value of(mlir::Value v) const { return known.lookup(v); }
  mlir::Value orZeros(mlir::Value v);
  /// Follows `op`, whose operands were followed before: its results get their tangents, computed at
  /// the builder's place. Fails where it has no derivative here that is known.
  mlir::LogicalResult follow(mlir::Operation *op);

private:
  bool changes(mlir::Operation *op) const;
  mlir::LogicalResult followUnary(mlir::Operation *op);
  mlir::LogicalResult followBinary(mlir::Operation *op);
  mlir::LogicalResult followProduct(mlir::Operation *op);
  mlir::LogicalResult followLinear(mlir::Operation *op);
  mlir::LogicalResult followReduction(mlir::Operation *op);
  mlir::LogicalResult followOrder(mlir::Operation *op);
  mlir::Value with(mlir::Operation *op, mlir::ValueRange operands);

  PrimBuilder &b;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace tcc
