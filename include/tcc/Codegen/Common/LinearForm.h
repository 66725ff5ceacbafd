//===- LinearForm.h - An index expression taken apart ------------*- C++ -*-===//
//
// Two addresses of one row block are compared by it: do they differ by a constant?
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen {

/// An index expression as a sum of terms with constant factors.
struct LinearForm {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;
  int64_t constant = 0;

  /// Adds factor * v; `whole` is not taken apart.
  void add(mlir::Value v, int64_t factor, mlir::Value whole);
  /// Removes the term `v`; gives its factor.
  int64_t take(mlir::Value v);
  bool operator==(const LinearForm &o) const;
};

/// Whether two index expressions always have one value: the same one, or the same
/// arithmetic of the same ones.
bool sameIndex(mlir::Value x, mlir::Value y);

} // namespace tcc::codegen
