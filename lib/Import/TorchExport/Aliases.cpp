#include "Import/TorchExport/Aliases.h"

using namespace mlir;

namespace tcc::torchexport {

AliasTracker::Id AliasTracker::define(Value value) {
  aliases.push_back({});
  aliases.back().value = value;
  return aliases.size() - 1;
}

AliasTracker::Id AliasTracker::defineView(Id source, graph::NodeOp view, unsigned operand,
                                          unsigned result) {
  Alias alias;
  alias.value = view.getResult(result);
  alias.version = aliases[storageOf(source)].version;
  alias.source = source;
  alias.view = view;
  alias.operand = operand;
  alias.result = result;
  aliases.push_back(alias);
  return aliases.size() - 1;
}

AliasTracker::Id AliasTracker::storageOf(Id id) const {
  while (aliases[id].source)
    id = *aliases[id].source;
  return id;
}

Value AliasTracker::read(OpBuilder &builder, Id id) {
  unsigned current = aliases[storageOf(id)].version;
  // From the nearest alias that is up to date, views are made again.
  SmallVector<Id> stale;
  while (aliases[id].version != current) {
    stale.push_back(id);
    id = *aliases[id].source;
  }
  Value value = aliases[id].value;
  for (Id view : llvm::reverse(stale)) {
    Alias &alias = aliases[view];
    auto again = cast<graph::NodeOp>(builder.clone(*alias.view));
    again->setOperand(alias.operand, value);
    value = again.getResult(alias.result);
    alias.value = value;
    alias.version = current;
  }
  return value;
}

llvm::Error AliasTracker::write(OpBuilder &builder, Id id, Value value) {
  SmallVector<std::pair<Id, Value>> chain = {{id, value}};
  while (aliases[id].source) {
    const Alias alias = aliases[id];
    Value source = read(builder, *alias.source);
    auto updated = writeThrough(builder, alias.view, alias.operand, alias.result, source, value);
    if (!updated)
      return updated.takeError();
    id = *alias.source;
    value = *updated;
    chain.push_back({id, value});
  }
  unsigned version = aliases[id].version + 1;
  for (auto [alias, current] : chain) {
    aliases[alias].value = current;
    aliases[alias].version = version;
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
