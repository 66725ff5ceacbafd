//===- Search.cpp - The fastest of some candidates each -------------------===//
//
// Candidate i of all problems is tried at once, against the best that each has so far; where that
// fails, halves of the problems are tried, down to the one at fault. What was found is then run in
// turns with the model's own choice. Time ends between measurements: another is begun only where
// the turns that confirm what was found end in time as well. What the last one finds is confirmed
// all the same.
//
//===----------------------------------------------------------------------===//
#include "tcc/Tuning/Search.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tcc::tuning;

namespace {

constexpr double clearly = 0.97;  ///< of the time before: less is no luck
constexpr double together = 0.99; ///< of a run's time before, with all that is clearly faster

/// The candidates found and the model's own choices, measured in turns.
struct Turns {
  std::vector<double> chosen, own; ///< the least seconds of each problem
  std::vector<bool> always;        ///< faster in each turn
  bool runsFaster = true;          ///< so is a run, and clearly
};

class Search {
public:
  Search(llvm::ArrayRef<unsigned> candidates, MeasureFn measure,
         llvm::function_ref<bool(unsigned)> timeLeft)
      : candidates(candidates), measure(measure), timeLeft(timeLeft) {}
  SearchResult run();

private:
  /// Tries candidate `number` of each of these problems.
  void attempt(llvm::ArrayRef<unsigned> problems, unsigned number);
  std::optional<Turns> inTurns();
  void confirm();

  llvm::ArrayRef<unsigned> candidates;
  MeasureFn measure;
  llvm::function_ref<bool(unsigned)> timeLeft;
  SearchResult result;
  std::vector<double> seconds; ///< of the best so far
};

} // namespace

static constexpr unsigned kTurns = 3;
/// Measurements that what was found needs before it is believed.
static constexpr unsigned kConfirming = 2 * kTurns;

static void keepLeast(std::optional<Times> &least, const Times &times) {
  if (!least)
    least = times;
  for (auto [kept, time] : llvm::zip_equal(least->problems, times.problems))
    kept = std::min(kept, time);
  least->run = std::min(least->run, times.run);
}

void Search::attempt(llvm::ArrayRef<unsigned> problems, unsigned number) {
  if (problems.empty())
    return;
  bool isFound = llvm::any_of(result.best, [](unsigned number) { return number != 0; });
  if (!timeLeft(1 + (isFound ? kConfirming : 0))) {
    result.complete = false;
    for (unsigned problem : problems)
      result.decided[problem] = false;
    return;
  }
  Assignment changed = result.best;
  for (unsigned problem : problems)
    changed[problem] = number;
  if (std::optional<Times> times = measure(changed)) {
    for (unsigned problem : problems)
      if (double time = times->problems[problem]; time < clearly * seconds[problem]) {
        result.best[problem] = number;
        seconds[problem] = time;
      }
    return;
  }
  if (problems.size() == 1) {
    ++result.failed;
    return;
  }
  attempt(problems.take_front(problems.size() / 2), number);
  attempt(problems.drop_front(problems.size() / 2), number);
}

/// Both some times more in turns, so that neither has the luck of many tries, nor of a quiet
/// moment.
std::optional<Turns> Search::inTurns() {
  Assignment own(candidates.size(), 0);
  std::optional<Times> chosen, first;
  Turns seen;
  seen.always.assign(own.size(), true);
  for (unsigned turn = 0; turn < kTurns; ++turn) {
    std::optional<Times> changed = measure(result.best), same = measure(own);
    if (!changed || !same)
      return std::nullopt;
    for (unsigned problem = 0; problem < own.size(); ++problem)
      if (changed->problems[problem] >= same->problems[problem])
        seen.always[problem] = false;
    seen.runsFaster &= changed->run < same->run;
    keepLeast(chosen, *changed);
    keepLeast(first, *same);
  }
  seen.runsFaster &= chosen->run < together * first->run;
  seen.own = first->problems;
  seen.chosen = chosen->problems;
  return seen;
}

/// What is faster is so in each turn. What is left of several was not measured without the others,
/// which it may have been faster beside: a run has to be with it alone as well.
void Search::confirm() {
  Assignment own(candidates.size(), 0), tried = result.best;
  if (tried == own)
    return;
  std::optional<Turns> seen = inTurns();
  for (unsigned problem = 0; problem < own.size(); ++problem)
    if (!seen || !seen->runsFaster || !seen->always[problem] ||
        seen->chosen[problem] >= clearly * seen->own[problem])
      result.best[problem] = 0;
  if (result.best != own && result.best != tried) {
    seen = inTurns();
    if (!seen || !seen->runsFaster)
      result.best = own;
  }
  for (unsigned problem = 0; seen && problem < own.size(); ++problem) {
    result.before += seen->own[problem];
    result.after += result.best[problem] ? seen->chosen[problem] : seen->own[problem];
  }
}

SearchResult Search::run() {
  result.best.assign(candidates.size(), 0);
  result.decided.assign(candidates.size(), true);
  std::optional<Times> first = timeLeft(1) ? measure(result.best) : std::nullopt;
  if (!first) {
    result.complete = false;
    result.decided.assign(candidates.size(), false);
    return result;
  }
  seconds = first->problems;
  unsigned most = candidates.empty() ? 1 : *std::max_element(candidates.begin(), candidates.end());
  for (unsigned number = 1; number < most; ++number) {
    std::vector<unsigned> problems;
    for (unsigned problem = 0; problem < candidates.size(); ++problem)
      if (number < candidates[problem])
        problems.push_back(problem);
    attempt(problems, number);
  }
  confirm();
  return result;
}

SearchResult tcc::tuning::search(llvm::ArrayRef<unsigned> candidates, MeasureFn measure,
                                 llvm::function_ref<bool(unsigned)> timeLeft) {
  return Search(candidates, measure, timeLeft).run();
}
