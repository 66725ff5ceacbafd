//===- TemporaryFolder.h - A folder that ends with its user ------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tcc {

/// A new folder in the place for temporary files, which goes with all files in it when its object
/// does, or when a signal ends the process. It has no folders in it.
class TemporaryFolder {
public:
  /// `name` begins the folder's name.
  static llvm::Expected<TemporaryFolder> create(llvm::StringRef name);
  TemporaryFolder() = default; ///< none yet
  TemporaryFolder(TemporaryFolder &&other) noexcept;
  TemporaryFolder &operator=(TemporaryFolder &&other) noexcept;
  ~TemporaryFolder();

  std::string file(const llvm::Twine &name) const;

private:
  int slot = -1; ///< in the table of folders that are there
};

} // namespace tcc
