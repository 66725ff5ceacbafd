//===- KeptPlace.h - Results that hold what is needed again -------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu. An expensive value that several loops of a row need may wait where
// the row's result goes, if that has room for it and each point's result is made from the value
// there.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/RowStages.h"
#include <optional>

namespace tcc::codegen {

/// The result of `launch` where the value of `op` can lie from the loop that computes it on: the
/// one that it is, or the only one, which is made of it.
std::optional<unsigned> resultKeeping(kernel::LaunchOp launch, llvm::ArrayRef<RowStage> stages,
                                      mlir::Operation *op);

} // namespace tcc::codegen
