//===- Prim.h - The prim dialect ---------------------------------*- C++ -*-===//
//
// Given by decompose, rewritten by simplify, differentiate and layout, grouped
// into kernels by fuse. See PrimBase.td for what holds of all operators.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Dialect/Prim/Traits.h"
#include "tcc/Support/DType.h"

#include "tcc/Dialect/Prim/PrimDialect.h.inc"
#include "tcc/Dialect/Prim/PrimEnums.h.inc"
#include "tcc/Dialect/Prim/PrimInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Prim/PrimAttrs.h.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Prim/PrimOps.h.inc"

namespace tcc {

/// The type of a tensor. Tensors of the prim dialect have a rank.
inline mlir::RankedTensorType tensorType(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}

} // namespace tcc

namespace tcc::prim {

/// Marks an entry of `static_starts` or `static_low` that an operand gives.
inline constexpr int64_t kDynamicStart = INT64_MIN;

/// Of a module: how many generators of random numbers it has for nodes with seeds of their own.
inline constexpr llvm::StringLiteral kGeneratorsAttr = "tcc.generators";

/// Whether `op` gives one value a point from operands of the same shape.
bool isElementwise(mlir::Operation *op);

/// The extent of axis `axis` of `value`: an attribute when static, else an
/// index value made from the operands of its producer, as far back as that is
/// possible (a function argument's `prim.dim` at worst), built by `builder`.
mlir::OpFoldResult dimOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         unsigned axis);
/// All extents of `value`.
llvm::SmallVector<mlir::OpFoldResult> dimsOf(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value value);

/// How a tensor of `type` lies in memory; null: row-major.
StorageLayout layoutOf(mlir::RankedTensorType type);
inline StorageLayout layoutOf(mlir::Value tensor) { return layoutOf(tensorType(tensor)); }
/// What a tensor of `type` is in memory, as a row-major tensor.
mlir::RankedTensorType storedType(mlir::RankedTensorType type);

/// The element type for `dtype`, and back; nullopt for a type no DType names.
mlir::Type elementType(mlir::MLIRContext *context, DType dtype);
std::optional<DType> dtypeOf(mlir::Type elementType);

} // namespace tcc::prim
