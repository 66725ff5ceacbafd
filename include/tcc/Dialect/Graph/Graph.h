//===- Graph.h - The graph dialect -------------------------------*- C++ -*-===//
//
// Given by the import phase, consumed by decompose. See GraphOps.td.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tcc/Dialect/Graph/GraphDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Graph/GraphAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tcc/Dialect/Graph/GraphTypes.h.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Graph/GraphOps.h.inc"

namespace tcc::graph {
/// Node attribute: why the importer could not infer the node's types. Most
/// likely the node's own fault, so a report on the node should say it.
inline constexpr llvm::StringLiteral kFaultAttr = "graph.fault";
} // namespace tcc::graph
