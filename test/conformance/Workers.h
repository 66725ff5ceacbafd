//===- Workers.h - Cases in forked children ----------------------*- C++ -*-===//
//
// A case may crash the compiler, or run the compiled code into a wall. It runs in
// a forked child of this program, one of a few that take cases in turn and report
// each over a pipe: when one dies, only the case that it was at is lost, and
// another child goes on.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Report.h"

namespace tcc::conformance {

struct WorkerOptions {
  unsigned jobs = 2;
  unsigned caseSeconds = 60; ///< of CPU time for one case
  bool showErrors = false;   ///< what children write to stderr
  std::function<void(const Case &, const Result &)> done;
};

/// Runs every case with `run` in children of this process.
std::vector<Result> runInWorkers(llvm::ArrayRef<Case> cases,
                                 llvm::function_ref<Result(const Case &)> run,
                                 const WorkerOptions &options);

} // namespace tcc::conformance
