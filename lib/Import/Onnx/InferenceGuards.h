//===- InferenceGuards.h - What ONNX's inference takes on trust -*- C++ -*-===//
#pragma once
#include "GraphValue.h"
#include <string>

namespace tcc::onnximport {

/// What is wrong with a node of ONNX's domain that its schema accepts but its
/// inference function would crash on or never return from; empty if nothing.
std::string guardInference(const NodeView &node);

} // namespace tcc::onnximport
