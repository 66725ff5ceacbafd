//===- Verify.cpp - The compiled model against the reference --------------===//
//
// First the model as it is: its outputs, and inputs that it changes, beside those
// that the reference interpreter computes from the primitives as decompose gives
// them, in a row of runs (ReferenceRuns.h). Where they agree, all is said.
//
// Where they do not, the first node that is wrong on its own is looked for (Locate.cpp).
//
// If there is none, either the model amplifies roundings (it compares, rounds or sorts values
// that are nearly equal), which is no fault, or the compiler is wrong only where nodes are
// compiled together or their values are no outputs. The interpreter tells: it runs again with
// every result a little off, as roundings make it (Rounding.h). A difference that is not finite,
// or that is larger than those, is a fault. Which nodes it takes is told by outputs that are
// further and further apart, and whose it is by compiling without planning in place and without
// fusion.
//
//===----------------------------------------------------------------------===//
#include "Rounding.h"
#include "Verifier.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "tcc/Support/TemporaryFolder.h"

using namespace llvm;
using namespace tcc;
using mlir::cast;
using reference::Tensor;

std::vector<DType> tcc::typesOf(mlir::TypeRange types) {
  std::vector<DType> result;
  for (mlir::Type type : types)
    result.push_back(*prim::dtypeOf(cast<mlir::RankedTensorType>(type).getElementType()));
  return result;
}

std::string Verifier::label(const char *what, StringRef name, unsigned number, size_t run) const {
  std::string text =
      std::string(what) + " '" + (name.empty() ? std::to_string(number) : printable(name)) + "'";
  return (runs.size() > 1 ? "run " + std::to_string(run) + ", " : "") + text + " at ";
}

/// Outputs, and inputs that the run changes.
Error Verifier::compareRun(LoadedModel &loaded, const ReferenceRun &run, Comparison &comparison) {
  std::vector<DType> types = typesOf(function.getResultTypes()), outputTypes;
  for (unsigned i : form->outputs)
    outputTypes.push_back(types[i]);
  auto got = loaded.run(form->inputsOf(run.arguments), outputTypes);
  if (!got)
    return createStringError("the compiled model does not take what the reference interpreter "
                             "takes: " +
                             toString(got.takeError()));
  ++comparison.runs;
  comparison.got.assign(types.size(), Tensor());
  auto include = [&](unsigned result, Tensor &have, const std::string &where) {
    Agreement one = compared(have, run.results[result]);
    one.worst = where + one.worst;
    log::write(log::Topic::Verify, where + one.errors());
    comparison.agreement.include(one);
    comparison.got[result] = std::move(have);
  };
  for (auto [have, i] : zip_equal(got->outputs, form->outputs))
    include(i, have, label("output", Signature(function).result(i).name, i, comparison.runs));
  for (CallForm::Change change : form->changes)
    if (const auto *at = find(form->inputs, change.argument); at != form->inputs.end())
      include(change.result, got->inputs[at - form->inputs.begin()],
              label("changed input", Signature(function).argument(change.argument).name,
                    change.argument, comparison.runs));
  return Error::success();
}

Expected<Verifier::Comparison> Verifier::compareRuns(const VerifiedFiles &library) {
  auto loaded = LoadedModel::open(library.library, library.weights);
  if (!loaded)
    return loaded.takeError();
  Comparison comparison;
  for (const ReferenceRun &run : runs) {
    if (Error error = compareRun(**loaded, run, comparison))
      return std::move(error);
    if (!comparison.agreement.agrees)
      break;
  }
  return comparison;
}

