//===- ByteDot.h - Products of steps of bytes ------------------*- C++ -*-===//
//
// 8-bit operands are multiplied a step of neighbours in k at a time (ByteSteps,
// Dialect/Cpu/WeightPanels.h): one step of A is broadcast, B has one in every lane, and an
// instruction adds their products to 32-bit lanes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

namespace tcc::codegen {

/// A step of bytes at `pointer` as one integer.
mlir::Value loadByteStep(KernelBuilder &k, ByteSteps bytes, mlir::Value pointer);

/// The step whose elements are `first` and the following ones of those at `row`; those
/// from `valid` on are not read, and 0.
mlir::Value loadPartOfByteStep(KernelBuilder &k, ByteSteps bytes, mlir::Value row, Index first,
                               Index valid);

/// A step of lhs in each of `lanes` lanes, its sign bits flipped if need be: i8 vector.
mlir::Value spreadByteStep(KernelBuilder &k, ByteSteps bytes, mlir::Value step, unsigned lanes);

/// acc[lane] += the products of the steps in the lane; lhs as spreadByteStep gives it.
mlir::Value emitByteDot(KernelBuilder &k, const CpuTarget &cpu, ByteSteps bytes, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value acc);

/// acc[lane] += the sum of rhs's step in the lane.
mlir::Value emitByteSum(KernelBuilder &k, const CpuTarget &cpu, ByteSteps bytes, mlir::Value rhs,
                        mlir::Value acc);

} // namespace tcc::codegen
