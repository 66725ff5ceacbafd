#include "Chance.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tcc;
using namespace tcc::conformance;
using reference::Tensor;
using Reason = std::optional<std::string>;

namespace {

constexpr int kRuns = 4000;
/// In standard deviations; what is right passes this with all but one in two million.
constexpr double kMost = 5;

/// What each run of a case decides for each element: 1 or 0, kept or dropped.
class Trials {
public:
  Trials(const Case &testCase, const DataSet &set);
  Reason add(llvm::ArrayRef<Tensor> outputs);
  Reason verdict() const;

private:
  Reason decide(llvm::ArrayRef<Tensor> outputs, size_t i, bool &happened) const;

  const Case &testCase;
  const DataSet &set;
  bool dropout;
  std::vector<double> probability, frequency, before, now;
  double besideNeighbour = 0, besideBefore = 0, neighbourVariance = 0, beforeVariance = 0;
  int runs = 0;
};

} // namespace

bool tcc::conformance::isRandom(const Case &testCase) {
  llvm::StringRef name = testCase.name;
  return name.starts_with("test_bernoulli") ||
         (name.starts_with("test_training_dropout") && !name.contains("zero_ratio"));
}

Trials::Trials(const Case &testCase, const DataSet &set)
    : testCase(testCase), set(set), dropout(llvm::StringRef(testCase.name).contains("dropout")) {
  for (double p : set.inputs[0].reals()) {
    if (dropout)
      p = 1 - (set.inputs.size() > 1 ? set.inputs[1].real(0) : 0.5);
    // ONNX's body of the function gives 1 where the drawn number is above p.
    else if (llvm::StringRef(testCase.name).ends_with("_expanded"))
      p = 1 - p;
    probability.push_back(p);
  }
  frequency.resize(probability.size());
  before.resize(probability.size());
  now.resize(probability.size());
}

/// Element i of one run, if its value is one of those that are possible.
Reason Trials::decide(llvm::ArrayRef<Tensor> outputs, size_t i, bool &happened) const {
  double value = outputs[0].real(i);
  if (!dropout) {
    happened = value == 1;
    if (value != 0 && value != 1)
      return llvm::formatv("output 0 [{0}] is {1}, neither 0 nor 1", i, value);
    return std::nullopt;
  }
  double kept = set.inputs[0].real(i) / probability[i];
  happened = value != 0;
  if (happened && std::fabs(value - kept) > testCase.atol + testCase.rtol * std::fabs(kept))
    return llvm::formatv("output 0 [{0}] is {1}, neither 0 nor {2}", i, value, kept);
  if (outputs.size() > 1 && (outputs[1].integer(i) != 0) != happened)
    return llvm::formatv("output 1 [{0}] does not say what was kept", i);
  return std::nullopt;
}

Reason Trials::add(llvm::ArrayRef<Tensor> outputs) {
  if (outputs.size() != set.outputs.size())
    return llvm::formatv("{0} outputs, expected {1}", outputs.size(), set.outputs.size());
  for (auto [i, have, want] : llvm::enumerate(outputs, set.outputs))
    if (have.dtype() != want.dtype() || have.shape() != want.shape())
      return llvm::formatv("output {0} is {1}{2}, expected {3}{4}", i, dtypeName(have.dtype()),
                           reference::shapeText(have.shape()), dtypeName(want.dtype()),
                           reference::shapeText(want.shape()));
  for (size_t i = 0; i < probability.size(); ++i) {
    bool happened = false;
    if (Reason why = decide(outputs, i, happened))
      return why;
    double p = probability[i], variance = p * (1 - p);
    frequency[i] += happened;
    now[i] = happened - p;
    if (i > 0) {
      double q = probability[i - 1];
      besideNeighbour += now[i] * now[i - 1];
      neighbourVariance += variance * q * (1 - q);
    }
    if (runs > 0) {
      besideBefore += now[i] * before[i];
      beforeVariance += variance * variance;
    }
  }
  before = now;
  ++runs;
  return std::nullopt;
}

Reason Trials::verdict() const {
  for (auto [i, p] : llvm::enumerate(probability))
    if (std::fabs(frequency[i] - runs * p) > kMost * std::sqrt(runs * p * (1 - p)))
      return llvm::formatv("[{0}] happens in {1} of {2} runs, its probability is {3}", i,
                           frequency[i], runs, p);
  if (std::fabs(besideNeighbour) > kMost * std::sqrt(neighbourVariance))
    return std::string("neighbours depend on each other");
  if (std::fabs(besideBefore) > kMost * std::sqrt(beforeVariance))
    return std::string("a run depends on the run before");
  return std::nullopt;
}

Reason tcc::conformance::unlikelihood(const Case &testCase, const DataSet &set, RunOnce run) {
  Trials trials(testCase, set);
  for (int i = 0; i < kRuns; ++i) {
    auto outputs = run(set.inputs);
    if (!outputs)
      return llvm::toString(outputs.takeError());
    if (Reason why = trials.add(*outputs))
      return why;
  }
  return trials.verdict();
}
