//===- StridedCopy.h - Moving elements between strided layouts -*- C++ -*-===//
//
// Every view (transpose, slice, broadcast, pad, concat, reverse, ...) is one
// copy between two strided layouts of one index space, so one loop nest does
// them all. Strides count elements and may be zero or negative.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Reference/Tensor.h"

namespace tcc::reference {

using Strides = llvm::SmallVector<int64_t, 6>;

/// Row-major strides of `shape`.
Strides stridesOf(llvm::ArrayRef<int64_t> shape);

/// One side of a copy: the address of index 0 and a stride for each axis.
struct Layout {
  char *base;
  Strides strides;
};
struct ConstLayout {
  const char *base;
  Strides strides;
};

/// Copies the elements, `bytes` bytes each, of the index space `shape`.
void copyStrided(llvm::ArrayRef<int64_t> shape, unsigned bytes, const ConstLayout &from,
                 const Layout &to);

/// Sets `count` elements of `bytes` bytes to the one at `value`.
void fill(char *to, int64_t count, const char *value, unsigned bytes);

} // namespace tcc::reference
