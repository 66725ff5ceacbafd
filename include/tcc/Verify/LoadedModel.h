//===- LoadedModel.h - A compiled library in this process --------*- C++ -*-===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "tcc/Runtime/tcc.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tcc {

/// A model.so for this machine, opened, with one context, whose random numbers start where those of
/// the reference interpreter do.
class LoadedModel {
public:
  /// A UserError where this machine cannot run the model.
  /// `weights` is the file of the weights where that does not lie beside the library.
  static llvm::Expected<std::unique_ptr<LoadedModel>>
  open(const std::string &path, const std::string &weights = "", bool profile = false);
  ~LoadedModel();
  LoadedModel(const LoadedModel &) = delete;

  struct Results {
    std::vector<reference::Tensor> outputs;
    std::vector<reference::Tensor> inputs; ///< as the run left them
    double seconds = 0;                    ///< of the run alone
  };
  /// One run: the outputs in order, whose element types are `types`. Where the library has
  /// complex numbers, tensors of reals have pairs.
  llvm::Expected<Results> run(llvm::ArrayRef<reference::Tensor> inputs,
                              llvm::ArrayRef<DType> types);

  /// Of all runs so far, by kernel; opened with `profile`.
  llvm::StringMap<double> kernelSeconds() const;

private:
  LoadedModel() = default;
  llvm::Error openAt(const std::string &path, const std::string &weights, bool profile);

  void *handle = nullptr;
  const tcc_api *api = nullptr;
  tcc_model *model = nullptr;
  tcc_context *context = nullptr;
};

} // namespace tcc
