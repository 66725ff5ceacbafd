//===- SourceNodes.h - Nodes of the model behind an operator -----*- C++ -*-===//
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tcc {

/// Adds the names, clean to print, of the model's nodes that `loc` tells of.
void collectNodes(mlir::Location loc, llvm::SmallVectorImpl<std::string> &names);
/// The same with ", " between.
std::string sourceNodes(mlir::Location loc);

} // namespace tcc
