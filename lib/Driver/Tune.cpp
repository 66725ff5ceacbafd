//===- Tune.cpp - Schedules, layouts and cuts by measuring ----------------===//
//
// Problems are contractions whose weights may lie in several orders, kernels that may be cut, and
// kernels that may run by several schedules; those that the record does not know are tuned, in this
// order, since a kernel with other weights is another problem, and so is each part of one. The
// model is built with one candidate for each problem at a time (Tuning/Search.h), run on seeded
// inputs in a child, and each kernel's own time read from the profile; a contraction's is that of
// the kernels that have it, and a kernel's that of its parts. What a candidate gives is held
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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "tcc/Support/TemporaryFolder.h"
#include "tcc/Tuning/Search.h"
#include "tcc/Verify/Agreement.h"
#include "tcc/Verify/ReferenceRuns.h"
#include "tcc/Verify/SampleInputs.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace tcc;
using mlir::cast;
using mlir::Operation;
using reference::Tensor;
using tuning::Assignment;
using tuning::ProblemKey;
using tuning::Times;

namespace {

/// What has several candidates; all that compute the same are one.
template <typename Attr> struct Problem {
  ProblemKey key;
  std::string name; ///< of a kernel, or of the contraction
  SmallVector<Attr> candidates;
};

/// Problems of one kind, and which candidate was the fastest.
template <typename Attr> struct Problems {
  std::vector<Problem<Attr>> all;
  std::map<ProblemKey, unsigned> numberOf;
  tuning::SearchResult found;

  void add(const ProblemKey &key, StringRef name, ArrayRef<Attr> candidates) {
    if (numberOf.try_emplace(key, all.size()).second)
      all.push_back({key, name.str(), SmallVector<Attr>(candidates)});
  }
  std::vector<unsigned> counts() const {
    std::vector<unsigned> counts;
    for (const Problem<Attr> &problem : all)
      counts.push_back(problem.candidates.size());
    return counts;
  }
  /// The candidate of `assignment`; null where there is no such problem.
  Attr chosen(const ProblemKey &key, const Assignment &assignment) const {
    auto number = numberOf.find(key);
    return number == numberOf.end() ? Attr()
                                    : all[number->second].candidates[assignment[number->second]];
  }
  void keep(tuning::Record &record, tuning::ChoiceKind kind) const {
    for (auto [problem, best, decided] : zip_equal(all, found.best, found.decided))
      if (decided || best != 0)
        record.set(problem.key, {kind, problem.name, choiceText(problem.candidates[best])});
  }
};

class Tuner {
public:
  Tuner(const TuneHooks &hooks, TunedChoices &choices, const Backend &backend, double seconds)
      : hooks(hooks), choices(choices), model(backend.schedules()), budget(seconds) {}
  Expected<std::string> run();

private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  /// For so many more measurements that take as long as the shortest so far: what was built once is
  /// built again faster.
  bool timeLeft(unsigned measurements) const {
    return elapsed() + measurements * shortest.value_or(0) < budget;
  }
  /// The model, with contractions that the record does not know added to `layouts`.
  Error findLayouts();
  void findCuts();
  /// Cuts the kernels of `whole` by `assignment`, and those of no problem by the record. The
  /// launches of each problem by what they compute, how many of each.
  using Parts = std::map<ProblemKey, std::map<unsigned, unsigned>>;
  Expected<Parts> cutKernels(Model &whole, const Assignment &assignment);
  Expected<std::string> search();
  /// Of the kernels of `loaded`, which are cut for good.
  Error findSchedules();
  LayoutChooser layoutsBy(const Assignment &assignment);
  Error findInputs(const std::string &library);
  std::optional<Times> measureLayouts(const Assignment &assignment);
  std::optional<Times> measureCuts(const Assignment &assignment);
  std::optional<Times> measureSchedules(const Assignment &assignment);
  /// Builds `candidate`, holds its outputs against those wanted, and tells the time of each kernel
  /// and how often it is launched. Seconds of a run.
  Expected<double> buildAndMeasure(Model &candidate, ScheduleChooser chooser,
                                   function_ref<void(const CompiledKernel &, double)> add);
  std::optional<Times> checked(Expected<double> run, std::vector<double> seconds);
  /// Finds the fastest candidates within the time left and keeps them in the record.
  template <typename Attr, typename Measure>
  Error tune(Problems<Attr> &problems, Measure measure, tuning::ChoiceKind kind) {
    problems.found = tuning::search(
        problems.counts(), [&](const Assignment &a) { return (this->*measure)(a); },
        [&](unsigned measurements) { return timeLeft(measurements); });
    if (!firstFailure.empty())
      return createStringError("the model cannot be tuned: " + firstFailure);
    problems.keep(choices.record, kind);
    return Error::success();
  }
  template <typename Attr> void show(const Problems<Attr> &problems, const Twine &what);
  std::string report() const;

