//===- StorageLiveness.h - How long tensors need their memory ----*- C++ -*-===//
//
// A reshape is another name of the memory that it reads. What lies inside of an
// operator with regions counts as that operator. Extents are no part of the memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc {

/// The tensor whose memory `v` is: `v`, or what it is a reshape of.
mlir::Value storageOf(mlir::Value v);

/// The readers of tensors, as seen from one block.
class StorageLiveness {
public:
  explicit StorageLiveness(mlir::Block &block);

  /// The place of `op`, or of the operator of the block that it lies in.
  unsigned position(mlir::Operation *op) const;
  /// The last operator of the block that reads `v`, or a reshape of it; null if none does.
  mlir::Operation *lastReader(mlir::Value v) const;
  /// Where that is; 0 if there is none.
  unsigned lastUse(mlir::Value v) const;

private:
  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace tcc
