//===- InPlace.cpp - Nodes that write to their operands -------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "tcc/Support/Error.h"

using namespace mlir;

namespace tcc::torchexport {

llvm::Error GraphImporter::importInPlace(Scope &scope, Draft &draft,
                                         const InPlaceSemantics &semantics) {
  if (!semantics.others.empty())
    return importOuts(scope, draft, semantics);
  auto changed = draft.operand(semantics.argument);
  if (!changed || draft.outs.size() > 1)
    return userError("this in-place operator is not supported");
  AliasTracker::Id id = draft.operandIds[*changed];
  draft.target = semantics.functional;
  std::string out = draft.outs.empty() ? "" : draft.outs[0];
  bool resized = semantics.argument == "out" || StringRef(draft.target).starts_with("resize");
  resized &= !draft.types.empty(); // an empty tensor grows
  if (!semantics.changesShape && !resized)
    draft.types = {draft.operands[*changed].getType()};
  else if (draft.types.empty())
    return userError("this in-place operator is not supported");
  draft.outs = {out};
  if (semantics.argument == "out")
    llvm::erase_if(draft.attrs, [](NamedAttribute a) { return a.getName() == "out"; });
  graph::NodeOp op = create(draft);
  if (semantics.changesShape) {
    AliasTracker::Id view = scope.aliases.defineView(id, op, *changed, 0);
    for (auto &entry : scope.names)
      if (entry.second == id)
        entry.second = view;
    return define(scope, out, view);
  }
  if (llvm::Error error = scope.aliases.write(b, id, op.getResult(0)))
    return error;
  return define(scope, out, id);
}

/// Batch and instance normalisation in training write the running statistics that they are given.
llvm::Error GraphImporter::importNorm(Scope &scope, Draft &draft) {
  auto mean = draft.operand("running_mean"), var = draft.operand("running_var");
  if (!mean || !var)
    return userError("running_mean without running_var");
  // An instance norm has no results between its own and the statistics.
  bool instances = StringRef(draft.target).starts_with("instance_norm");
  if (!instances)
    draft.target = "_native_batch_norm_legit_functional.default";
  llvm::erase_if(draft.attrs, [](NamedAttribute a) { return a.getName() == "cudnn_enabled"; });
  Type statistics = draft.operands[*mean].getType();
  size_t own = draft.outs.size(), first = instances ? 1 : 3;
  while (draft.outs.size() < first + 2) {
    draft.outs.push_back("");
    draft.types.push_back(statistics);
  }
  graph::NodeOp op = create(draft);
  for (size_t i = 0; i < own; ++i)
    if (llvm::Error error = define(scope, draft.outs[i], scope.aliases.define(op.getResult(i))))
      return error;
  if (llvm::Error error = scope.aliases.write(b, draft.operandIds[*mean], op.getResult(first)))
    return error;
  return scope.aliases.write(b, draft.operandIds[*var], op.getResult(first + 1));
}

/// Several results into as many tensors: `max(x, 1, out=(values, indices))`.
llvm::Error GraphImporter::importOuts(Scope &scope, Draft &draft,
                                      const InPlaceSemantics &semantics) {
  SmallVector<StringRef> names = {semantics.argument};
  names.append(semantics.others.begin(), semantics.others.end());
  SmallVector<AliasTracker::Id> ids;
  for (StringRef name : names)
    if (auto operand = draft.operand(name))
      ids.push_back(draft.operandIds[*operand]);
  if (ids.size() != names.size() || draft.outs.size() != names.size() ||
      draft.types.size() != names.size())
    return userError("this in-place operator is not supported");
  draft.target = semantics.functional;
  llvm::erase_if(draft.attrs, [&](NamedAttribute a) {
    return llvm::is_contained(names, a.getName().getValue());
  });
  graph::NodeOp op = create(draft);
  for (auto [i, id] : llvm::enumerate(ids)) {
    if (llvm::Error error = scope.aliases.write(b, id, op.getResult(i)))
      return error;
    if (llvm::Error error = define(scope, draft.outs[i], id))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