/// Whether the interpreter with other roundings is as far from itself as the model is from it.
Expected<bool> Verifier::explainedByRounding(const Comparison &comparison) {
  constexpr unsigned seeds = 4;
  constexpr double most = 4; // the largest of so few samples is not the largest there is
  ArrayRef<ReferenceRun> given = ArrayRef(runs).take_front(comparison.runs);
  for (unsigned seed = rounded.size(); seed < seeds; ++seed) {
    auto results = roundedResults(function, *model.weights, given, seed, hooks.tf32);
    if (!results)
      return results.takeError();
    rounded.push_back(std::move(*results));
  }
  for (auto [i, want] : enumerate(given.back().results)) {
    if (!comparison.got[i] || compared(comparison.got[i], want).agrees)
      continue;
    Distance moved, distance = Distance::between(comparison.got[i], want);
    for (const std::vector<Tensor> &results : rounded)
      moved.include(Distance::between(results[i], want));
    log::write(log::Topic::Verify, "result " + Twine(i) + ": off by at most " +
                                       std::to_string(distance.largest) +
                                       ", roundings move it by " + std::to_string(moved.largest));
    if (!distance.within(moved, most))
      return false;
  }
  return true;
}

/// Which part of the compiler the model is right without.
Expected<std::string> Verifier::blame() {
  constexpr std::pair<VerifyBuild, const char *> builds[] = {
      {{/*fuse=*/true, /*inPlace=*/false}, "without planning in place it agrees: a fault of plan"},
      {{/*fuse=*/false, /*inPlace=*/false}, "without fusion it agrees: a fault of fuse"}};
  for (auto &[how, text] : builds) {
    TemporaryFolder folder;
    if (Error error = TemporaryFolder::create("tcc-verify").moveInto(folder))
      return std::move(error);
    std::string path = folder.file("model.so");
    auto fresh = hooks.load();
    if (!fresh)
      return fresh.takeError();
    if (Error error = hooks.build(*fresh, path, how))
      return std::move(error);
    Expected<Comparison> comparison = compareRuns({path, ""});
    if (!comparison)
      return comparison.takeError();
    bool good = comparison->agreement.agrees;
    if (!good && comparison->runs == first.runs) {
      Expected<bool> explained = explainedByRounding(*comparison);
      if (!explained)
        return explained.takeError();
      good = *explained;
    }
    if (good)
      return std::string(text);
  }
  return std::string("without fusion and planning in place it differs as well");
}

Expected<VerifyResult> Verifier::run() {
  auto loaded = hooks.load();
  if (!loaded)
    return loaded.takeError();
  model = std::move(*loaded);
  function = model.main();
  form.emplace(function);
  auto computed = referenceRuns(function, *model.weights);
  if (!computed)
    return computed.takeError();
  runs = std::move(*computed);
  Expected<Comparison> comparison = compareRuns(files);
  if (!comparison)
    return comparison.takeError();
  first = std::move(*comparison);
  std::string errors = "largest " + first.agreement.errors();
  std::string times = runs.size() > 1 ? " in " + std::to_string(runs.size()) + " runs" : "";
  if (first.agreement.agrees)
    return VerifyResult{true, "agrees with the reference interpreter" + times + ": " + errors};
  errors += ", " + first.agreement.worst;
  constexpr const char *differs = "the compiled model differs from the reference interpreter";
  Expected<std::string> node = locateNode();
  if (!node)
    return node.takeError();
  if (!node->empty())
    return VerifyResult{false, differs + (": first in " + *node) + "; " + errors};
  Expected<bool> explained = explainedByRounding(first);
  if (!explained)
    return explained.takeError();
  if (*explained)
    return VerifyResult{
        true, (canExpose() ? "every node agrees with the reference interpreter, but " : "") +
                  ("the model amplifies roundings, also the interpreter's own: " + errors)};
  Expected<std::string> where = locateStretch();
  if (!where)
    return where.takeError();
  Expected<std::string> whose = blame();
  if (!whose)
    return whose.takeError();
  std::string text = std::string(differs) + ", and roundings do not explain it: ";
  if (!where->empty())
    text += "first in " + *where + "; ";
  return VerifyResult{false, text + *whose + "; " + errors};
}

Expected<VerifyResult> tcc::verify(const VerifiedFiles &files, const VerifyHooks &hooks) {
  return Verifier(files, hooks).run();
}
