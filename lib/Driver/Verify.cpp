//===- Verify.cpp - The first node that differs ---------------------------===//
//
// First the model as it is: its outputs beside those that the reference
// interpreter computes from the primitives as decompose gives them. Where they
// agree, all is said.
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
#include "Verify.h"
#include "Agreement.h"
#include "LoadedModel.h"
#include "SampleInputs.h"
#include "SourceNodes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/Logging.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>

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
  Verifier(const std::string &library, const VerifyHooks &hooks) : library(library), hooks(hooks) {}
  Expected<VerifyResult> run();

private:
  Error compute();
  Expected<Agreement> compareOutputs(const std::string &path);
  std::vector<Probe> allProbes();
  Error buildWith(ArrayRef<Probe> probes, const std::string &path);
  Expected<std::string> firstDifference(unsigned stride);
  Expected<std::string> locate();

  const std::string &library;
  const VerifyHooks &hooks;
  Model model;
  mlir::func::FuncOp function;
  std::vector<Tensor> inputs, expected;
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

static mlir::func::FuncOp mainOf(Model &model) {
  return *model.module->getOps<mlir::func::FuncOp>().begin();
}

/// Chooses the first sizes that the model takes and computes what it should give.
Error Verifier::compute() {
  auto start = std::chrono::steady_clock::now();
  std::string why;
  bool open = any_of(function.getArgumentTypes(), [](mlir::Type type) {
    return !cast<mlir::RankedTensorType>(type).hasStaticShape();
  });
  for (SampleSizes sizes : open ? sampleSizes() : sampleSizes().take_front()) {
    Expected<std::vector<Tensor>> sample = sampleInputs(function, sizes);
    if (!sample)
      return sample.takeError();
    auto results = reference::evaluate(function, *sample, *model.weights);
    if (results) {
      inputs = std::move(*sample);
      expected = std::move(*results);
      return Error::success();
    }
    Error error = results.takeError();
    if (!error.isA<UserError>())
      return error;
    why = toString(std::move(error));
    log::write(log::Topic::Verify, "sizes " + Twine(sizes.leading) + " and " + Twine(sizes.other) +
                                       " do not fit: " + why);
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60))
      break;
  }
  return userError("--verify found no input that the model takes" +
                   (open ? Twine(" (give sizes by --shape or --dim)") : Twine("")) + ": " + why);
}

Expected<Agreement> Verifier::compareOutputs(const std::string &path) {
  auto loaded = LoadedModel::open(path);
  if (!loaded)
    return loaded.takeError();
  auto got = (*loaded)->run(inputs, typesOf(function.getResultTypes()));
  if (!got)
    return got.takeError();
  Agreement all;
  for (auto [i, pair] : enumerate(zip_equal(*got, expected))) {
    Agreement one = compare(std::get<0>(pair), std::get<1>(pair));
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, graph::kNameAttr);
    one.worst =
        "output '" + (name ? printable(name.getValue()) : std::to_string(i)) + "' at " + one.worst;
    log::write(log::Topic::Verify, "output " + Twine(i) + ": " + one.errors());
    all.include(one);
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
  mlir::func::FuncOp main = mainOf(copy);
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
  std::vector<DType> types = typesOf(function.getResultTypes());
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : function.getBody().front())
    ops.push_back(&op);
  DenseMap<mlir::Value, size_t> index;
  for (auto [i, probe] : enumerate(chosen)) {
    mlir::Value value = ops[probe.op]->getResult(probe.result);
    types.push_back(typesOf(value.getType())[0]);
    index[value] = i;
  }
  auto got = (*loaded)->run(inputs, types);
  if (!got)
    return got.takeError();
  ArrayRef<Tensor> values = ArrayRef(*got).drop_front(expected.size());

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
  options.observer = [&](mlir::OpResult result, Tensor &value) {
    auto at = index.find(result);
    if (at == index.end())
      return;
    report(at->second, compare(values[at->second], value));
    if (values[at->second].shape() == value.shape())
      value = values[at->second];
  };
  auto outputs = reference::evaluate(function, inputs, *model.weights, options);
  if (!outputs)
    return outputs.takeError();
  for (auto [have, want] : zip(*got, *outputs))
    report(chosen.size(), compare(have, want));
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
  function = mainOf(model);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, graph::kStateAttr) || function.getArgAttr(i, kComplexAttr))
      return userError("--verify does not know models with state or complex inputs");
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, graph::kMutatesAttr) || function.getResultAttr(i, kComplexAttr))
      return userError("--verify does not know models that change inputs or give complex numbers");
  if (Error error = compute())
    return std::move(error);
  Expected<Agreement> agreement = compareOutputs(library);
  if (!agreement)
    return agreement.takeError();
  std::string errors = "largest " + agreement->errors();
  if (agreement->agrees)
    return VerifyResult{true, "agrees with the reference interpreter: " + errors};
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

Expected<VerifyResult> tcc::verify(const std::string &library, const VerifyHooks &hooks) {
  return Verifier(library, hooks).run();
}
