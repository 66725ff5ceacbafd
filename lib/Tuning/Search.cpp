#include "tcc/Tuning/Search.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tcc::tuning;

namespace {

constexpr double clearly = 0.97;  ///< of the time before: less is no luck
constexpr double together = 0.99; ///< of a run's time before, with all that is clearly faster

class Search {
public:
  Search(llvm::ArrayRef<unsigned> candidates, MeasureFn measure,
         llvm::function_ref<bool()> timeLeft)
      : candidates(candidates), measure(measure), timeLeft(timeLeft) {}
  SearchResult run();

private:
  /// Tries candidate `number` of each of these problems.
  void attempt(llvm::ArrayRef<unsigned> problems, unsigned number);
  void confirm();

  llvm::ArrayRef<unsigned> candidates;
  MeasureFn measure;
  llvm::function_ref<bool()> timeLeft;
  SearchResult result;
  std::vector<double> seconds; ///< of the best so far
};

} // namespace

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
  if (!timeLeft()) {
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
/// moment: what is faster is so in each turn.
void Search::confirm() {
  constexpr unsigned turns = 3;
  Assignment own(candidates.size(), 0);
  if (result.best == own)
    return;
  std::optional<Times> chosen, first;
  std::vector<bool> always(own.size(), true);
  bool runsFaster = true;
  for (unsigned turn = 0; turn < turns; ++turn) {
    std::optional<Times> changed = measure(result.best), same = measure(own);
    if (!changed || !same) {
      result.best = own;
      return;
    }
    for (unsigned problem = 0; problem < own.size(); ++problem)
      always[problem] = always[problem] && changed->problems[problem] < same->problems[problem];
    runsFaster &= changed->run < same->run;
    keepLeast(chosen, *changed);
    keepLeast(first, *same);
  }
  runsFaster &= chosen->run < together * first->run;
  for (unsigned problem = 0; problem < own.size(); ++problem) {
    double before = first->problems[problem], after = chosen->problems[problem];
    result.before += before;
    bool stays = runsFaster && always[problem] && after < clearly * before;
    if (!stays)
      result.best[problem] = 0;
    result.after += stays ? after : before;
  }
}

SearchResult Search::run() {
  result.best.assign(candidates.size(), 0);
  result.decided.assign(candidates.size(), true);
  std::optional<Times> first = measure(result.best);
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
                                 llvm::function_ref<bool()> timeLeft) {
  return Search(candidates, measure, timeLeft).run();
}
