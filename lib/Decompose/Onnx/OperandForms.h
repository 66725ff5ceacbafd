//===- OperandForms.h - Operands that must be vectors or scalars -*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// Fails, with a reason, where an operand of an ONNX node that says how (a shape, a list of axes,
/// scales, a count) has another rank than the operator takes.
mlir::LogicalResult checkOperandForms(NodeContext &c);

/// `size`, a float, as an extent: 0 when it is below. What is no number, infinite or more than any
/// tensor has is a fault of the model, or of the run when only that knows.
Dim extentOf(PrimBuilder &b, mlir::Value size);

} // namespace tcc
