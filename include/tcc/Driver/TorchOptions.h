//===- TorchOptions.h - torch.compile's modes and options --------*- C++ -*-===//
//
// The command line speaks torch.compile's words. Every name is accepted; one that
// changes nothing for this target yet is reported, once, and --help and the reference
// say so beforehand. What has an effect is decided here alone.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc {

struct TorchOption {
  llvm::StringRef name, type, what; ///< type: "bool", "int", "float" or "string"
  bool hasEffect;                   ///< on CPU targets, today
};

struct TorchMode {
  llvm::StringRef name, sets; ///< the options that it stands for
};

llvm::ArrayRef<TorchMode> torchModes();
/// The default, and those that stand for an option with an effect.
bool hasEffect(const TorchMode &mode);
llvm::ArrayRef<TorchOption> torchOptions();

/// Checks `--mode` and `--options key=value`; gives the names without effect.
llvm::Expected<std::vector<std::string>> checkTorchOptions(llvm::StringRef mode,
                                                           llvm::ArrayRef<std::string> options);

} // namespace tcc
