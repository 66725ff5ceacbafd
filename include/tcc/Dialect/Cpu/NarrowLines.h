//===- NarrowLines.h - Reductions of axes before a few points ---*- C++ -*-===//
//
// Of a tensor of many rows, each of many lines of a few points (64×1000×7), a reduction over the
// lines has few results side by side, which fill no vector. The CPU's row kernel does a row at a
// time: as many lines as fill vectors are one (lib/Codegen/Cpu/Rows/NarrowLineRows.cpp). Which
// reductions it takes, layout and fusion ask here, below either.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {

/// Lines of a row, and points of a line.
struct NarrowLines {
  int64_t lines = 1, points = 1;
};

/// The lines that `op` reduces, if a row kernel does that.
std::optional<NarrowLines> narrowLinesOf(prim::ReduceOp op);

} // namespace tcc
