//===- OpSchemas.h - What operators of ATen take -----------------*- C++ -*-===//
#pragma once
#include "Import/TorchExport/Schema.h"
#include <string>

namespace tcc::torchexport {

/// Why the node's arguments and results are not those of the operator `target` ("add.Tensor") of
/// `domain`; empty when they are, or when the operator is not known here. An in-place operator and
/// one that writes to `out` go by the functional one that they are a form of.
std::string checkArguments(llvm::StringRef domain, llvm::StringRef target, const Node &node);

/// The names of what the functional operator `target` of ATen takes, in order; of one not known
/// here none.
llvm::SmallVector<llvm::StringRef> argumentNames(llvm::StringRef target);

} // namespace tcc::torchexport
