//===- KernelCompiler.h - One kernel's code, by content ---------*- C++ -*-===//
#pragma once
#include "tcc/Pipeline/Backend.h"
#include "tcc/Support/DiskCache.h"

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
  };
  llvm::Expected<Result> get(const KernelRequest &request) const;

private:
  llvm::Expected<KernelCode> compile(const KernelRequest &request) const;

  const Backend &backend;
  CodeForm form;
  const CodeObserver &observer;
  const DiskCache &cache;
};

} // namespace tcc
