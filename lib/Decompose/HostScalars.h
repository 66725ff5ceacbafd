//===- HostScalars.h - Operators on single host scalars ----------*- C++ -*-===//
//
// Internal to PrimBuilder: what an elementwise operator does to one element
// that is known on the host. Elements that are all constants are the reference
// interpreter's to compute, so that there is one arithmetic on constants; the host
// computes where one is known at run time only. A null Dim means: not on the host.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

/// `value` as an attribute of a number type (complex: an array of two).
mlir::Attribute numberAttr(mlir::Type type, double value);
/// A host scalar as an SSA value of its own type.
mlir::Value hostValue(PrimBuilder &pb, Dim d);

/// The elements of `tensor`, each read from its memory.
Dims extractElements(PrimBuilder &pb, mlir::Value tensor);

/// Whether tensors of this element type are followed as host scalars. Unsigned ones are
/// not: index arithmetic is signed.
bool isHostType(mlir::Type elementType);
/// `op` is a full prim op name; `type` the tensors' element type.
Dim hostBinary(PrimBuilder &pb, llvm::StringRef op, mlir::Type type, Dim x, Dim y);
Dim hostUnary(PrimBuilder &pb, llvm::StringRef op, mlir::Type type, Dim x);
Dim hostCompare(PrimBuilder &pb, prim::ComparePredicate predicate, mlir::Type type, Dim x, Dim y);
Dim hostSelect(PrimBuilder &pb, mlir::Type type, Dim condition, Dim x, Dim y);
Dim hostCast(PrimBuilder &pb, mlir::Type from, mlir::Type to, Dim x);

/// NumPy's shape rule for static shapes; nullopt when they disagree or the
/// result is too large for the host.
std::optional<llvm::SmallVector<int64_t>> broadcastStatic(llvm::ArrayRef<int64_t> x,
                                                          llvm::ArrayRef<int64_t> y);
/// The row-major position in `operand` of position `linear` of `result`.
int64_t broadcastIndex(int64_t linear, llvm::ArrayRef<int64_t> result,
                       llvm::ArrayRef<int64_t> operand);

} // namespace tcc
