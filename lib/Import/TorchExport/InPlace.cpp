//===- InPlace.cpp - Nodes that write to their operands -------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "tcc/Support/Error.h"

using namespace mlir;

namespace tcc::torchexport {

/// One result for each tensor written to: `add_` has one, `max(x, 1, out=(values, indices))` two.
llvm::Error GraphImporter::importInPlace(Scope &scope, Draft &draft,
                                         const InPlaceSemantics &semantics) {
  SmallVector<StringRef> names = {semantics.argument};
  for (StringRef name : semantics.others)
    if (!semantics.isStep || draft.operand(name))
      names.push_back(name);
  SmallVector<unsigned> changed;
  for (StringRef name : names)
    if (auto operand = draft.operand(name))
      changed.push_back(*operand);
  if (changed.size() != names.size() || draft.outs.size() > names.size())
    return userError("this in-place operator is not supported");
  SmallVector<AliasTracker::Id> ids;
  for (unsigned operand : changed)
    ids.push_back(draft.operandIds[operand]);
  draft.target = semantics.functional;
  draft.outs.resize(names.size());
  bool typesKnown = draft.types.size() == names.size();
  // What `out=` names takes the result's shape: an empty tensor grows.
  bool ownTypes =
      semantics.changesShape || semantics.isOut || StringRef(draft.target).starts_with("resize");
  if (semantics.changesShape && !typesKnown)
    return userError("this in-place operator is not supported");
  if (!ownTypes || !typesKnown) {
    draft.types.clear();
    for (unsigned operand : changed)
      draft.types.push_back(draft.operands[operand].getType());
  }
  if (semantics.isOut)
    llvm::erase_if(draft.attrs, [&](NamedAttribute a) {
      return llvm::is_contained(names, a.getName().getValue());
    });
  graph::NodeOp op = create(draft);
  if (semantics.changesShape) {
    AliasTracker::Id view = scope.aliases.defineView(ids[0], op, changed[0], 0);
    for (auto &entry : scope.names)
      if (entry.second == ids[0])
        entry.second = view;
    return define(scope, draft.outs[0], view);
  }
  for (auto [i, id] : llvm::enumerate(ids)) {
    if (semantics.isStep && names[i] == "grads" && !draft.operand("grad_scale"))
      continue;
    if (llvm::Error error = scope.aliases.write(b, id, op.getResult(i)))
      return error;
    if (llvm::Error error = define(scope, draft.outs[i], id))
      return error;
  }
  return llvm::Error::success();
}

/// Batch and instance normalisation in training write the running statistics that they are given.
llvm::Error GraphImporter::importNorm(Scope &scope, Draft &draft) {
  auto mean = draft.operand("running_mean"), var = draft.operand("running_var");
  if (!mean || !var)
    return userError("running_mean without running_var");
  // An instance norm has no results between its own and the statistics.
  StringRef target = draft.target;
  bool instances = target.starts_with("instance_norm");
  bool reserves = target.starts_with("_batch_norm_with_update");
  if (!instances)
    draft.target = reserves ? "_batch_norm_with_update_functional.default"
                            : "_native_batch_norm_legit_functional.default";
  llvm::erase_if(draft.attrs, [](NamedAttribute a) { return a.getName() == "cudnn_enabled"; });
  Type statistics = draft.operands[*mean].getType();
  size_t own = draft.outs.size(), first = instances ? 1 : reserves ? 4 : 3;
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

} // namespace tcc::torchexport
