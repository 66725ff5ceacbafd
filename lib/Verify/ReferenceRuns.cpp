//===- ReferenceRuns.cpp - What the model should give --------------------===//
//
// Inputs are drawn until the model takes them: shapes that fit together, integers that reach other
// branches. State is carried from run to run, because a wrong state shows one run later.
//
//===----------------------------------------------------------------------===//
#include "tcc/Verify/ReferenceRuns.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "tcc/Support/WeightTable.h"
#include "tcc/Verify/SampleInputs.h"
#include <chrono>

using namespace llvm;
using namespace tcc;
using mlir::cast;
using reference::Tensor;

CallForm::CallForm(mlir::func::FuncOp function) {
  Signature signature(function);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    (signature.isState(i) ? state : inputs).push_back(i);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (signature.isOutput(i))
      outputs.push_back(i);
    else if (auto argument = signature.changedArgument(i))
      changes.push_back({i, *argument});
}

std::vector<Tensor> CallForm::inputsOf(ArrayRef<Tensor> arguments) const {
  std::vector<Tensor> result;
  for (unsigned i : inputs)
    result.push_back(arguments[i]);
  return result;
}

namespace {

class Runs {
public:
  Runs(mlir::func::FuncOp function, const WeightTable &weights)
      : function(function), weights(weights), form(function), integers(comparedIntegers(function)),
        open(any_of(function.getArgumentTypes(), [](mlir::Type type) {
          return !cast<mlir::RankedTensorType>(type).hasStaticShape();
        })) {}
  Expected<std::vector<ReferenceRun>> all();

private:
  Error readState();
  Error findFirst();
  Error addMore();
  Expected<bool> add(SampleChoice choice);
  bool within(int seconds) const {
    return std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds);
  }

  mlir::func::FuncOp function;
  const WeightTable &weights;
  CallForm form;
  SmallVector<int64_t> integers;
  bool open;
  std::vector<Tensor> state;     ///< as the last run left it
  reference::RandomState random; ///< likewise
  SampleChoice first{};
  std::string why; ///< the model did not take the last inputs
  std::vector<ReferenceRun> runs;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace

Error Runs::readState() {
  state.resize(function.getNumArguments());
  for (unsigned i : form.state) {
    StringRef name = Signature(function).firstValue(i);
    auto type = cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    const Weight *weight = weights.lookup(name);
    if (!weight)
      return createStringError("no first value of the state '" + printable(name) + "'");
    // Its type may differ: complex numbers are pairs by now.
    auto value =
        Tensor::fromPacked(*prim::dtypeOf(type.getElementType()), type.getShape(), weight->bytes);
    if (!value)
      return value.takeError();
    state[i] = std::move(*value);
  }
  return Error::success();
}

/// Whether the model takes such inputs; `why` not.
Expected<bool> Runs::add(SampleChoice choice) {
  choice.run = runs.size();
  Expected<std::vector<Tensor>> arguments = sampleInputs(function, choice);
  if (!arguments)
    return arguments.takeError();
  for (unsigned i : form.state)
    (*arguments)[i] = state[i];
  reference::RandomState before = random;
  reference::EvaluateOptions options;
  options.random = &random;
  auto results = reference::evaluate(function, *arguments, weights, options);
  std::string what = "sizes " + std::to_string(choice.sizes.leading) + " and " +
                     std::to_string(choice.sizes.other) +
                     (choice.integer ? ", integer " + std::to_string(*choice.integer) : "");
  if (!results) {
    Error error = results.takeError();
    if (!error.isA<UserError>())
      return std::move(error);
    why = toString(std::move(error));
    log::write(log::Topic::Verify, what + " do not fit: " + why);
    return false;
  }
  log::write(log::Topic::Verify, "run " + Twine(runs.size()) + ": " + what);
  for (CallForm::Change change : form.changes)
    state[change.argument] = (*results)[change.result];
  runs.push_back({std::move(*arguments), std::move(*results), std::move(before)});
  return true;
}

/// The first choice that the model takes.
Error Runs::findFirst() {
  SmallVector<std::optional<int64_t>> candidates = {std::nullopt};
  append_range(candidates, integers);
  for (SampleSizes sizes : open ? sampleSizes() : sampleSizes().take_front())
    for (std::optional<int64_t> integer : candidates) {
      if (!within(60))
        break; // of both loops
      first = {sizes, integer, 0};
      Expected<bool> fits = add(first);
      if (!fits)
        return fits.takeError();
      if (*fits)
        return Error::success();
    }
  return userError("--verify found no input that the model takes" +
                   (open ? Twine(" (give sizes by --shape or --dim)") : Twine("")) + ": " + why);
}

/// What may behave differently: later states, other branches, other sizes.
Error Runs::addMore() {
  constexpr size_t mostSizes = 3;
  SmallVector<SampleChoice> choices;
  if (!form.changes.empty())
    choices.append(2, first);
  for (int64_t integer : integers)
    if (first.integer != integer)
      choices.push_back({first.sizes, integer, 0});
  auto tryAll = [&](ArrayRef<SampleChoice> some, size_t most) -> Error {
    size_t end = runs.size() + most;
    for (const SampleChoice &choice : some) {
      if (!within(20) || runs.size() == end)
        break;
      Expected<bool> fits = add(choice);
      if (!fits)
        return fits.takeError();
    }
    return Error::success();
  };
  if (Error error = tryAll(choices, choices.size()))
    return error;
  choices.clear();
  for (SampleSizes sizes : moreSampleSizes())
    choices.push_back({sizes, first.integer, 0});
  return open ? tryAll(choices, mostSizes) : Error::success();
}

Expected<std::vector<ReferenceRun>> Runs::all() {
  if (Error error = readState())
    return std::move(error);
  if (Error error = findFirst())
    return std::move(error);
  if (Error error = addMore())
    return std::move(error);
  return std::move(runs);
}

Expected<std::vector<ReferenceRun>> tcc::referenceRuns(mlir::func::FuncOp function,
                                                       const WeightTable &weights) {
  return Runs(function, weights).all();
}
