//===- Operands.h - What ONNX rules share ------------------------*- C++ -*-===//
//
// Reading of axes, extents and element types, as ONNX states them, with the
// checks that a hostile model needs.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Decompose/Idioms/Axes.h"
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// The element type of a TensorProto.DataType code, or null (string, unknown).
mlir::Type onnxElementType(mlir::MLIRContext *context, int64_t code);

/// `axis` counted from the end when negative; the node fails when it is out of
/// range for `rank`.
mlir::FailureOr<int64_t> axisWithin(NodeContext &c, int64_t axis, int64_t rank);
/// As above for a list, which must not repeat an axis; sorted.
mlir::FailureOr<llvm::SmallVector<int64_t>> axesWithin(NodeContext &c, llvm::ArrayRef<int64_t> axes,
                                                       int64_t rank);
/// The attribute `axis`, within the rank of operand 0.
mlir::FailureOr<int64_t> axisAttr(NodeContext &c, int64_t otherwise);

/// The integers of operand i as host scalars, read at run time if need be;
/// `count` is used when the operand's own extent is not known.
mlir::FailureOr<Dims> hostInts(NodeContext &c, size_t i, std::optional<int64_t> count = {});
/// As above for an operand with one element.
mlir::FailureOr<Dim> hostInt(NodeContext &c, size_t i);
/// Rank of result i as inferred from the file, if it is.
std::optional<int64_t> resultRank(NodeContext &c, size_t i);

/// Whether `axis` is among the host values `axes`, which may count from the end.
Dim isNamedAxis(PrimBuilder &b, llvm::ArrayRef<Dim> axes, int64_t axis, int64_t rank);
/// The extents of the axes for which `gone` does not hold, `count` of them.
Dims keptExtents(PrimBuilder &b, llvm::ArrayRef<Dim> extents, llvm::ArrayRef<Dim> gone,
                 int64_t count);

/// The one element of operand i as a rank-0 tensor; the node fails when it has more.
mlir::FailureOr<mlir::Value> scalarOperand(NodeContext &c, size_t i);
/// The tensors of `list`, or nullopt when one is no tensor.
std::optional<llvm::SmallVector<mlir::Value>> tensorsOf(llvm::ArrayRef<Lowered> list);
/// Gives what a subgraph yields as the node's results.
mlir::LogicalResult giveAll(NodeContext &c, llvm::ArrayRef<Lowered> values);

} // namespace tcc