  const TuneHooks &hooks;
  TunedChoices &choices;
  const ScheduleModel &model;
  double budget;
  Clock::time_point begin = Clock::now();
  Model loaded;
  Problems<prim::StorageLayout> layouts;
  Problems<Cut> cuts;
  Problems<kernel::Schedule> schedules;
  TemporaryFolder folder;
  std::vector<Tensor> inputs, wanted; ///< `wanted`: the outputs of the model's own choice
  std::vector<DType> outputTypes;
  unsigned builds = 0;
  std::optional<DType> between;   ///< what values between kernels are rounded to
  std::optional<double> shortest; ///< seconds of a measurement
  std::string firstFailure;       ///< why the model's own choice could not be measured
  std::string notTaken;           ///< why the model takes no seeded inputs
};

} // namespace

/// The coarser of the floats of 16 bits that values of `module` have, or `asked` if that is so.
static std::optional<DType> roundedTo(mlir::ModuleOp module, std::optional<DType> asked) {
  std::optional<DType> found = asked;
  module.walk([&](Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
        if (std::optional<DType> held = prim::dtypeOf(tensor.getElementType()))
          if ((*held == DType::F16 && !found) || *held == DType::BF16)
            found = held;
  });
  return found;
}

Error Tuner::findLayouts() {
  auto first = hooks.load([&](Operation *contraction, ArrayRef<prim::StorageLayout> candidates) {
    ProblemKey key = choices.keyOf(contraction);
    if (candidates.size() > 1 && !choices.record.find(key))
      layouts.add(key, contraction->getName().stripDialect(), candidates);
    return choices.layoutChooser()(contraction, candidates);
  });
  if (!first)
    return first.takeError();
  loaded = std::move(*first);
  between = roundedTo(*loaded.module, hooks.between);
  return Error::success();
}

LayoutChooser Tuner::layoutsBy(const Assignment &assignment) {
  return [this, assignment](Operation *contraction, ArrayRef<prim::StorageLayout> candidates) {
    prim::StorageLayout chosen = layouts.chosen(choices.keyOf(contraction), assignment);
    return chosen ? chosen : choices.layoutChooser()(contraction, candidates);
  };
}

void Tuner::findCuts() {
  loaded.module->walk([&](kernel::LaunchOp launch) {
    SmallVector<Cut> ways = cutsOf(launch);
    ProblemKey key = choices.cutKeyOf(launch);
    if (ways.size() > 1 && !choices.record.find(key))
      cuts.add(key, launch.getName(), ways);
  });
}

Expected<Tuner::Parts> Tuner::cutKernels(Model &whole, const Assignment &assignment) {
  Parts parts;
  SmallVector<kernel::LaunchOp> launches;
  whole.module->walk([&](kernel::LaunchOp launch) { launches.push_back(launch); });
  for (kernel::LaunchOp launch : launches) {
    ProblemKey key = choices.cutKeyOf(launch);
    auto number = cuts.numberOf.find(key);
    Cut cut = cuts.chosen(key, assignment);
    if (!cut)
      cut = choices.cutChooser()(launch, cutsOf(launch));
    SmallVector<kernel::LaunchOp> made;
    if (cut)
      made = cutLaunch(launch, cut, {true, true, &model});
    if (made.empty())
      return createStringError("a kernel cannot be cut so");
    if (number != cuts.numberOf.end())
      for (kernel::LaunchOp part : made)
        ++parts[choices.keyOf(part)][number->second];
  }
  return parts;
}

Error Tuner::findSchedules() {
  if (auto parts = cutKernels(loaded, cuts.found.best); !parts)
    return parts.takeError();
  loaded.module->walk([&](kernel::LaunchOp launch) {
    SmallVector<kernel::Schedule> candidates = model.candidates(launch, ScheduleModel::Asked::All);
    ProblemKey key = choices.keyOf(launch);
    if (candidates.size() > 1 && !choices.record.find(key))
      schedules.add(key, launch.getName(), candidates);
  });
  return Error::success();
}

