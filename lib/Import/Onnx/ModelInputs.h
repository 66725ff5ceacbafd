//===- ModelInputs.h - The model's signature under the options --*- C++ -*-===//
#pragma once
#include "GraphImporter.h"
#include <vector>

namespace tcc::onnximport {

struct ModelInput {
  const onnx::ValueInfoProto *info;
  onnx::TypeProto type; ///< with the user's shapes and dims applied
};

/// Inputs that a run must give, in order: initializers among them are constants
/// unless the user gave their shape.
struct ModelInputs {
  std::vector<ModelInput> inputs;
  DimFacts dims;
  /// Names of dims with the ranges that the user gave them.
  std::map<std::string, DimRange> ranges;
};

llvm::Expected<ModelInputs> resolveInputs(const ModelFile &file, const ImportOptions &options);

} // namespace tcc::onnximport
