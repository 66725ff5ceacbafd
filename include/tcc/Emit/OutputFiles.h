//===- OutputFiles.h - All of a model's files or none -----------*- C++ -*-===//
//
// A compile that fails leaves nothing behind and an existing output untouched:
// every file is written under a temporary name in its folder, and all are
// renamed at the end. An interrupt removes the temporary files too.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc::emit {

class OutputFiles {
public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles &) = delete;
  OutputFiles &operator=(const OutputFiles &) = delete;
  ~OutputFiles(); ///< removes what was not committed

  /// Returns the temporary name under which to write what will be `path`. A
  /// symbolic link is followed. A user error when the folder cannot be written.
  llvm::Expected<std::string> create(llvm::StringRef path);
  /// The same with content.
  llvm::Error write(llvm::StringRef path, llvm::StringRef content);
  /// The same with what `fill` writes into the open, empty file; gives its temporary name.
  llvm::Expected<std::string> write(llvm::StringRef path,
                                    llvm::function_ref<llvm::Error(int file)> fill);
  /// Renames all, in the order of their creation: create the file that makes the
  /// others reachable (model.so) last.
  llvm::Error commit();

private:
  struct File {
    std::string temporary, path;
    bool special; ///< /dev/null and its like are written to, not replaced
  };
  std::vector<File> files;
};

} // namespace tcc::emit
