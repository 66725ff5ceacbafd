//===- AttributeEnums.h - Attributes that have one of a few words *- C++ -*-===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// Fails, with a reason, where an attribute of an ONNX node has a word, or a length, that it
/// cannot have.
mlir::LogicalResult checkEnums(NodeContext &c);

} // namespace tcc
