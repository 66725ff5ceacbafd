//===- PoolLines.h - Pools whose windows are taken from lines ---*- C++ -*-===//
//
// Code generation reduces the rows that the windows of a line see to one line first
// (Codegen/Cpu/Rows/WindowLines.cpp). Layout leaves such pools whole.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::cpu {

/// Whether the windows of `pool` have several rows, of several columns that lie beside each other.
bool takesLines(prim::PoolOp pool);

} // namespace tcc::cpu
