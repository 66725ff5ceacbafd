//===- PartialResults.h - What waits in memory on the way to a result -*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Whether parts of a reduction of `x` that wait in memory, in elements of its type, are as exact
/// as in registers: not those of sums of narrow floats, which are kept in wider ones.
bool keepsPartsExact(prim::ReduceKind kind, mlir::Value x);

/// Of short lines the place of an extremum becomes the extremum, and then the first (or last) place
/// where it is: two reductions, for which row kernels have vectors.
void reduceShortExtremum(prim::ArgReduceOp op);

} // namespace tcc
