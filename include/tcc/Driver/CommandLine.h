//===- CommandLine.h - What users type ---------------------------*- C++ -*-===//
//
// Every flag of tcc, defined once: the parser, --help and the generated
// docs/reference/command-line.md come from the same definitions.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Driver/Driver.h"

namespace tcc {

struct CommandLine {
  DriverOptions options;
  std::string print; ///< to be printed instead of compiling: help, a list
};

/// A UserError for what cannot be understood.
llvm::Expected<CommandLine> parseCommandLine(int argc, const char *const *argv);

/// The reference page, as Markdown.
std::string commandLineReference();

} // namespace tcc
