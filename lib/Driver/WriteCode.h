//===- WriteCode.h - Compiled code as a file of its own ---------*- C++ -*-===//
#pragma once
#include "tcc/Driver/Driver.h"
#include "tcc/Emit/OutputFiles.h"

namespace tcc {

/// Whether kernels for a GPU are written and nothing else.
bool kernelsAlone(EmitKind emit);

/// What the codegen phase has to write for --emit.
CodeForm codeForm(EmitKind emit);

/// Writes `compiled` to the output as text, as one relocatable object, or the kernels for a GPU
/// alone.
llvm::Error writeCode(const CompiledModel &compiled, const DriverOptions &options,
                      const Target &target, emit::OutputFiles &files);

} // namespace tcc
