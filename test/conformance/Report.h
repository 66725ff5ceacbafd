//===- Report.h - What became of each case -----------------------*- C++ -*-===//
#pragma once
#include "BackendCases.h"
#include "llvm/Support/raw_ostream.h"

namespace tcc::conformance {

enum class Outcome {
  Passed,
  Wrong,   ///< ran, and gave something else
  Refused, ///< the tool says that it does not support this
  Broken,  ///< our fault: invalid IR, a crash, an internal error
};

struct Result {
  Outcome outcome = Outcome::Passed;
  std::string reason;
};

/// Runs every case with `run` and keeps what comes out; a crash is an outcome.
std::vector<Result> runCases(llvm::ArrayRef<Case> cases,
                             llvm::function_ref<Result(const Case &)> run);

/// One line an operator (passed / wrong / refused / broken), then the totals.
void printByOperator(llvm::raw_ostream &os, llvm::ArrayRef<Case> cases,
                     llvm::ArrayRef<Result> results);
/// One line for each case that did not pass, with its reason.
void printReasons(llvm::raw_ostream &os, llvm::ArrayRef<Case> cases,
                  llvm::ArrayRef<Result> results);

} // namespace tcc::conformance
