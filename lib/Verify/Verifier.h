//===- Verifier.h - One --verify, from runs to the part at fault -*- C++ -*-===//
//
// Internal to lib/Verify. See the essays in Verify.cpp and Locate.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Verify/Agreement.h"
#include "tcc/Verify/LoadedModel.h"
#include "tcc/Verify/ReferenceRuns.h"
#include "tcc/Verify/Verify.h"
#include <optional>

namespace tcc {

/// The result of one node of the model, by place, which is the same in every copy of the module.
struct Probe {
  unsigned op;     ///< of the function's block
  unsigned result; ///< of the operator
  std::string node;
};

class Verifier {
public:
  Verifier(const VerifiedFiles &files, const VerifyHooks &hooks) : files(files), hooks(hooks) {}
  llvm::Expected<VerifyResult> run();

private:
  /// What a library gives beside the reference, up to the first run that differs.
  struct Comparison {
    Agreement agreement;
    size_t runs = 0;
    /// Of the last run, the model's results in the order of the function's; empty: not to be had.
    std::vector<reference::Tensor> got;
  };
  llvm::Expected<Comparison> compareRuns(const VerifiedFiles &library);
  llvm::Error compareRun(LoadedModel &loaded, const ReferenceRun &run, Comparison &comparison);
  llvm::Expected<bool> explainedByRounding(const Comparison &comparison);
  llvm::Expected<std::string> blame();
  Agreement compared(const reference::Tensor &got, const reference::Tensor &want) const {
    return compare(got, want, hooks.tf32 ? Allowance::ofTf32() : Allowance());
  }
  std::string label(const char *what, llvm::StringRef name, unsigned number, size_t run) const;
  std::vector<Probe> allProbes();
  llvm::Error buildWith(llvm::ArrayRef<Probe> probes, const std::string &path);
  llvm::Expected<std::string> firstDifference(unsigned stride);
  llvm::Expected<std::string> differenceIn(const ReferenceRun &run, llvm::ArrayRef<Probe> all,
                                           llvm::ArrayRef<Probe> chosen, unsigned stride,
                                           const LoadedModel::Results &got);
  /// The first node that is wrong on its own; empty when there is none, or it cannot be told.
  llvm::Expected<std::string> locateNode();
  /// The same of nodes that are compiled together.
  llvm::Expected<std::string> locateStretch();
  /// Whether the nodes' values may become outputs.
  bool canExpose() { return hooks.mayExpose && !allProbes().empty(); }

  const VerifiedFiles &files;
  const VerifyHooks &hooks;
  Model model;
  mlir::func::FuncOp function;
  std::optional<CallForm> form;
  std::vector<ReferenceRun> runs;
  Comparison first;                                    ///< of the library that was asked for
  std::vector<std::vector<reference::Tensor>> rounded; ///< by seed, for as many runs as `first` has
};

/// Element types of tensors.
std::vector<DType> typesOf(mlir::TypeRange types);

} // namespace tcc
