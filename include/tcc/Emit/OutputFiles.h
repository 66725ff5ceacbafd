//===- OutputFiles.h - All of a model's files or none -----------*- C++ -*-===//
//
// A compile that fails leaves nothing behind and an existing output untouched:
// every file is written under a temporary name in its folder, and all are
// renamed at the end; where one cannot be, those before it get their former
// content back. An interrupt removes the temporary files too.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <system_error>
#include <vector>

namespace tcc::emit {

class OutputFiles {
public:
  /// When a file gets its name. Last: it makes the others reachable, as model.so does.
  enum class Turn { Any, Last };

  OutputFiles() = default;
  OutputFiles(const OutputFiles &) = delete;
  OutputFiles &operator=(const OutputFiles &) = delete;
  ~OutputFiles(); ///< removes what was not committed

  /// Returns the temporary name under which to write what will be `path`. A
  /// symbolic link is followed. A user error when the folder cannot be written.
  llvm::Expected<std::string> create(llvm::StringRef path, Turn turn = Turn::Any);
  /// The same with content.
  llvm::Error write(llvm::StringRef path, llvm::StringRef content);
  /// The same with what `fill` writes into the open, empty file; gives its temporary name.
  llvm::Expected<std::string> write(llvm::StringRef path,
                                    llvm::function_ref<llvm::Error(int file)> fill);
  /// Renames all, in the order of their creation but for the last. All or nothing, unless the
  /// file system cannot exchange two names: then a file that was there stays replaced.
  llvm::Error commit();

private:
  struct File {
    std::string temporary, path;
    Turn turn;
    bool special;           ///< /dev/null and its like are written to, not replaced
    bool exchanged = false; ///< the former content has the temporary name
    bool replaced = false;  ///< there is no way back to it
    std::error_code moveIntoPlace();
    void moveBack();
  };
  std::vector<File> files;
};

} // namespace tcc::emit
