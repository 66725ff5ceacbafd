//===- Shares.h - Exponentials below 1, and quotients by their sums -*- C++ -*-===//
//
// What the form of a softmax says of its numbers: less is to be computed for them. A maximum or sum
// that is made in parts, or in another kernel, hides that form; `markShares` writes it down before.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::prim {

/// Whether `op` is of what is at most 0, or NaN: the largest of its part is subtracted from it.
bool isNotPositive(ExpOp op);
/// Whether `op` divides exponentials, of which the largest of each row is 1, by the row's sum.
bool makesShares(DivOp op);
/// Writes down of which operators in `root` this holds.
void markShares(mlir::Operation *root);

} // namespace tcc::prim
