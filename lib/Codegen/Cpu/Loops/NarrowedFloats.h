//===- NarrowedFloats.h - Floats that become bytes ---------------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Target/Cpu.h"

namespace tcc::codegen {

/// Casts of vectors of floats to bytes in `function`, by way of 32 bits, by the conversions and
/// packings of a CPU that has AVX2 and no more.
void narrowFloats(mlir::func::FuncOp function, const CpuTarget &cpu);

} // namespace tcc::codegen
