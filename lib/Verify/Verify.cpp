//===- Verify.cpp - The first node that differs ---------------------------===//
//
// First the model as it is: its outputs, and inputs that it changes, beside those
// that the reference interpreter computes from the primitives as decompose gives
// them, in a row of runs (ReferenceRuns.h). Where they agree, all is said.
//
// Where they do not, the model is compiled again with the result of every node
// as one more output. The interpreter then computes each node from the *compiled*
// values of what it reads: errors of earlier nodes do not add up, so the first
// node whose own result is off is the one at fault.
//
// That build has hardly any fusion. If each node is right on its own, only every
// 2nd, 4th ... node is made an output, so that what lies between them is compiled
// together again, until a stretch of nodes differs. If none does up to a length
// where no single kernel is that long, the model has amplified roundings: it
// compares, rounds or sorts values that are nearly equal. That is no fault.
//
//===----------------------------------------------------------------------===//
#include "tcc/Verify/Verify.h"
#include "Agreement.h"
#include "LoadedModel.h"
#include "ReferenceRuns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tcc;
using mlir::cast;
using mlir::dyn_cast;
using mlir::isa;
using reference::Tensor;

namespace {

/// The result of one node of the model, by place, which is the same in every copy of the module.
struct Probe {
  unsigned op;     ///< of the function's block
  unsigned result; ///< of the operator
  std::string node;
};

class Verifier {
public:
  Verifier(const VerifiedFiles &files, const VerifyHooks &hooks) : files(files), hooks(hooks) {}
  Expected<VerifyResult> run();

private:
  Expected<Agreement> compareRuns();
  Expected<Agreement> compareRun(LoadedModel &loaded, const ReferenceRun &run);
  std::string label(const char *what, mlir::StringAttr name, unsigned number) const;
  std::vector<Probe> allProbes();
  Error buildWith(ArrayRef<Probe> probes, const std::string &path);
  Expected<std::string> firstDifference(unsigned stride);
  Expected<std::string> differenceIn(const ReferenceRun &run, ArrayRef<Probe> all,
                                     ArrayRef<Probe> chosen, unsigned stride,
                                     const LoadedModel::Results &got);
  Expected<std::string> locate();

  const VerifiedFiles &files;
  const VerifyHooks &hooks;
  Model model;
  mlir::func::FuncOp function;
  std::optional<CallForm> form;
  std::vector<ReferenceRun> runs;
  size_t comparedRuns = 0; ///< up to the first that differs, that one included
};

/// A folder that goes with its content.
class TemporaryFolder {
public:
  ~TemporaryFolder() {
    if (!path.empty())
      sys::fs::remove_directories(path);
  }
  Error create() {
    if (std::error_code code = sys::fs::createUniqueDirectory("tcc-verify", path))
      return createStringError(code, "no temporary folder: " + code.message());
    return Error::success();
  }
  SmallString<128> path;
};

} // namespace

static std::vector<DType> typesOf(mlir::TypeRange types) {
  std::vector<DType> result;
  for (mlir::Type type : types)
    result.push_back(*prim::dtypeOf(cast<mlir::RankedTensorType>(type).getElementType()));
  return result;
}

std::string Verifier::label(const char *what, mlir::StringAttr name, unsigned number) const {
  std::string text =
      std::string(what) + " '" + (name ? printable(name.getValue()) : std::to_string(number)) + "'";
  return (runs.size() > 1 ? "run " + std::to_string(comparedRuns) + ", " : "") + text + " at ";
}