/// The first seeded inputs that the model takes, as --verify draws them.
Error Tuner::findInputs(const std::string &library) {
  auto function = loaded.main();
  CallForm form(function);
  for (unsigned result : form.outputs)
    outputTypes.push_back(*prim::dtypeOf(
        cast<mlir::RankedTensorType>(function.getResultTypes()[result]).getElementType()));
  bool open = any_of(function.getArgumentTypes(), [](mlir::Type type) {
    return !cast<mlir::RankedTensorType>(type).hasStaticShape();
  });
  SmallVector<std::optional<int64_t>> integers = {std::nullopt};
  append_range(integers, comparedIntegers(function));
  for (SampleSizes sizes : open ? sampleSizes() : sampleSizes().take_front())
    for (std::optional<int64_t> integer : integers) {
      if (!notTaken.empty() && elapsed() > budget)
        break; // of both loops
      auto arguments = sampleInputs(function, {sizes, integer, 0});
      if (!arguments)
        return arguments.takeError();
      std::vector<Tensor> sample = form.inputsOf(*arguments);
      auto found = measure(library, sample, outputTypes, 0);
      if (found) {
        inputs = std::move(sample);
        wanted = std::move(found->outputs);
        notTaken.clear();
        return Error::success();
      }
      notTaken = toString(found.takeError());
    }
  return createStringError("no seeded inputs that the model takes: " + notTaken);
}

Expected<double> Tuner::buildAndMeasure(Model &candidate, ScheduleChooser chooser,
                                        function_ref<void(const CompiledKernel &, double)> add) {
  std::string library = folder.file(Twine(builds++) + ".so");
  double started = elapsed();
  llvm::scope_exit took(
      [&] { shortest = std::min(shortest.value_or(budget), elapsed() - started); });
  auto compiled = hooks.build(candidate, library, std::move(chooser));
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
  Allowance allowed = between ? Allowance::between(*between) : Allowance();
  for (auto [got, want] : zip_equal(found->outputs, wanted))
    if (Agreement agreement = compare(got, want, allowed); !agreement.agrees)
      return createStringError("its outputs differ: " + agreement.worst);
  for (const CompiledKernel &kernel : compiled->kernels)
    add(kernel, found->seconds.lookup(kernel.symbol));
  return found->run;
}

/// The times, or nothing where a candidate is at fault.
std::optional<Times> Tuner::checked(Expected<double> run, std::vector<double> seconds) {
  if (run)
    return Times{std::move(seconds), *run};
  std::string why = toString(run.takeError());
  log::write(log::Topic::Tuning, "build " + Twine(builds) + " is dropped: " + why);
  if (builds == 1)
    firstFailure = why;
  return std::nullopt;
}

template <typename Attr> void Tuner::show(const Problems<Attr> &problems, const Twine &what) {
  hooks.show("tcc: tuning " + what + " of " + Twine(problems.all.size()) + " kernels, build " +
             Twine(builds + 1) + ", " + Twine(int64_t(elapsed())) + " of " +
             Twine(int64_t(budget)) + " s");
}

static kernel::LaunchOp launchOf(const CompiledKernel &kernel) {
  return cast<kernel::LaunchOp>(kernel.definition);
}

std::optional<Times> Tuner::measureLayouts(const Assignment &assignment) {
  show(layouts, "weights");
  std::vector<double> seconds(layouts.all.size());
  auto candidate = hooks.load(layoutsBy(assignment));
  if (!candidate)
    return checked(candidate.takeError(), seconds);
  if (auto parts = cutKernels(*candidate, {}); !parts)
    return checked(parts.takeError(), seconds);
  auto run =
      buildAndMeasure(*candidate, choices.scheduleChooser(), [&](const auto &kernel, double time) {
        for (Operation &op : launchOf(kernel).getBody().front())
          if (op.hasTrait<prim::Contraction>())
            if (auto at = layouts.numberOf.find(choices.keyOf(&op)); at != layouts.numberOf.end())
              seconds[at->second] += time;
      });
  return checked(std::move(run), seconds);
}

std::optional<Times> Tuner::measureCuts(const Assignment &assignment) {
  show(cuts, "cuts");
  std::vector<double> seconds(cuts.all.size());
  Model candidate{loaded.module->clone(), loaded.weights};
  auto parts = cutKernels(candidate, assignment);
  if (!parts)
    return checked(parts.takeError(), seconds);
  auto run =
      buildAndMeasure(candidate, choices.scheduleChooser(), [&](const auto &kernel, double time) {
        // Parts of several problems may be one kernel.
        for (auto [problem, times] : (*parts)[choices.keyOf(launchOf(kernel))])
          seconds[problem] += time * times / kernel.launches.size();
      });
  return checked(std::move(run), seconds);
}

