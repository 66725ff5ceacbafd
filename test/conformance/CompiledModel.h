//===- CompiledModel.h - A model.so run on reference tensors -----*- C++ -*-===//
//
// The runtime's C interface between tensors of the kind that the cases are
// loaded into: what a program that embeds a model does, in one class.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "tcc/Runtime/tcc.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace tcc::conformance {

class CompiledModel {
public:
  /// Loads the library at `path` and opens a context of one thread and seed 0.
  static llvm::Expected<std::unique_ptr<CompiledModel>> open(const std::string &path);
  ~CompiledModel();
  CompiledModel(const CompiledModel &) = delete;

  llvm::Expected<std::vector<reference::Tensor>> run(llvm::ArrayRef<reference::Tensor> inputs);

private:
  CompiledModel() = default;

  void *handle = nullptr;
  const tcc_api *api = nullptr;
  tcc_model *model = nullptr;
  tcc_context *context = nullptr;
};

} // namespace tcc::conformance
