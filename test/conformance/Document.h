//===- Document.h - docs/conformance-onnx*.md --------------------*- C++ -*-===//
//
// The page that says what of ONNX works is also the record that the test compares
// with: every case that does not pass stands in it, so each other one must pass.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Report.h"
#include <set>

namespace tcc::conformance {

/// The page: totals, one row an operator, and each case that does not pass with
/// the reason. The same results give the same text. `arch` is the GPU architecture that the
/// cases were compiled for, or "".
std::string documentText(llvm::StringRef arch, llvm::ArrayRef<Case> cases,
                         llvm::ArrayRef<Result> results);

/// The names of the cases that `text`, such a page, says do not pass.
std::set<std::string> casesThatFail(llvm::StringRef text);

} // namespace tcc::conformance
