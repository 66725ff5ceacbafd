//===- Vmap.cpp - torch.vmap is a map over the batch ----------------------===//
//
// A program that is saved as it was traced has torch.vmap as calls around the nodes that it runs:
//
//   _vmap_increment_nesting(5, 'error')
//   a = _add_batch_dim(x, 0, 1)         a row of x along axis 0, on level 1
//   y = sin(a) * w                      as if there were one row
//   z = _remove_batch_dim(y, 1, 5, 0)   the y of all rows, along axis 0
//   _vmap_decrement_nesting()
//
// The nodes between become the subgraph of a map over the rows, what they use from outside its
// further operands. Random numbers are then others in each row; that they be the same is refused.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tcc::torchexport {

static bool isCall(const Node &node, StringRef name) {
  StringRef target = node.target;
  return target.consume_front("torch._functorch.predispatch.") && target == name;
}

bool isVmap(const Node &node) { return isCall(node, "_vmap_increment_nesting"); }
bool isVmapSetup(const Node &node) { return isCall(node, "lazy_load_decompositions"); }

/// How many levels are open after the node.
static size_t levelsAfter(const Node &node, size_t open) {
  return open + isVmap(node) - isCall(node, "_vmap_decrement_nesting");
}

static std::optional<int64_t> integerAt(const Node &node, size_t place) {
  if (place >= node.inputs.size() || node.inputs[place].arg.kind != "as_int")
    return std::nullopt;
  return node.inputs[place].arg.value->getAsInteger();
}

/// Calls `visit` with every tensor or number that an argument names.
static void forEachName(const Argument &argument,
                        llvm::function_ref<void(const Argument &)> visit) {
  if (argument.kind == "as_graph" || !argument.value)
    return;
  if (const llvm::json::Array *list = argument.value->getAsArray()) {
    for (const llvm::json::Value &element : *list)
      forEachName({argument.kind, &element}, visit);
    return;
  }
  const llvm::json::Object *object = argument.value->getAsObject();
  if (!object)
    return;
  if (referredName(*argument.value))
    return visit(argument);
  for (const auto &[kind, value] : *object) // one of a union
    forEachName({kind, &value}, visit);
}

static RankedTensorType withAxisMoved(RankedTensorType type, int64_t from, int64_t to) {
  SmallVector<int64_t> shape(type.getShape());
  int64_t extent = shape[from];
  shape.erase(shape.begin() + from);
  shape.insert(shape.begin() + to, extent);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The operand of a draft alone, its axis `from` moved to `to`.
AliasTracker::Id GraphImporter::moveAxis(Scope &scope, Location loc, AliasTracker::Id id,
                                         int64_t from, int64_t to) {
  if (from == to)
    return id;
  Draft draft{"aten", "movedim.int", loc};
  draft.operandIds = {id};
  draft.operands = {scope.aliases.read(b, id)};
  draft.attrs = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                 b.getNamedAttr("source", b.getI64IntegerAttr(from)),
                 b.getNamedAttr("destination", b.getI64IntegerAttr(to))};
  draft.outs = {""};
  draft.types = {withAxisMoved(cast<RankedTensorType>(draft.operands[0].getType()), from, to)};
  return scope.aliases.define(create(draft).getResult(0));
}

