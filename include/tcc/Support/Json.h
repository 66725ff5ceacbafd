//===- Json.h - JSON that may be anyone's -----------------------*- C++ -*-===//
#pragma once
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tcc {

/// llvm::json::parse, which follows any depth until the stack ends, for text of bounded depth and
/// number of values in which no object has a key twice. The error is the user's.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace tcc
