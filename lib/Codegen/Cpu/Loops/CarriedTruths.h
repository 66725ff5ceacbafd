//===- CarriedTruths.h - Truth values from turn to turn ----------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

/// Loops of `function` carry vectors of truth values as bytes, where no registers of masks hold
/// them: LLVM takes a vector of bits that a loop carries apart, bit by bit.
void carryTruthsAsBytes(mlir::func::FuncOp function, const CpuTarget &cpu);

} // namespace tcc::codegen
