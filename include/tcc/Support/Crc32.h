//===- Crc32.h - The checksum of a zip archive's entries -------*- C++ -*-===//
//
// CRC-32 as zip, gzip and zlib have it. An exported program holds hundreds of
// megabytes, of which zlib goes through 2.7 GB a second and the processor's
// carry-less multiplication, where there is one, through 10.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tcc {

/// The checksum of some bytes followed by `bytes`, `crc` being that of the former (0 for none).
uint32_t crc32(uint32_t crc, llvm::StringRef bytes);

} // namespace tcc
