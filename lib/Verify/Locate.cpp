//===- Locate.cpp - The first node that is wrong on its own ---------------===//
//
// The model is compiled again with the result of every node as one more output. The
// interpreter then computes each node from the *compiled* values of what it reads: errors of
// earlier nodes do not add up, so the first node whose own result is off is the one at fault.
//
// That build has hardly any fusion. If each node is right on its own and roundings do not explain
// the difference, only every 2nd, 4th ... node is made an output, so that what lies between them
// is compiled together again, until a stretch of nodes differs, up to a length that no single
// kernel has.
//
//===----------------------------------------------------------------------===//
#include "Verifier.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Logging.h"
#include "tcc/Support/TemporaryFolder.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tcc;
using mlir::dyn_cast;
using reference::Tensor;

/// The last tensor that each node of the model gives.
std::vector<Probe> Verifier::allProbes() {
  std::vector<Probe> probes;
  StringMap<size_t> ofNode;
  for (auto [i, op] : enumerate(function.getBody().front().without_terminator())) {
    if (op.hasTrait<prim::ModelConstant>())
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
  return hooks.build(copy, path, VerifyBuild());
}

/// The first node, or stretch of nodes, that is wrong on its own inputs when every `stride`-th
/// node's value is an output; empty when there is none.
Expected<std::string> Verifier::firstDifference(unsigned stride) {
  log::write(log::Topic::Verify, "comparing every node, " + Twine(stride) + " compiled together");
  std::vector<Probe> all = allProbes(), chosen;
  for (size_t i = stride - 1; i < all.size(); i += stride)
    chosen.push_back(all[i]);
  TemporaryFolder folder;
  if (Error error = TemporaryFolder::create("tcc-verify").moveInto(folder))
    return std::move(error);
  std::string path = folder.file("model.so");
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
  for (const ReferenceRun &run : ArrayRef(runs).take_front(first.runs)) {
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
  reference::RandomState state = run.random;
  options.random = &state;
  options.observer = [&](mlir::OpResult result, Tensor &value) {
    auto at = index.find(result);
    if (at == index.end())
      return;
    report(at->second, compared(values[at->second], value));
    if (values[at->second].shape() == value.shape())
      value = values[at->second];
  };
  auto results = reference::evaluate(function, run.arguments, *model.weights, options);
  if (!results)
    return results.takeError();
  for (auto [have, i] : zip(got.outputs, form->outputs))
    report(chosen.size(), compared(have, (*results)[i]));
  return found;
}

Expected<std::string> Verifier::locateNode() {
  if (!canExpose())
    return std::string();
  return firstDifference(1);
}

Expected<std::string> Verifier::locateStretch() {
  constexpr unsigned longest = 64; // nodes in one kernel, and more
  for (unsigned stride = 2; canExpose() && stride <= longest; stride *= 2) {
    Expected<std::string> found = firstDifference(stride);
    if (!found || !found->empty())
      return found;
  }
  return std::string();
}