llvm::Error GraphImporter::importVmap(Scope &scope, ArrayRef<Node> nodes, size_t &count) {
  count = 0;
  for (size_t open = 0; count == 0 || open > 0; ++count) {
    if (count == nodes.size())
      return userError("a vmap that does not end");
    open = levelsAfter(nodes[count], open);
  }
  const Node &first = nodes.front();
  if (first.inputs.size() > 1 && first.inputs[1].arg.kind == "as_string" &&
      first.inputs[1].arg.value->getAsString() == "same")
    return userError("vmap with randomness='same' is not supported");
  Location loc = sourceLocation(b.getContext(), first);
  Draft map{"higher_order", "map_impl", loc};
  auto body = std::make_unique<Graph>();
  body->tensors = scope.graph.tensors;
  body->integers = scope.graph.integers;
  SmallVector<Attribute> rows, fixed;
  auto give = [&](SmallVector<Attribute> &list, AliasTracker::Id id) {
    list.push_back(graph::OperandAttr::get(b.getContext(), map.operands.size()));
    map.operandIds.push_back(id);
    map.operands.push_back(scope.aliases.read(b, id));
  };
  SmallVector<const Node *> results;
  llvm::StringSet<> own;
  size_t open = 0;
  for (const Node &node : nodes.slice(1, count - 2)) {
    for (const Argument &output : node.outputs)
      forEachName(output, [&](const Argument &a) { own.insert(*referredName(*a.value)); });
    bool isOwn = open == 0;
    open = levelsAfter(node, open);
    bool adds = isOwn && isCall(node, "_add_batch_dim");
    bool removes = isOwn && isCall(node, "_remove_batch_dim");
    if (!adds && !removes) {
      body->nodes.push_back(node);
      continue;
    }
    auto axis = integerAt(node, adds ? 1 : 3);
    auto name = node.inputs.empty() ? std::nullopt : referredName(*node.inputs[0].arg.value);
    if (!axis || !name || node.outputs.size() != 1 || !referredName(*node.outputs[0].value))
      return userError("a vmap with arguments that are not understood");
    if (removes) {
      results.push_back(&node);
      body->outputs.push_back(node.inputs[0].arg);
      continue;
    }
    auto id = lookup(scope, *name);
    if (!id)
      return id.takeError();
    auto type = cast<RankedTensorType>(scope.aliases.read(b, *id).getType());
    if (*axis < 0 || *axis >= type.getRank())
      return userError("a vmap over an axis that is not there");
    give(rows, moveAxis(scope, loc, *id, *axis, 0));
    body->inputs.push_back(node.outputs[0]);
  }
  if (rows.empty() || results.empty())
    return userError("a vmap of nothing");
  llvm::Error problem = llvm::Error::success();
  auto capture = [&](const Argument &argument) {
    StringRef name = *referredName(*argument.value);
    if (problem || !own.insert(name).second)
      return;
    auto id = lookup(scope, name);
    if (!id)
      return (void)(problem = id.takeError());
    if (!isa<RankedTensorType>(scope.aliases.read(b, *id).getType()))
      return (void)(problem =
                        userError("a vmap with numbers that only a run knows is not supported; "
                                  "save program.run_decompositions()"));
    give(fixed, *id);
    body->inputs.push_back({"as_tensor", argument.value});
  };
  for (const Node &node : body->nodes)
    for (const NamedArgument &input : node.inputs)
      forEachName(input.arg, capture);
  for (const Argument &output : body->outputs)
    forEachName(output, capture);
  if (problem)
    return problem;
  map.attrs = {b.getNamedAttr("xs", b.getArrayAttr(rows)),
               b.getNamedAttr("pos_args", b.getArrayAttr(fixed))};
  map.graphs.emplace_back("f", std::move(body));
  SmallVector<int64_t> axes;
  for (const Node *result : results) {
    auto type = typeOf(scope, *referredName(*result->outputs[0].value));
    if (!type)
      return type.takeError();
    int64_t axis = *integerAt(*result, 3), rank = type->getRank();
    axes.push_back(axis < 0 ? axis + rank : axis);
    if (axes.back() < 0 || axes.back() >= rank)
      return userError("a vmap over an axis that is not there");
    map.outs.push_back("");
    map.types.push_back(withAxisMoved(*type, axes.back(), 0));
  }
  graph::NodeOp op = create(map);
  if (llvm::Error error = importRegions(scope, map, op))
    return error;
  for (auto [i, result] : llvm::enumerate(results)) {
    AliasTracker::Id id = scope.aliases.define(op.getResult(i));
    id = moveAxis(scope, loc, id, 0, axes[i]);
    if (llvm::Error error = define(scope, *referredName(*result->outputs[0].value), id))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
