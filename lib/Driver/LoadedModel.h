//===- LoadedModel.h - A compiled library in this process --------*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "tcc/Runtime/tcc.h"
#include "llvm/Support/Error.h"

namespace tcc {

/// A model.so for this machine, opened, with one context.
class LoadedModel {
public:
  /// A UserError where this machine cannot run the model.
  static llvm::Expected<std::unique_ptr<LoadedModel>> open(const std::string &path);
  ~LoadedModel();
  LoadedModel(const LoadedModel &) = delete;

  /// One run: the outputs in order, whose element types are `types`.
  llvm::Expected<std::vector<reference::Tensor>> run(llvm::ArrayRef<reference::Tensor> inputs,
                                                     llvm::ArrayRef<DType> types);

private:
  LoadedModel() = default;
  llvm::Error openAt(const std::string &path);

  void *handle = nullptr;
  const tcc_api *api = nullptr;
  tcc_model *model = nullptr;
  tcc_context *context = nullptr;
};

} // namespace tcc
