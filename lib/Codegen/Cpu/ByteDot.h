//===- ByteDot.h - Products of groups of bytes ------------------*- C++ -*-===//
//
// 8-bit operands are multiplied a group of neighbours in k at a time (ByteGroups,
// Dialect/Cpu/WeightPanels.h): one group of A is broadcast, B has one in every lane, and an
// instruction adds their products to 32-bit lanes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

namespace tcc::codegen {

/// A group of bytes at `pointer` as one integer.
mlir::Value loadByteGroup(KernelBuilder &k, ByteGroups bytes, mlir::Value pointer);

/// The group whose elements are `first` and the following ones of those at `row`; those
/// from `valid` on are not read, and 0.
mlir::Value loadPartOfByteGroup(KernelBuilder &k, ByteGroups bytes, mlir::Value row, Index first,
                                Index valid);

/// A group of lhs in each of `lanes` lanes, its sign bits flipped if need be: i8 vector.
mlir::Value spreadByteGroup(KernelBuilder &k, ByteGroups bytes, mlir::Value group, unsigned lanes);

/// acc[lane] += the products of the groups in the lane; lhs as spreadByteGroup gives it.
mlir::Value emitByteDot(KernelBuilder &k, const CpuTarget &cpu, ByteGroups bytes, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value acc);

/// acc[lane] += the sum of rhs's group in the lane.
mlir::Value emitByteSum(KernelBuilder &k, const CpuTarget &cpu, ByteGroups bytes, mlir::Value rhs,
                        mlir::Value acc);

} // namespace tcc::codegen
