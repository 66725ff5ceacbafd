//===- AccessMap.h - Which loop index each value is read at ------*- C++ -*-===//
//
// Inside a kernel, a loop nest runs over a space of dims; walking from what is
// stored back to a value, each of its axes is read at one loop index, at 0 (a
// unit axis), or at something more complicated. Fusion asks this to know whether
// a reduction can share the rows of its consumer, and code generation to merge
// adjacent loops.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// The index along one axis: a loop dim (>= 0), zero, or anything.
inline constexpr int kZero = -1;
inline constexpr int kUnknown = -2;
using Access = llvm::SmallVector<int, 6>;

/// The identity access of a space of `rank` dims.
Access identityAccess(unsigned rank);

/// At which index `op` reads operand number `operand` when its result is read at
/// `at`. A reduction reads its reduced axes at the loop dims `reduced`.
Access operandAccess(mlir::Operation *op, unsigned operand, llvm::ArrayRef<int> at,
                     llvm::ArrayRef<int> reduced = {});

/// Two accesses merged: equal entries stay, others become unknown.
Access mergeAccess(llvm::ArrayRef<int> x, llvm::ArrayRef<int> y);

} // namespace tcc
