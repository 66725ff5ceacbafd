//===- ImportOnnx.h - ONNX files → the graph dialect ------------*- C++ -*-===//
//
// The first phase for `.onnx` files. What it promises to decompose:
// - operators are checked against ONNX's schemas: number of operands and
//   results, attributes and their types, element types;
// - model-local functions are gone, and so are the schema functions that
//   `ImportOptions::hasRule` does not know;
// - constants of numbers are `graph.weight`, those of text are "Constant" nodes
//   whose `value` is a tensor of `!graph.string`;
// - nodes are in topological order; subgraphs are regions ended by graph.yield;
// - a result's type is what inference and the file's annotations give:
//   `tensor<..>`, `tensor<*x..>`, `!graph.seq`, `!graph.optional`, or
//   `!graph.unknown`;
// - `@main` carries `graph.name` and `graph.dims` on arguments and results and
//   `graph.ranges` (see Graph.h).
//
// Any file gives a module or one UserError: the reader is bounded in depth,
// memory and time, and nothing of the file is executed or written.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tcc/Import/ImportOptions.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tcc {
class WeightTable;

/// Imports the model at `path`. Weights stay in the mapped files, which the
/// entries of `weights` keep alive; their bytes have the file's alignment.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(llvm::StringRef path,
                                                             const ImportOptions &options,
                                                             WeightTable &weights,
                                                             mlir::MLIRContext &context);

/// As above from memory; `path` names the model in messages and its folder is
/// where external data may lie.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef path,
           const ImportOptions &options, WeightTable &weights, mlir::MLIRContext &context);

} // namespace tcc
