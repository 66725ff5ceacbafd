//===- TunedChoices.h - A tuning record as what phases ask -------*- C++ -*-===//
//
// What --tuning means: layout, fuse and schedule ask which of a target's candidates to take, and
// the record answers where it knows the problem. Elsewhere the target's model decides. A choice
// that is none of the candidates is an error and never wrong code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Tuning/Record.h"

namespace tcc {

/// An attribute as a record holds it.
std::string choiceText(mlir::Attribute choice);

class TunedChoices {
public:
  TunedChoices(const Backend &backend, std::string file)
      : backend(backend), file(std::move(file)) {}

  /// The record so far, if there is a file.
  llvm::Error read();
  tuning::ProblemKey keyOf(kernel::LaunchOp launch) const;
  /// Of a contraction, however its weights lie: the same before and within its kernel.
  tuning::ProblemKey keyOf(mlir::Operation *contraction) const;
  /// Of a launch that may be cut in several ways.
  tuning::ProblemKey cutKeyOf(kernel::LaunchOp launch) const;
  /// What the schedule phase asks; the model's first candidate where the record has none.
  ScheduleChooser scheduleChooser();
  /// What the layout phase asks; likewise.
  LayoutChooser layoutChooser();
  /// What the fuse phase asks; likewise.
  CutChooser cutChooser();
  /// Why a chooser gave none: the record is damaged. Success where they always did.
  llvm::Error damage() const;

  tuning::Record record;

private:
  /// Of what this text describes.
  tuning::ProblemKey keyOf(llvm::StringRef text) const;
  /// The candidate that the record has for `key`; null, with the fault kept, if it is none.
  template <typename Attr>
  Attr choose(const tuning::ProblemKey &key, mlir::Operation *op, llvm::StringRef name,
              llvm::ArrayRef<Attr> candidates);

  const Backend &backend;
  std::string file, fault;
};

} // namespace tcc