/// Outputs, and inputs that the run changes.
Expected<Agreement> Verifier::compareRun(LoadedModel &loaded, const ReferenceRun &run) {
  std::vector<DType> types = typesOf(function.getResultTypes()), outputTypes;
  for (unsigned i : form->outputs)
    outputTypes.push_back(types[i]);
  auto got = loaded.run(form->inputsOf(run.arguments), outputTypes);
  if (!got)
    return createStringError("the compiled model does not take what the reference interpreter "
                             "takes: " +
                             toString(got.takeError()));
  Agreement all;
  auto include = [&](const Tensor &have, const Tensor &want, const std::string &where) {
    Agreement one = compare(have, want);
    one.worst = where + one.worst;
    log::write(log::Topic::Verify, where + one.errors());
    all.include(one);
  };
  for (auto [have, i] : zip_equal(got->outputs, form->outputs))
    include(
        have, run.results[i],
        label("output", function.getResultAttrOfType<mlir::StringAttr>(i, graph::kNameAttr), i));
  for (CallForm::Change change : form->changes)
    if (const auto *at = find(form->inputs, change.argument); at != form->inputs.end())
      include(got->inputs[at - form->inputs.begin()], run.results[change.result],
              label("changed input",
                    function.getArgAttrOfType<mlir::StringAttr>(change.argument, graph::kNameAttr),
                    change.argument));
  return all;
}

/// Up to the first run that differs.
Expected<Agreement> Verifier::compareRuns() {
  auto loaded = LoadedModel::open(files.library, files.weights);
  if (!loaded)
    return loaded.takeError();
  Agreement all;
  for (const ReferenceRun &run : runs) {
    ++comparedRuns;
    Expected<Agreement> one = compareRun(**loaded, run);
    if (!one)
      return one;
    all.include(*one);
    if (!all.agrees)
      break;
  }
  return all;
}

/// The last tensor that each node of the model gives.
std::vector<Probe> Verifier::allProbes() {
  std::vector<Probe> probes;
  StringMap<size_t> ofNode;
  for (auto [i, op] : enumerate(function.getBody().front().without_terminator())) {
    if (isa<prim::WeightOp, prim::ConstantOp>(op))
      continue;
    for (mlir::OpResult result : op.getResults()) {
      auto type = dyn_cast<mlir::RankedTensorType>(result.getType());
      if (!type || !prim::dtypeOf(type.getElementType()))
        continue;
      std::string node = sourceNodes(op.getLoc());
      Probe probe{static_cast<unsigned>(i), result.getResultNumber(), node};
      auto [at, fresh] = ofNode.try_emplace(node, probes.size());
      if (fresh)
        probes.push_back(probe);
      else
        probes[at->second] = probe;
    }
  }
  sort(probes, [](const Probe &a, const Probe &b) { return a.op < b.op; });
  return probes;
}

/// A library with the values of `probes` as outputs after the model's own.
Error Verifier::buildWith(ArrayRef<Probe> probes, const std::string &path) {
  Model copy;
  copy.module = model.module->clone();
  for (const std::string &name : model.weights->names())
    copy.weights->add(name, *model.weights->describe(name));
  mlir::func::FuncOp main = copy.main();
  mlir::Block &block = main.getBody().front();
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : block)
    ops.push_back(&op);
  SmallVector<mlir::Value> values(block.getTerminator()->getOperands());
  SmallVector<mlir::Type> types(main.getResultTypes());
  for (const Probe &probe : probes) {
    values.push_back(ops[probe.op]->getResult(probe.result));
    types.push_back(values.back().getType());
  }
  block.getTerminator()->setOperands(values);
  // Attributes of results are kept for those that there were.
  SmallVector<mlir::Attribute> attributes;
  for (unsigned i = 0; i < types.size(); ++i)
    attributes.push_back(i < main.getNumResults() && main.getResAttrsAttr()
                             ? main.getResAttrsAttr()[i]
                             : mlir::DictionaryAttr::get(main.getContext()));
  main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.getArgumentTypes(), types));
  main.setResAttrsAttr(mlir::ArrayAttr::get(main.getContext(), attributes));
  return hooks.build(copy, path);
}

