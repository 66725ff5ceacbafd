//===- RowRegion.h - What is computed in the rows of a product ---*- C++ -*-===//
//
// Internal to lib/Simplify. A product of rows by columns with what follows it row by row:
// elementwise operators and other products of the same rows. All of it may be computed in other
// rows, flattened ones with axes of their own or those of another order, if what it reads is there
// in them and what reads its results takes them so. Which rows, and who takes them, a pass says.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/IRMapping.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/SetVector.h"

namespace tcc::simplify {

/// A product of its left operand's rows by columns.
bool isProductOfRows(prim::DotOp dot);

class RowRegion {
public:
  virtual ~RowRegion() = default;
  /// False where the product has to stay in its rows.
  virtual bool collect(prim::DotOp dot) = 0;
  /// Gives the product that takes the place of the first one.
  mlir::Operation *rebuild();

protected:
  /// All that follows `dot` in its rows, in `ops`, with what reads the results, in `ends`.
  bool follow(prim::DotOp dot);
  /// Whether `user` takes a result in the other rows, through restore().
  virtual bool isEnd(mlir::Operation *user) = 0;
  /// The type of a value of the region in the other rows.
  virtual mlir::RankedTensorType typeOf(mlir::Value v) = 0;
  /// What the region reads beside scalars and what is the same for all rows: whether it is there in
  /// the other rows, and it.
  virtual bool isThere(mlir::Value operand) = 0;
  virtual mlir::Value there(mlir::OpBuilder &b, mlir::Value operand) = 0;
  /// Gives `end` its operand, now `made`.
  virtual void restore(mlir::Operation *end, mlir::Value made) = 0;

  llvm::SetVector<mlir::Operation *> ops;
  llvm::SmallSetVector<mlir::Operation *, 4> ends;

private:
  bool add(mlir::Operation *user, mlir::Value read);
  bool canRead(mlir::Value operand);
  mlir::Value read(mlir::OpBuilder &b, mlir::Value operand);

  mlir::IRMapping map;
};

} // namespace tcc::simplify
