//===- ColumnBlocks.h - Reductions across rows that are read again -*- C++ -*-===//
//
// softmax over the channels of images, a norm over a middle axis: what is reduced is read again
// beside the results, which lie side by side and fill vectors. A kernel for each step would take
// everything from memory at each of them. The CPU's row kernel does a block of columns at a time,
// which the caches keep from its first to its last pass (lib/Codegen/Cpu/Rows/ColumnBlocks.cpp).
// Which reductions it takes, layout and fusion ask here, below either.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Whether `op` reduces lines of such columns, whatever is done with its results.
bool reducesColumns(prim::ReduceOp op);

/// Whether the results of `op`, which does, meet what they were made of again, or `op` is of what
/// met such results.
bool rereadsColumns(prim::ReduceOp op);

} // namespace tcc
