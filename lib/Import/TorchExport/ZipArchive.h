//===- ZipArchive.h - Reading a stored zip in place --------------*- C++ -*-===//
//
// A `.pt2` file is a zip archive whose entries are stored, not compressed, so
// that weights can be used where they lie in the mapped file. This reader does
// just that and nothing else: no decompression, no extraction, no encryption.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace tcc::torchexport {

struct ZipEntry {
  std::string name;
  llvm::StringRef data; ///< lies in the archive's buffer
  uint32_t crc32;       ///< as the archive states it
};

class ZipArchive {
public:
  /// Reads the central directory of `buffer`, which must outlive the archive.
  /// Every entry is checked to lie inside the buffer, and all together to be no
  /// larger than it; the errors do not name the file.
  static llvm::Expected<ZipArchive> open(llvm::StringRef buffer);

  /// The entry called `name`, or null.
  const ZipEntry *find(llvm::StringRef name) const;
  const std::vector<ZipEntry> &entries() const { return list; }

private:
  std::vector<ZipEntry> list;
  llvm::StringMap<size_t> byName;
};

} // namespace tcc::torchexport
