//===- Host.h - The host dialect ---------------------------------*- C++ -*-===//
//
// Given by the plan phase, consumed by code generation. See HostOps.td.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc::host {
class KernelOp;
/// Whether elements lie in row-major order without gaps, in a space of this dialect.
bool isCompact(mlir::MemRefType type);
} // namespace tcc::host

#include "tcc/Dialect/Host/HostDialect.h.inc"
#include "tcc/Dialect/Host/HostEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Host/HostAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tcc/Dialect/Host/HostTypes.h.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Host/HostOps.h.inc"

namespace tcc::host {

MemorySpace memorySpace(mlir::MemRefType type);

/// The tensor type of `shape` and elements of `type`, and the memory of a tensor.
mlir::RankedTensorType tensorType(mlir::MemRefType type);
mlir::MemRefType memoryType(mlir::RankedTensorType type, MemorySpace space = MemorySpace::host);

} // namespace tcc::host
