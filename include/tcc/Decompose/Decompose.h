//===- Decompose.h - graph → prim --------------------------------*- C++ -*-===//
//
// The phase after import. Walks the model in order and replaces each node by
// its rule's primitives. Nodes without a rule, and nodes whose rule refuses, are
// all reported in one error.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tcc {
class WeightTable;

/// Of an argument or result of the model function: it is complex for the caller,
/// with its parts as a last axis of extent 2 here.
inline constexpr llvm::StringLiteral kComplexAttr = "graph.complex";

/// Replaces the graph ops of `module` by prim ops. A UserError lists every node
/// that cannot be decomposed (node, operator, opset, shapes, reason).
llvm::Error decompose(mlir::ModuleOp module, WeightTable &weights);

} // namespace tcc
