//===- Tune.h - Schedules from a record, and by measuring --------*- C++ -*-===//
//
// What --tuning and --mode max-autotune do. See Tune.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Tuning/Record.h"

namespace tcc {

/// A record as the choice among a launch's candidates.
class TunedSchedules {
public:
  TunedSchedules(const Backend &backend, std::string file)
      : backend(backend), file(std::move(file)) {}

  /// The record so far, if there is a file.
  llvm::Error read();
  tuning::ProblemKey keyOf(kernel::LaunchOp launch) const;
  /// What the schedule phase asks; the model's first candidate where the record has none.
  ScheduleChooser chooser();
  /// Why the chooser gave none: the record is damaged. Success where it always did.
  llvm::Error damage() const;

  tuning::Record record;

private:
  kernel::Schedule choose(kernel::LaunchOp launch, llvm::ArrayRef<kernel::Schedule> candidates);

  const Backend &backend;
  std::string file, fault;
};

/// What the tuner needs of the compiler.
struct TuneHooks {
  /// The model in kernels that have no schedules.
  std::function<llvm::Expected<Model>()> load;
  /// Takes such a model to a library at `path`, by these schedules.
  std::function<llvm::Expected<CompiledModel>(Model &model, const std::string &path,
                                              ScheduleChooser chooser)>
      build;
  std::function<void(const llvm::Twine &)> show; ///< progress
  bool foreign = false;                          ///< this machine cannot run code for the target
  std::optional<DType> between; ///< what --precision rounds values between kernels to
};

/// Adds the fastest schedules of the model's kernels to the record, those that it lacks,
/// within about `seconds`. One line of what was found.
llvm::Expected<std::string> tune(const TuneHooks &hooks, TunedSchedules &schedules,
                                 const Backend &backend, double seconds);

} // namespace tcc
