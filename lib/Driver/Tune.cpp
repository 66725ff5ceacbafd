//===- Tune.cpp - Schedules from a record, and by measuring ---------------===//
//
// Kernels with several candidates that the record does not know are tuned: the model is
// built with one candidate for each at a time (Tuning/Search.h), run on seeded inputs in a
// child, and each kernel's own time read from the profile. What a candidate gives is held
// against what the model's own choice gives; one that differs, crashes or hangs is dropped.
//
// Every problem that was measured goes to the record, those too where the model's own choice
// was the fastest: with it nothing is measured again, and the same bytes come out anywhere.
// Where the budget ended first, only what was found to be faster does: the rest runs by the
// model's own choice, and is left for the next time.
//
//===----------------------------------------------------------------------===//
#include "Tune.h"
#include "Measure.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Kernel/KernelText.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "tcc/Tuning/Search.h"
#include "tcc/Verify/Agreement.h"
#include "tcc/Verify/ReferenceRuns.h"
#include "tcc/Verify/SampleInputs.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"
#include <chrono>

using namespace llvm;
using namespace tcc;
using mlir::cast;
using reference::Tensor;

static std::string attributeText(kernel::Schedule schedule) {
  std::string text;
  raw_string_ostream(text) << schedule;
  return text;
}

//===----------------------------------------------------------------------===//
// The record
//===----------------------------------------------------------------------===//

Error TunedSchedules::read() {
  if (file.empty())
    return Error::success();
  auto found = tuning::Record::read(file);
  if (!found)
    return found.takeError();
  record = std::move(*found);
  return Error::success();
}

tuning::ProblemKey TunedSchedules::keyOf(kernel::LaunchOp launch) const {
  std::string text = kernel::textOf(launch, /*withSchedule=*/false);
  auto hash = SHA256::hash(arrayRefFromStringRef(text));
  return {toHex(hash, /*LowerCase=*/true), backend.tuningKey(), backend.schedules().version()};
}

kernel::Schedule TunedSchedules::choose(kernel::LaunchOp launch,
                                        ArrayRef<kernel::Schedule> candidates) {
  const tuning::Choice *choice = candidates.size() > 1 ? record.find(keyOf(launch)) : nullptr;
  if (!choice)
    return candidates.front();
  for (kernel::Schedule candidate : candidates)
    if (attributeText(candidate) == choice->schedule)
      return candidate;
  fault = "--tuning " + printable(file, 1000) + ", line " + std::to_string(choice->line) +
          ": kernel '" + launch.getName().str() + "' cannot run by '" +
          printable(choice->schedule, 400) + "'; remove the line, or tune again into a new file";
  launch.emitError("the tuning record does not fit");
  return nullptr;
}

ScheduleChooser TunedSchedules::chooser() {
  return [this](kernel::LaunchOp launch, ArrayRef<kernel::Schedule> candidates) {
    return choose(launch, candidates);
  };
}

Error TunedSchedules::damage() const { return fault.empty() ? Error::success() : userError(fault); }

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace {

/// A kernel with several candidates; launches that compute the same are one.
struct Problem {
  tuning::ProblemKey key;
  std::string kernel; ///< its name
  SmallVector<kernel::Schedule> candidates;
};

class Tuner {
public:
  Tuner(const TuneHooks &hooks, TunedSchedules &schedules, const Backend &backend, double seconds)
      : hooks(hooks), schedules(schedules), model(backend.schedules()), budget(seconds) {}
  Expected<std::string> run();

private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  void findProblems(mlir::ModuleOp module);
  Error findInputs(const std::string &library);
  std::optional<std::vector<double>> measureOne(const tuning::Assignment &assignment);
  Expected<std::vector<double>> buildAndMeasure(const tuning::Assignment &assignment);
  std::string report(const tuning::SearchResult &found) const;

  const TuneHooks &hooks;
  TunedSchedules &schedules;
  const ScheduleModel &model;
  double budget;
  Clock::time_point begin = Clock::now();
  Model loaded;
  std::vector<Problem> problems;
  std::map<tuning::ProblemKey, unsigned> numberOf;
  SmallString<128> folder;
  std::vector<Tensor> inputs, wanted; ///< `wanted`: the outputs of the model's own choice
  std::vector<DType> outputTypes;
  unsigned builds = 0;
  std::string firstFailure; ///< why the model's own choice could not be measured
};

} // namespace

void Tuner::findProblems(mlir::ModuleOp module) {
  module.walk([&](kernel::LaunchOp launch) {
    SmallVector<kernel::Schedule> candidates = model.candidates(launch, ScheduleModel::Asked::All);
    if (candidates.size() < 2)
      return;
    tuning::ProblemKey key = schedules.keyOf(launch);
    if (schedules.record.find(key) || numberOf.count(key))
      return;
    numberOf[key] = problems.size();
    problems.push_back({key, launch.getName().str(), std::move(candidates)});
  });
}

