//===- TailDuplication.h - The rest of a block, once in each branch -*- C++ -*-===//
//
// A model may branch on what is only known at run time and get tensors of
// different rank (or sequences of different length): no one type holds both,
// but the rest of the model can be decomposed for each. So
//
//   %r = If(%c) {yield %a} {yield %b}        %o = If(%c) {%p = F(%a); yield %p}
//   %o = F(%r)                          ->               {%q = F(%b); yield %q}
//   yield %o                                 yield %o
//
// on the graph, before decomposition. What follows in an enclosing block comes
// in when that block's own node is treated so. Kernels are compiled once for
// equal code, so a copy costs host code above all.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Graph/Graph.h"

namespace tcc {

/// Whether nothing is decomposed after `node` in its block: `end` is where the
/// block's source operators end.
bool isLastInBlock(graph::NodeOp node, mlir::Operation *end);

/// How many operators duplicateTail would add; counts no further than to about `enough`.
unsigned costOfTail(graph::NodeOp node, mlir::Operation *end, unsigned enough);

/// Moves what lies between `node` and `end` into each subgraph of `node`. Gives
/// the node that now stands last, or null when a subgraph lacks outputs.
graph::NodeOp duplicateTail(graph::NodeOp node, mlir::Operation *end);

/// Whether the subgraphs of `node` end with what once followed it.
bool hasTail(graph::NodeOp node);

} // namespace tcc
