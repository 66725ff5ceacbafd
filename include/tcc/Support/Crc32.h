//===- Crc32.h - The checksum of a zip archive's entries -------*- C++ -*-===//
//
// CRC-32 as zip, gzip and zlib have it. An exported program holds hundreds of
// megabytes and zlib's portable code goes through 1 GB a second, so the
// processor's carry-less multiplication does it where there is one.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tcc {

/// The checksum of some bytes followed by `bytes`, `crc` being that of the former (0 for none).
uint32_t crc32(uint32_t crc, llvm::StringRef bytes);

} // namespace tcc