/// The first node, or stretch of nodes, that is wrong on its own inputs when every `stride`-th
/// node's value is an output; empty when there is none.
Expected<std::string> Verifier::firstDifference(unsigned stride) {
  std::vector<Probe> all = allProbes(), chosen;
  for (size_t i = stride - 1; i < all.size(); i += stride)
    chosen.push_back(all[i]);
  TemporaryFolder folder;
  if (Error error = folder.create())
    return std::move(error);
  std::string path = (folder.path + "/model.so").str();
  if (Error error = buildWith(chosen, path))
    return std::move(error);
  auto loaded = LoadedModel::open(path);
  if (!loaded)
    return loaded.takeError();
  std::vector<DType> types, resultTypes = typesOf(function.getResultTypes());
  for (unsigned i : form->outputs)
    types.push_back(resultTypes[i]);
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (const Probe &probe : chosen)
    types.push_back(typesOf(ops[probe.op]->getResult(probe.result).getType())[0]);
  for (const ReferenceRun &run : ArrayRef(runs).take_front(comparedRuns)) {
    auto got = (*loaded)->run(form->inputsOf(run.arguments), types);
    if (!got)
      return got.takeError();
    Expected<std::string> found = differenceIn(run, all, chosen, stride, *got);
    if (!found || !found->empty())
      return found;
  }
  return std::string();
}

Expected<std::string> Verifier::differenceIn(const ReferenceRun &run, ArrayRef<Probe> all,
                                             ArrayRef<Probe> chosen, unsigned stride,
                                             const LoadedModel::Results &got) {
  ArrayRef<Tensor> values = ArrayRef(got.outputs).drop_front(form->outputs.size());
  DenseMap<mlir::Value, size_t> index;
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (auto [i, probe] : enumerate(chosen))
    index[ops[probe.op]->getResult(probe.result)] = i;
  std::string found;
  auto report = [&](size_t probe, const Agreement &agreement) {
    if (!found.empty() || agreement.agrees)
      return;
    size_t last = std::min(all.size() - 1, (probe + 1) * stride - 1), first = probe * stride;
    found = first >= last
                ? "node '" + all[last].node + "'"
                : "nodes '" + all[first].node + "' to '" + all[last].node + "' compiled together";
    found += ", at " + agreement.worst;
  };
  reference::EvaluateOptions options;
  reference::RandomState random = run.random;
  options.random = &random;
  options.observer = [&](mlir::OpResult result, Tensor &value) {
    auto at = index.find(result);
    if (at == index.end())
      return;
    report(at->second, compare(values[at->second], value));
    if (values[at->second].shape() == value.shape())
      value = values[at->second];
  };
  auto results = reference::evaluate(function, run.arguments, *model.weights, options);
  if (!results)
    return results.takeError();
  for (auto [have, i] : zip(got.outputs, form->outputs))
    report(chosen.size(), compare(have, (*results)[i]));
  return found;
}

Expected<std::string> Verifier::locate() {
  if (!hooks.mayExpose || allProbes().empty())
    return std::string("a node that cannot be told, since the input has kernels already");
  constexpr unsigned longest = 64; // nodes in one kernel, and more
  for (unsigned stride = 1; stride <= longest; stride *= 2) {
    log::write(log::Topic::Verify, "comparing every node, " + Twine(stride) + " compiled together");
    Expected<std::string> found = firstDifference(stride);
    if (!found || !found->empty())
      return found;
  }
  return std::string();
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
  Expected<Agreement> agreement = compareRuns();
  if (!agreement)
    return agreement.takeError();
  std::string errors = "largest " + agreement->errors();
  std::string times = runs.size() > 1 ? " in " + std::to_string(runs.size()) + " runs" : "";
  if (agreement->agrees)
    return VerifyResult{true, "agrees with the reference interpreter" + times + ": " + errors};
  Expected<std::string> where = locate();
  if (!where)
    return where.takeError();
  if (where->empty())
    return VerifyResult{true, "every node agrees with the reference interpreter, but the model "
                              "amplifies roundings: " +
                                  errors + ", " + agreement->worst};
  return VerifyResult{false,
                      "the compiled model differs from the reference interpreter: first in " +
                          *where + "; " + errors + ", " + agreement->worst};
}

Expected<VerifyResult> tcc::verify(const VerifiedFiles &files, const VerifyHooks &hooks) {
  return Verifier(files, hooks).run();
}