std::optional<Times> Tuner::measureSchedules(const Assignment &assignment) {
  show(schedules, "schedules");
  std::vector<double> seconds(schedules.all.size());
  Model candidate{loaded.module->clone(), loaded.weights};
  auto chooser = [&](kernel::LaunchOp launch, ArrayRef<kernel::Schedule> candidates) {
    kernel::Schedule chosen = schedules.chosen(choices.keyOf(launch), assignment);
    return chosen ? chosen : choices.scheduleChooser()(launch, candidates);
  };
  auto run = buildAndMeasure(candidate, chooser, [&](const auto &kernel, double time) {
    ProblemKey key = choices.keyOf(launchOf(kernel));
    if (auto at = schedules.numberOf.find(key); at != schedules.numberOf.end())
      seconds[at->second] += time;
  });
  return checked(std::move(run), seconds);
}

/// What was found of problems of one kind; empty where none was left.
template <typename Attr>
static std::string reportOf(const Problems<Attr> &problems, const Twine &what) {
  const tuning::SearchResult &found = problems.found;
  size_t changed = problems.all.size() - count(found.best, 0u);
  std::string text = formatv("{0} of {1} {2}", changed, problems.all.size(), what.str());
  if (changed)
    text += formatv(" ({0:f3} instead of {1:f3} ms)", found.after * 1e3, found.before * 1e3);
  if (found.failed)
    text += formatv(", {0} candidates dropped", found.failed);
  return text;
}

std::string Tuner::report() const {
  SmallVector<std::string> parts;
  if (!layouts.all.empty())
    parts.push_back(reportOf(layouts, "weights"));
  if (!cuts.all.empty())
    parts.push_back(reportOf(cuts, "kernels cut"));
  if (!schedules.all.empty())
    parts.push_back(reportOf(schedules, "kernels"));
  std::string text = formatv("tuned {0} in {1:f1} s", join(parts, ", "), elapsed());
  if (!layouts.found.complete || !cuts.found.complete || !schedules.found.complete)
    text += ", not all candidates: --tune-budget is used up";
  return text;
}

/// What was found. A model that takes no seeded inputs, a factorization that fails on most matrices
/// for instance, is built as the cost model has it.
Expected<std::string> Tuner::run() {
  auto found = search();
  if (found || notTaken.empty())
    return found;
  consumeError(found.takeError());
  return "not tuned: no seeded inputs that the model takes (" + notTaken + ")";
}

Expected<std::string> Tuner::search() {
  if (Error error = findLayouts())
    return std::move(error);
  if (layouts.all.empty())
    findCuts();
  bool isWhole = !layouts.all.empty() || !cuts.all.empty();
  if (!isWhole)
    if (Error error = findSchedules())
      return std::move(error);
  if (layouts.all.empty() && cuts.all.empty() && schedules.all.empty())
    return "nothing left to tune";
  if (hooks.foreign)
    return userError("--mode max-autotune measures, and this machine cannot run code for the "
                     "target: tune on one that can, and give its record by --tuning");
  if (Error error = TemporaryFolder::create("tcc-tune").moveInto(folder))
    return std::move(error);
  if (!layouts.all.empty()) {
    if (Error error = tune(layouts, &Tuner::measureLayouts, tuning::ChoiceKind::Layout))
      return std::move(error);
    auto chosen = hooks.load(layoutsBy(layouts.found.best));
    if (!chosen)
      return chosen.takeError();
    loaded = std::move(*chosen);
    findCuts();
  }
  if (!cuts.all.empty())
    if (Error error = tune(cuts, &Tuner::measureCuts, tuning::ChoiceKind::Cut))
      return std::move(error);
  if (isWhole)
    if (Error error = findSchedules())
      return std::move(error);
  if (!schedules.all.empty()) {
    if (Error error = tune(schedules, &Tuner::measureSchedules, tuning::ChoiceKind::Schedule))
      return std::move(error);
  }
  return report();
}

Expected<std::string> tcc::tune(const TuneHooks &hooks, TunedChoices &choices,
                                const Backend &backend, double seconds) {
  return Tuner(hooks, choices, backend, seconds).run();
}
