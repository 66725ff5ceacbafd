//===- Error.h - The two kinds of failure ----------------------*- C++ -*-===//
//
// A compiler's user needs to know whose fault a failure is: `userError` is a
// fault in what was given (exit code 2), anything else is ours (exit code 1).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tcc {

/// The user's fault: a bad file, an unsupported operator, a wrong option.
class UserError : public llvm::ErrorInfo<UserError> {
public:
  static char ID;
  explicit UserError(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string message;
};

/// Makes a UserError. Text that comes from the input must pass `printable`.
llvm::Error userError(const llvm::Twine &message);

/// `text` as one line of clean UTF-8 of at most `limit` bytes: control characters, those that turn
/// the direction of text or are not shown, backslashes and invalid sequences are escaped as \xNN,
/// the rest is kept.
std::string printable(llvm::StringRef text, size_t limit = 200);

} // namespace tcc
