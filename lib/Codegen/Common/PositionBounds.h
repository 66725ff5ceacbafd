//===- PositionBounds.h - How large computed positions are -------*- C++ -*-===//
//
// Internal to lib/Codegen/Common.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Value.h"

namespace tcc::codegen {

/// Whether every element of `v`, integers of more bits, is made of positions along known axes and
/// of constants so that it, and all that it is made of, has 32 bits.
bool fitsWord(mlir::Value v);

} // namespace tcc::codegen
