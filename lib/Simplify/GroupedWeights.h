//===- GroupedWeights.h - Integers with a scale a group ----------*- C++ -*-===//
#pragma once
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc {
class WeightTable;

/// A product of one row by (integers - zeros) * scales with one zero point and one scale for each
/// group along the sum becomes a sum of rows that reads the integers as they are, in `weights`;
/// false where `op` is something else.
bool sumGroups(prim::DotOp op, WeightTable &weights);
} // namespace tcc
