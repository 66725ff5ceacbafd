//===- Dump.h - What --dump-ir writes ----------------------------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"
#include "tcc/Pipeline/Pipeline.h"
#include "llvm/Support/Error.h"
#include <mutex>

namespace tcc {

/// The model as each phase leaves it, in a folder: `N-PHASE.mlir`; after codegen a file for each
/// kernel and the host function as loops (.mlir), optimised LLVM IR (.ll) and assembly (.s) in
/// `8-codegen/`; after emit the manifest. Only the phases that were asked for, by default all.
/// A file that cannot be written is removed, and `failure` tells of the first.
class Dump {
public:
  explicit Dump(const DriverOptions &options) : options(options) {}

  /// Makes the folder. Error: the user's, when that fails.
  llvm::Error prepare() const;
  /// The IR after a phase that changes it.
  void module(Phase phase, mlir::ModuleOp module);
  /// Where generateCode tells what a kernel looks like; empty if nobody asked. Thread-safe.
  CodeObserver codeObserver();
  void manifest(llvm::StringRef text);
  llvm::Error failure();

private:
  bool wants(Phase phase) const;
  std::string path(Phase phase, const llvm::Twine &rest) const;
  void write(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> print);

  const DriverOptions &options;
  std::mutex mutex;
  std::string failed; ///< what and why
};

} // namespace tcc
