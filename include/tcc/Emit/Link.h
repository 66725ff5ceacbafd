//===- Link.h - Objects to model.so -----------------------------*- C++ -*-===//
//
// The last step: the generated objects, the runtime for the target (embedded in
// this program) and the weights become one shared library, by the linker in
// this process. Nothing else is needed on the machine: the C library is
// represented by stubs with its symbol versions. Same job, same bytes.
//
// lld resets every llvm::cl option of the process to its default; nothing else
// in tcc relies on them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Emit/WeightBlob.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/TargetParser/Triple.h"
#include <string>
#include <vector>

namespace tcc::emit {

struct LinkJob {
  llvm::Triple triple; ///< x86_64 or aarch64, Linux
  /// Relocatable objects. One of them defines `tcc_program` (lib/Runtime/Program.h).
  std::vector<llvm::MemoryBufferRef> objects;
  /// The objects ask for the runtime's part for devices.
  bool devices = false;
  /// Embedded as `tcc_weights`; null when they lie in a file or there are none.
  const WeightBlob *weights = nullptr;
  std::string soname; ///< the base name that the file will have in the end
  unsigned threads = 1;
};

/// Writes the library to `path` (see OutputFiles for temporary names). Calls from
/// several threads run one after the other.
llvm::Error linkModel(const LinkJob &job, llvm::StringRef path);

/// Writes the objects of `job` as one relocatable object, without runtime and weights.
llvm::Error linkRelocatable(const LinkJob &job, llvm::StringRef path);

/// The runtime's relocatable object for `triple`; empty for other machines.
llvm::StringRef runtimeObject(const llvm::Triple &triple);

} // namespace tcc::emit
