//===- InputFile.h - Opening what the user names -----------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace tcc {

/// No model is larger; a file of more bytes is a mistake, or sparse and made to exhaust us.
constexpr uint64_t kMaxInputBytes = uint64_t(1) << 40;

/// Maps the regular file at `path`. What is none (a FIFO, which would be waited for, a device, a
/// folder) and what is larger than kMaxInputBytes is a UserError that does not name the file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openInputFile(llvm::StringRef path);

} // namespace tcc