/// The first seeded inputs that the model takes.
Error Tuner::findInputs(const std::string &library) {
  auto function = loaded.main();
  CallForm form(function);
  for (unsigned result : form.outputs)
    outputTypes.push_back(*prim::dtypeOf(
        cast<mlir::RankedTensorType>(function.getResultTypes()[result]).getElementType()));
  bool open = any_of(function.getArgumentTypes(), [](mlir::Type type) {
    return !cast<mlir::RankedTensorType>(type).hasStaticShape();
  });
  std::string why;
  for (SampleSizes sizes : open ? sampleSizes() : sampleSizes().take_front()) {
    auto arguments = sampleInputs(function, {sizes, std::nullopt, 0});
    if (!arguments)
      return arguments.takeError();
    std::vector<Tensor> sample = form.inputsOf(*arguments);
    auto found = measure(library, sample, outputTypes, 0);
    if (found) {
      inputs = std::move(sample);
      wanted = std::move(found->outputs);
      return Error::success();
    }
    why = toString(found.takeError());
    if (elapsed() > budget)
      break;
  }
  return createStringError("no seeded inputs that the model takes: " + why);
}

Expected<std::vector<double>> Tuner::buildAndMeasure(const tuning::Assignment &assignment) {
  Model candidate{loaded.module->clone(), loaded.weights};
  auto chooser = [&](kernel::LaunchOp launch, ArrayRef<kernel::Schedule> candidates) {
    auto number = numberOf.find(schedules.keyOf(launch));
    if (number == numberOf.end())
      return schedules.chooser()(launch, candidates);
    return candidates[assignment[number->second]];
  };
  std::string library = (folder + "/" + Twine(builds++) + ".so").str();
  auto compiled = hooks.build(candidate, library, chooser);
  if (!compiled)
    return compiled.takeError();
  llvm::scope_exit remove([&] {
    (void)sys::fs::remove(library);
    (void)sys::fs::remove(library + ".safetensors");
  });
  if (inputs.empty() && wanted.empty())
    if (Error error = findInputs(library))
      return std::move(error);
  constexpr double turn = 0.3;
  auto found = measure(library, inputs, outputTypes, turn);
  if (!found)
    return found.takeError();
  Allowance allowed = hooks.between ? Allowance::between(*hooks.between) : Allowance();
  for (auto [got, want] : zip_equal(found->outputs, wanted))
    if (Agreement agreement = compare(got, want, allowed); !agreement.agrees)
      return createStringError("its outputs differ: " + agreement.worst);
  std::vector<double> seconds(problems.size());
  for (const CompiledKernel &kernel : compiled->kernels) {
    auto launch = cast<kernel::LaunchOp>(kernel.definition);
    if (auto number = numberOf.find(schedules.keyOf(launch)); number != numberOf.end())
      seconds[number->second] += found->seconds.lookup(kernel.symbol);
  }
  return seconds;
}

std::optional<std::vector<double>> Tuner::measureOne(const tuning::Assignment &assignment) {
  hooks.show("tcc: tuning " + Twine(problems.size()) + " kernels, build " + Twine(builds + 1) +
             ", " + Twine(int64_t(elapsed())) + " of " + Twine(int64_t(budget)) + " s");
  auto seconds = buildAndMeasure(assignment);
  if (seconds)
    return *seconds;
  std::string why = toString(seconds.takeError());
  log::write(log::Topic::Tuning, "build " + Twine(builds) + " is dropped: " + why);
  if (builds == 1)
    firstFailure = why;
  return std::nullopt;
}

std::string Tuner::report(const tuning::SearchResult &found) const {
  size_t changed = problems.size() - count(found.best, 0u);
  std::string text =
      formatv("tuned {0} of {1} kernels in {2:f1} s", changed, problems.size(), elapsed());
  if (changed)
    text += formatv(" ({0:f3} instead of {1:f3} ms)", found.after * 1e3, found.before * 1e3);
  if (found.failed)
    text += formatv(", {0} candidates dropped", found.failed);
  if (!found.complete)
    text += ", not all candidates: --tune-budget is used up";
  return text;
}

Expected<std::string> Tuner::run() {
  auto first = hooks.load();
  if (!first)
    return first.takeError();
  loaded = std::move(*first);
  findProblems(*loaded.module);
  if (problems.empty())
    return "nothing left to tune";
  if (hooks.foreign)
    return userError("--mode max-autotune measures, and this machine cannot run code for the "
                     "target: tune on one that can, and give its record by --tuning");
  if (std::error_code error = sys::fs::createUniqueDirectory("tcc-tune", folder))
    return createStringError("no temporary folder: " + error.message());
  llvm::scope_exit remove([&] { (void)sys::fs::remove_directories(folder); });
  std::vector<unsigned> counts;
  for (const Problem &problem : problems)
    counts.push_back(problem.candidates.size());
  tuning::SearchResult found = tuning::search(
      counts, [&](const tuning::Assignment &a) { return measureOne(a); },
      [&] { return elapsed() < budget; });
  if (!firstFailure.empty())
    return createStringError("the model cannot be tuned: " + firstFailure);
  for (auto [problem, best, decided] : zip_equal(problems, found.best, found.decided))
    if (decided || best != 0)
      schedules.record.set(problem.key, {problem.kernel, attributeText(problem.candidates[best])});
  return report(found);
}

Expected<std::string> tcc::tune(const TuneHooks &hooks, TunedSchedules &schedules,
                                const Backend &backend, double seconds) {
  return Tuner(hooks, schedules, backend, seconds).run();
}
