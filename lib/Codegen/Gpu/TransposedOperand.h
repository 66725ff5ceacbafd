//===- TransposedOperand.h - Operands that lie across the results -*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include <optional>

namespace tcc::codegen::device {

/// The transposes of a loop kernel that lie along another axis than the results.
struct TransposedOperand {
  static constexpr unsigned tile = 32; ///< points along both axes

  llvm::SmallVector<prim::TransposeOp, 2> operands;
  unsigned axis; ///< of the results, along which all of them lie
};

/// Null where there are none, or something else is not at the results' own point.
std::optional<TransposedOperand> transposedOperand(kernel::LaunchOp launch);

} // namespace tcc::codegen::device
