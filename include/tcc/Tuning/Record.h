//===- Record.h - What tuning found ------------------------------*- C++ -*-===//
//
// A file of JSON lines, one a kernel that was tuned: the problem, the target, the version of
// the target's schedules, and the schedule that was fastest. A problem is what a kernel
// computes, as the hash of its text without names and schedule. Lines of other kinds say the
// same of a contraction and the order in which its weights lie, and of a kernel and the parts that
// it is cut into. The compiler's executable is no part of the key: a record replays with any tcc
// that has the same schedules, on any machine, without measuring.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace tcc::tuning {

/// What a schedule or a layout was chosen for.
struct ProblemKey {
  std::string problem; ///< hash of what the kernel or the contraction computes
  std::string target;  ///< what of the machine code generation knows
  int64_t version = 0; ///< of the target's schedules
  auto operator<=>(const ProblemKey &) const = default;
};

/// Of what a record says the fastest way.
enum class ChoiceKind : uint8_t { Schedule, Layout, Cut };

struct Choice {
  ChoiceKind kind = ChoiceKind::Schedule;
  std::string kernel; ///< its name when it was tuned, or the contraction's, for readers
  std::string chosen; ///< as text, such as #cpu.contraction_schedule<...>, #cpu.panels<...>
  unsigned line = 0;  ///< in the file, 0: of this compile
};

class Record {
public:
  /// The record in a file; an empty one where there is no file. A line that is none, and two
  /// for one problem, are the user's error.
  static llvm::Expected<Record> read(llvm::StringRef path);

  const Choice *find(const ProblemKey &key) const;
  void set(const ProblemKey &key, Choice choice) { entries[key] = std::move(choice); }
  size_t size() const { return entries.size(); }

  /// As JSON lines, in the order of the keys: equal records are equal files.
  std::string text() const;

private:
  std::map<ProblemKey, Choice> entries;
};

} // namespace tcc::tuning
