//===- PartialResults.h - What waits in memory on the way to a result -*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

constexpr int64_t kMostParts = 256;  ///< of which a second kernel makes the result
constexpr int64_t kSideBySide = 128; ///< results of several rows of a few, together
constexpr int64_t kVectorLanes = 16; ///< that they fill

/// The divisor of `extent` that is nearest to `wanted` by factor; all of it if it comes near.
int64_t nearestDivisor(int64_t extent, double wanted);

/// Where the last of so many parts of `extent` ends, of which each has as many rows as fill vectors
/// with their few results side by side; 0: no rows are worth that, or there are not enough.
int64_t endOfParts(int64_t extent, int64_t results, int64_t parts);

/// Whether parts of a reduction of `x` that wait in memory, in elements of its type, are as exact
/// as in registers: not those of sums of narrow floats, which are kept in wider ones.
bool keepsPartsExact(prim::ReduceKind kind, mlir::Value x);

/// Two results of reductions of `kind` as one.
mlir::Value joinedResults(mlir::OpBuilder &b, mlir::Location loc, prim::ReduceKind kind,
                          mlir::Value l, mlir::Value r);

/// Reduces an open number of rows of a few elements as rows of several beside each other; false:
/// `op` is no such reduction.
bool splitOpenRowsOfFew(prim::ReduceOp op);

/// Of short lines the place of an extremum becomes the extremum, and then the first (or last) place
/// where it is: two reductions, for which row kernels have vectors.
void reduceShortExtremum(prim::ArgReduceOp op);

} // namespace tcc
