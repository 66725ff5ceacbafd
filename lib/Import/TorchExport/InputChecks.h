//===- InputChecks.h - How extents of inputs depend on each other -*- C++ -*-===//
//
// An input's extent may be stated as an expression over those of others
// ("2*s11 + 1"). The runtime checks plain symbols; what is more than a symbol is
// checked by nodes of the model, since the code that follows relies on it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Import/TorchExport/Shapes.h"
#include "mlir/IR/Builders.h"

namespace tcc::torchexport {

struct CheckedInput {
  llvm::StringRef name;
  const TensorMeta *meta;
  mlir::Value value;
};

/// Adds the checks at the builder's place. A symbol that stands in no extent
/// alone is solved for where it stands in a linear one. An error says that no
/// run could pass.
llvm::Error checkInputs(mlir::OpBuilder &builder, Shapes &shapes,
                        llvm::ArrayRef<CheckedInput> inputs, llvm::ArrayRef<std::string> guards);

} // namespace tcc::torchexport
