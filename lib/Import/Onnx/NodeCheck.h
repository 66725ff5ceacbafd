//===- NodeCheck.h - A node against its schema ------------------*- C++ -*-===//
#pragma once
#include "GraphValue.h"
#include "onnx/defs/schema.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tcc::onnximport {

/// What is wrong with the node's operands, results, attributes or element
/// types; empty if nothing. Rules in decompose rely on what this checks.
std::string checkNode(const NodeView &node, const onnx::OpSchema &schema);

/// The kind of value that an attribute has; files of the first ONNX versions
/// do not say it, it then follows from the field that is set.
onnx::AttributeProto::AttributeType attributeType(const onnx::AttributeProto &attribute);

} // namespace tcc::onnximport
