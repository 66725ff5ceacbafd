//===- Tune.h - Schedules, layouts and cuts by measuring ---------*- C++ -*-===//
//
// What --mode max-autotune does. See Tune.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "TunedChoices.h"

namespace tcc {

/// What the tuner needs of the compiler.
struct TuneHooks {
  /// The model in whole kernels that have no schedules, with weights in these orders.
  std::function<llvm::Expected<Model>(LayoutChooser chooser)> load;
  /// Takes such a model to a library at `path`, by these schedules.
  std::function<llvm::Expected<CompiledModel>(Model &model, const std::string &path,
                                              ScheduleChooser chooser)>
      build;
  std::function<void(const llvm::Twine &)> show; ///< progress
  bool foreign = false;                          ///< this machine cannot run code for the target
  std::optional<DType> between; ///< what --precision rounds values between kernels to
};

/// Adds to the record the fastest orders of weights, cuts and schedules of the model's kernels,
/// those that it lacks, within about `seconds`. One line of what was found.
llvm::Expected<std::string> tune(const TuneHooks &hooks, TunedChoices &choices,
                                 const Backend &backend, double seconds);

} // namespace tcc
