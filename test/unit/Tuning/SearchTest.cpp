// The search is held on times that the test invents, since measured ones would not repeat: noise,
// failures, and a budget that ends.
#include "tcc/Tuning/Search.h"
#include <catch2/catch.hpp>

using namespace tcc::tuning;

namespace {

/// Seconds by problem and candidate; negative: the candidate crashes.
struct Machine {
  std::vector<std::vector<double>> seconds;
  unsigned measured = 0;

  std::vector<unsigned> candidates() const {
    std::vector<unsigned> counts;
    for (const auto &problem : seconds)
      counts.push_back(problem.size());
    return counts;
  }
  std::optional<Times> run(const Assignment &assignment) {
    ++measured;
    Times times;
    for (size_t i = 0; i < seconds.size(); ++i) {
      double time = seconds[i][assignment[i]];
      if (time < 0)
        return std::nullopt;
      times.problems.push_back(time);
      times.run += time;
    }
    return times;
  }
  SearchResult search(unsigned most = 1000) {
    return tcc::tuning::search(
        candidates(), [&](const Assignment &a) { return run(a); },
        [&](unsigned more) { return measured + more <= most; });
  }
};

} // namespace

TEST_CASE("each problem gets its fastest candidate, with a build a candidate") {
  Machine machine{{{3, 2, 1}, {3, 5, 4}, {3, 1}, {7}}};
  SearchResult result = machine.search();
  CHECK(result.best == Assignment{2, 0, 1, 0});
  CHECK(result.complete);
  CHECK(machine.measured == 3 + 6); // three pairs at the end confirm
  CHECK(result.before == 16);
  CHECK(result.after == 12);
}

TEST_CASE("what is hardly faster is left alone") {
  Machine machine{{{3, 2.95}}};
  CHECK(machine.search().best == Assignment{0});
  CHECK(machine.measured == 2); // nothing to confirm
}

TEST_CASE("a candidate that fails is found and dropped, the others are not") {
  Machine machine{{{3, 2}, {3, -1}, {3, 1}, {3, 2}, {3, 2}}};
  SearchResult result = machine.search();
  CHECK(result.best == Assignment{1, 0, 1, 1, 1});
  CHECK(result.failed == 1);
}

TEST_CASE("a model that does not run is left alone") {
  Machine machine{{{-1, 2}}};
  SearchResult result = machine.search();
  CHECK(result.best == Assignment{0});
  CHECK_FALSE(result.complete);
}

TEST_CASE("the time is kept") {
  for (unsigned most : {2, 8}) { // one candidate, and three turns of both
    Machine machine{{{3, 2, 1}}};
    SearchResult result = machine.search(most);
    CHECK(result.best == Assignment{1});
    CHECK_FALSE(result.complete);
    CHECK(machine.measured == 8);
  }
}

TEST_CASE("all time is for candidates while nothing is found, and none is none") {
  Machine machine{{{3, 4, 4, 4}}};
  CHECK_FALSE(machine.search(/*most=*/3).complete);
  CHECK(machine.measured == 3);
  CHECK_FALSE(machine.search(/*most=*/3).complete);
  CHECK(machine.measured == 3);
}

TEST_CASE("a problem is decided when all of its own candidates were tried") {
  Machine machine{{{3, 2, 1}, {3, 4}}};
  SearchResult result = machine.search(/*most=*/2);
  CHECK(result.decided == std::vector<bool>{false, true});
  CHECK(machine.search().decided == std::vector<bool>{true, true});
}

TEST_CASE("luck that does not last is not believed") {
  unsigned measured = 0;
  auto measure = [&](const Assignment &a) -> std::optional<Times> {
    double time = ++measured == 2 ? 1.0 : 3.0 + a[0];
    return Times{{time}, time};
  };
  SearchResult result = search({2}, measure, [](unsigned) { return true; });
  CHECK(result.best == Assignment{0});
  CHECK(result.after == 3);
}

TEST_CASE("kernels that are faster in a run that is not are left alone") {
  auto measure = [](const Assignment &a) -> std::optional<Times> {
    return Times{{a[0] ? 2.0 : 3.0}, a[0] ? 5.0 : 4.0};
  };
  SearchResult result = search({2}, measure, [](unsigned) { return true; });
  CHECK(result.best == Assignment{0});
  CHECK(result.before == 3);
  CHECK(result.after == 3);
}

TEST_CASE("what is faster is so in each turn") {
  unsigned measured = 0;
  auto measure = [&](const Assignment &a) -> std::optional<Times> {
    bool disturbed = ++measured == 5; // the second turn of the candidate
    return Times{{a[0] ? (disturbed ? 3.5 : 2.0) : 3.0, 1.0}, a[0] ? 4.0 : 5.0};
  };
  SearchResult result = search({2, 1}, measure, [](unsigned) { return true; });
  CHECK(result.best == Assignment{0, 0});
}

TEST_CASE("what stays of several makes a run faster without the others") {
  unsigned measured = 0;
  auto measure = [&](const Assignment &a) -> std::optional<Times> {
    bool lucky = ++measured == 2; // the second problem's candidate, once
    double run = 10 - 4.0 * a[1] + (a[0] && !a[1] ? 1 : 0);
    return Times{{a[0] ? 2.0 : 3.0, lucky ? 2.0 : 3.0}, run};
  };
  SearchResult result = search({2, 2}, measure, [](unsigned) { return true; });
  CHECK(result.best == Assignment{0, 0});
  CHECK(measured == 2 + 6 + 6);
  CHECK(result.before == result.after);
}
