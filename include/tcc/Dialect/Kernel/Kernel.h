//===- Kernel.h - The kernel dialect -----------------------------*- C++ -*-===//
//
// Given by the fuse phase, completed by schedule, consumed by plan and codegen. See
// KernelOps.td.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tcc::kernel {
/// On a loop or a branch, the numbers of its results that lie on the host of a model for a device;
/// on an argument of the model, that it does.
inline constexpr llvm::StringLiteral kOnHost = "kernel.on_host";
} // namespace tcc::kernel

#include "tcc/Dialect/Kernel/KernelDialect.h.inc"
#include "tcc/Dialect/Kernel/KernelEnums.h.inc"
#include "tcc/Dialect/Kernel/KernelInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Kernel/KernelAttrs.h.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Kernel/KernelOps.h.inc"
