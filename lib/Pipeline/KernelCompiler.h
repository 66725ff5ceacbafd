//===- KernelCompiler.h - One kernel's code, by content ---------*- C++ -*-===//
#pragma once
#include "tcc/Pipeline/Backend.h"
#include "tcc/Support/DiskCache.h"
#include <mutex>

namespace tcc {

/// A printed kernel (kernel::textOf) for one architecture of a back-end.
struct KernelRequest {
  llvm::StringRef text, symbol;
  unsigned architecture = 0;
};

/// From the cache, where it may come from there, or compiled. Thread-safe.
class KernelCompiler {
public:
  KernelCompiler(const Backend &backend, CodeForm form, const CodeObserver &observer,
                 const DiskCache &cache)
      : backend(backend), form(form), observer(observer), cache(cache) {}

  struct Result {
    KernelCode code;
    bool cached = false;
    double seconds = 0; ///< of the thread that compiled it, without those it waited
  };
  llvm::Expected<Result> get(const KernelRequest &request) const;

private:
  llvm::Expected<KernelCode> compile(const KernelRequest &request) const;
  std::unique_ptr<mlir::MLIRContext> takeContext() const;
  void giveBack(std::unique_ptr<mlir::MLIRContext> context) const;

  const Backend &backend;
  CodeForm form;
  const CodeObserver &observer;
  const DiskCache &cache;
  /// Those that no thread uses: the dialects take longer to load than a kernel to read.
  mutable std::vector<std::unique_ptr<mlir::MLIRContext>> contexts;
  mutable std::mutex contextsMutex;
};

} // namespace tcc
