//===- ContribSchemas.h - What operators without a schema take ---*- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// Fails, with a reason that names it, where a node of ONNX Runtime's own operators has an input,
/// an output or an attribute that its rule does not know, or lacks one that it needs.
mlir::LogicalResult checkContrib(NodeContext &c);

} // namespace tcc
