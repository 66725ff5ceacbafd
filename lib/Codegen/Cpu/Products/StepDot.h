//===- StepDot.h - Products of steps of narrow numbers ---------*- C++ -*-===//
//
// 8-bit and bf16 operands are multiplied a step of neighbours in k at a time (DotSteps,
// Dialect/Cpu/WeightPanels.h): one step of A is broadcast, B has one in every lane, and an
// instruction adds their products to 32-bit lanes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

namespace tcc::codegen {

/// The integers as wide as an element of B, and as a step of it.
mlir::Type stepElement(KernelBuilder &k, DotSteps steps);
mlir::Type stepType(KernelBuilder &k, DotSteps steps);

/// A step of `bits` an element at `pointer` as one integer: A's have lhsElementBits, B's
/// elementBits.
mlir::Value loadStep(KernelBuilder &k, DotSteps steps, unsigned bits, mlir::Value pointer);

/// The step whose elements are `first` and the following ones of those at `row`; those
/// from `valid` on are not read, and 0.
mlir::Value loadPartOfStep(KernelBuilder &k, DotSteps steps, unsigned bits, mlir::Value row,
                           Index first, Index valid);

/// A step of lhs in each of `lanes` lanes, its sign bits flipped if need be: a vector of i8, bf16
/// or, widened, i16.
mlir::Value spreadStep(KernelBuilder &k, DotSteps steps, mlir::Value step, unsigned lanes);

/// acc[lane] += the products of the steps in the lane; lhs as spreadStep gives it.
mlir::Value emitStepDot(KernelBuilder &k, const CpuTarget &cpu, DotSteps steps, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value acc);

/// acc[lane] += the sum of rhs's step of bytes in the lane.
mlir::Value emitStepSum(KernelBuilder &k, const CpuTarget &cpu, DotSteps steps, mlir::Value rhs,
                        mlir::Value acc);

} // namespace tcc::codegen
