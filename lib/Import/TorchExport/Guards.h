//===- Guards.h - What an exported program supposed of sizes ----*- C++ -*-===//
#pragma once
#include "Import/TorchExport/InputChecks.h"

namespace tcc::torchexport {

/// Adds a check for each guard of the file ("(L['x'].size()[0] % 2) == 0") that can be read. An
/// error says that one holds for no run.
llvm::Error checkGuards(mlir::OpBuilder &builder, llvm::ArrayRef<CheckedInput> inputs,
                        llvm::ArrayRef<std::string> guards);

} // namespace tcc::torchexport
