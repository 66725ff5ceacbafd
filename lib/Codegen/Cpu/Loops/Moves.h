//===- Moves.h - What operators that compute nothing do ----------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu: several templates take operators in that only move elements, each
// the kinds that its lanes can follow. What kind an operator is of is said here, once.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"

namespace tcc::codegen {

enum class Move : unsigned {
  Constant,  ///< an element of a constant
  Position,  ///< a function of the index (iota)
  Repeat,    ///< broadcast
  Reshape,   ///< the same elements in the same order
  Transpose, ///< axes in another order
  Reverse,   ///< the same axes, backwards
  Cut,       ///< a slice of neighbours
  Step,      ///< a slice of each so many
  Border,    ///< pad
  Join,      ///< one of several operands
  None       ///< computes, or takes by an index that is data
};

Move moveOf(mlir::Operation *op);

/// Whether the operator is of one of these kinds.
template <typename... Kinds> bool moves(mlir::Operation *op, Kinds... kinds) {
  Move move = moveOf(op);
  return ((move == kinds) || ...);
}

} // namespace tcc::codegen
