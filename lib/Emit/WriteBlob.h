//===- WriteBlob.h - Shared by what writes weights --------------*- C++ -*-===//
#pragma once
#include "tcc/Emit/WeightBlob.h"

namespace tcc::emit {

/// The blob's bytes from `begin` on, with the gaps between tensors as zeros; ends the file.
llvm::Error writeBlob(const WeightBlob &blob, int file, uint64_t begin, unsigned threads);

llvm::Error writeAt(int file, llvm::StringRef bytes, uint64_t offset);

} // namespace tcc::emit
