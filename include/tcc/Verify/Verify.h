//===- Verify.h - The compiled model against the reference -------*- C++ -*-===//
//
// What --verify does. See lib/Verify/Verify.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"
#include <functional>

namespace tcc {

/// How a library is compiled; as usual, or without what may be at fault.
struct VerifyBuild {
  bool fuse = true, inPlace = true;
};

/// What the verifier needs of the compiler.
struct VerifyHooks {
  /// The model in primitives, before anything was optimised.
  std::function<llvm::Expected<Model>()> load;
  /// Takes such a model through the other phases, to a library at `path`.
  std::function<llvm::Error(Model &model, const std::string &path, VerifyBuild how)> build;
  /// Whether other outputs may be added to what `load` gives: it has no kernels yet.
  bool mayExpose = true;
  /// Products round their operands to TF32, which the interpreter does not.
  bool tf32 = false;
};

struct VerifyResult {
  bool agrees = true;
  std::string text; ///< one line: the errors, or the first node that differs
};

struct VerifiedFiles {
  std::string library;
  std::string weights; ///< empty: in the library, or beside it under their name
};

/// Runs the library, built from what `hooks.load` gives, beside the reference interpreter.
llvm::Expected<VerifyResult> verify(const VerifiedFiles &files, const VerifyHooks &hooks);

} // namespace tcc
