//===- Search.h - The fastest of some candidates each ------------*- C++ -*-===//
//
// A model is built and run with one candidate for every problem at once, since a run times
// each kernel by itself: the number of builds is that of candidates, not of candidates times
// problems. Where such a build fails (it crashed, or gave other numbers), its changed
// problems are halved until the candidate at fault is found and dropped.
//
// A candidate replaces the model's own choice only where it is clearly faster, and stays only
// if it still is in each of several turns of both: what is left to chance stays as it was. So do
// all, if a whole run is no faster with those that stay, whatever each problem says of itself.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <vector>

namespace tcc::tuning {

/// Which candidate each problem runs by; 0 is the model's own choice.
using Assignment = std::vector<unsigned>;

/// Seconds of each problem in a run, and of the run.
struct Times {
  std::vector<double> problems;
  double run = 0;
};

/// What a run by these candidates takes, or nothing where they failed.
using MeasureFn = llvm::function_ref<std::optional<Times>(const Assignment &)>;

struct SearchResult {
  Assignment best;
  unsigned failed = 0;          ///< candidates that were dropped
  bool complete = true;         ///< time sufficed for all candidates
  std::vector<bool> decided;    ///< of each problem: for all of its own
  double before = 0, after = 0; ///< seconds of all problems, measured in turns
};

/// `candidates` is their number for each problem, at least 1. `timeLeft` says whether so many more
/// measurements end in time: what is tried next, and the turns that confirm what was found.
SearchResult search(llvm::ArrayRef<unsigned> candidates, MeasureFn measure,
                    llvm::function_ref<bool(unsigned measurements)> timeLeft);

} // namespace tcc::tuning
