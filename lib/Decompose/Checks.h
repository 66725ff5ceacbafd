//===- Checks.h - What a run must hold to -------------------------*- C++ -*-===//
//
// Rules know much about extents and indices at compile time; what they cannot
// know, the compiled model checks, since kernels trust it: a run on inputs that
// do not fit together ends with an error and never reads past a tensor. Each of
// these is a fault of the model when it cannot hold, nothing when it surely does,
// and else a check at run time, made once for the same extents.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// x and y are equal.
void requireSame(PrimBuilder &b, Dim x, Dim y, llvm::StringRef what);
/// As many elements of extents `after` as of extents `before`.
void requireSameCount(PrimBuilder &b, llvm::ArrayRef<Dim> before, llvm::ArrayRef<Dim> after);
/// An axis of extent x can be broadcast to `extent`.
void requireBroadcast(PrimBuilder &b, Dim x, Dim extent);
/// x is at most `limit`.
void requireAtMost(PrimBuilder &b, Dim x, Dim limit, llvm::StringRef what);
/// Which indices of an axis mean something: those of its positions alone, or also
/// negative ones, which count from its end.
enum class IndexRange { positions, fromBothEnds };
/// Every index lies within [0, extent), or within [-extent, extent).
void requireInRange(PrimBuilder &b, mlir::Value indices, Dim extent,
                    IndexRange range = IndexRange::fromBothEnds);
/// `size` positions from `start` on lie within an axis.
void requireInside(PrimBuilder &b, Dim start, Dim size, Dim extent);
/// An axis of `extent`, along which some operator looks for an element of each of `results`
/// (extents), has one, or there is nothing to look for.
void requireElements(PrimBuilder &b, Dim extent, llvm::ArrayRef<Dim> results, llvm::StringRef what);
/// extent * count, which an extent must hold.
Dim repeatedExtent(PrimBuilder &b, Dim extent, Dim count);
/// extent / count, which leaves no rest.
Dim wholeQuotient(PrimBuilder &b, Dim extent, Dim count, llvm::StringRef what);
/// d can divide x.
void requireDivisor(PrimBuilder &b, Dim x, Dim d);

} // namespace tcc
