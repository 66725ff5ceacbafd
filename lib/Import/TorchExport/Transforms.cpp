//===- Transforms.cpp - torch.func's transforms of functions -----------------===//
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
// Likewise torch.func.jvp, whose subgraph is run and differentiated in forward mode:
//
//   _jvp_increment_nesting(), _enter_dual_level()
//   a = _make_dual(x, t, level=0)       x, which changes by t
//   y = sin(a) * w                      as if it did not change
//   z, d = _unpack_dual(y, level=0)     and by how much y changes
//   u = _unwrap_for_grad(z, 1)          another name
//   _exit_dual_level(level=0), _jvp_decrement_nesting()
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

static bool isVmap(const Node &node) { return isCall(node, "_vmap_increment_nesting"); }
static bool isJvp(const Node &node) { return isCall(node, "_jvp_increment_nesting"); }
bool isTransform(const Node &node) { return isVmap(node) || isJvp(node); }
bool isVmapSetup(const Node &node) { return isCall(node, "lazy_load_decompositions"); }

/// How many levels of vmap or jvp are open after the node.
static size_t levelsAfter(const Node &node, size_t open, bool ofJvp) {
  bool opens = ofJvp ? isJvp(node) : isVmap(node);
  return open + opens - isCall(node, ofJvp ? "_jvp_decrement_nesting" : "_vmap_decrement_nesting");
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

/// What the nodes between a transform's calls make.
static llvm::StringSet<> namesOf(ArrayRef<Node> nodes) {
  llvm::StringSet<> names;
  for (const Node &node : nodes)
    for (const Argument &output : node.outputs)
      forEachName(output, [&](const Argument &a) { names.insert(*referredName(*a.value)); });
  return names;
}

/// Gives the subgraph what its nodes use and `own`, the names of what they make, lacks.
llvm::Error GraphImporter::captureOthers(Scope &scope, Graph &body, llvm::StringSet<> own,
                                         llvm::function_ref<void(AliasTracker::Id)> give) {
  llvm::Error problem = llvm::Error::success();
  auto capture = [&](const Argument &argument) {
    StringRef name = *referredName(*argument.value);
    if (problem || !own.insert(name).second)
      return;
    auto id = lookup(scope, name);
    if (!id)
      return (void)(problem = id.takeError());
    bool tensor = scope.graph.tensors.contains(name);
    auto type = dyn_cast<RankedTensorType>(scope.aliases.read(b, *id).getType());
    if (!type || (!tensor && type != RankedTensorType::get({}, b.getI64Type())))
      return (void)(problem = userError("a transform with numbers that only a run knows is not "
                                        "supported; save program.run_decompositions()"));
    give(*id);
    body.inputs.push_back({tensor ? "as_tensor" : "as_sym_int", argument.value});
  };
  for (const Node &node : body.nodes)
    for (const NamedArgument &input : node.inputs)
      forEachName(input.arg, capture);
  for (const Argument &output : body.outputs)
    forEachName(output, capture);
  return problem;
}

llvm::Error GraphImporter::importTransform(Scope &scope, ArrayRef<Node> nodes, size_t &count) {
  count = 0;
  bool jvp = isJvp(nodes.front());
  for (size_t open = 0; count == 0 || open > 0; ++count) {
    if (count == nodes.size())
      return userError(jvp ? "a jvp that does not end" : "a vmap that does not end");
    open = levelsAfter(nodes[count], open, jvp);
  }
  return jvp ? importJvp(scope, nodes.take_front(count))
             : importVmap(scope, nodes.take_front(count));
}

llvm::Error GraphImporter::importVmap(Scope &scope, ArrayRef<Node> nodes) {
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
  nodes = nodes.drop_front().drop_back();
  size_t open = 0;
  for (const Node &node : nodes) {
    bool isOwn = open == 0;
    open = levelsAfter(node, open, /*ofJvp=*/false);
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
  if (llvm::Error error = captureOthers(scope, *body, namesOf(nodes),
                                        [&](AliasTracker::Id id) { give(fixed, id); }))
    return error;
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

llvm::Error GraphImporter::importJvp(Scope &scope, ArrayRef<Node> nodes) {
  Location loc = sourceLocation(b.getContext(), nodes.front());
  nodes = nodes.drop_front().drop_back();
  Draft jvp{"higher_order", "jvp", loc};
  auto body = std::make_unique<Graph>();
  body->tensors = scope.graph.tensors;
  body->integers = scope.graph.integers;
  SmallVector<Attribute> primals, tangents, fixed;
  auto give = [&](SmallVector<Attribute> &list, AliasTracker::Id id) {
    list.push_back(graph::OperandAttr::get(b.getContext(), jvp.operands.size()));
    jvp.operandIds.push_back(id);
    jvp.operands.push_back(scope.aliases.read(b, id));
  };
  auto nameAt = [](const Node &node, size_t i) -> std::optional<StringRef> {
    bool there = i < node.inputs.size() && node.inputs[i].arg.kind == "as_tensor";
    return there ? referredName(*node.inputs[i].arg.value) : std::nullopt;
  };
  auto resultOf = [](const Node &node, size_t i) -> std::optional<StringRef> {
    return i < node.outputs.size() ? referredName(*node.outputs[i].value) : std::nullopt;
  };
  // Two results of the node for each of the subgraph: the value and its tangent.
  llvm::StringSet<> unpacked;
  auto result = [&](StringRef value, const Argument &from, StringRef tangent) -> llvm::Error {
    auto type = typeOf(scope, value);
    if (!type)
      return type.takeError();
    body->outputs.push_back(from);
    jvp.outs.append({value.str(), tangent.str()});
    jvp.types.append({*type, *type});
    return llvm::Error::success();
  };
  SmallVector<std::pair<StringRef, StringRef>> aliases;
  size_t open = 0;
  for (const Node &node : nodes) {
    bool isOwn = open == 0;
    open = levelsAfter(node, open, /*ofJvp=*/true);
    StringRef target = node.target;
    if (isCall(node, "_enter_dual_level") || isCall(node, "_exit_dual_level") ||
        target == "torch.ops.aten._make_dual.default" ||
        target == "torch.ops.aten._unpack_dual.default")
      continue; // what the calls of the same name do
    bool makes = isOwn && isCall(node, "_make_dual"),
         unpacks = isOwn && isCall(node, "_unpack_dual");
    bool unwraps = isOwn && open == 0 && isCall(node, "_unwrap_for_grad");
    if (!makes && !unpacks && !unwraps) {
      body->nodes.push_back(node);
      continue;
    }
    auto first = nameAt(node, 0), second = nameAt(node, 1), to = resultOf(node, 0);
    if (!first || !to || (makes && !second) || node.outputs.size() != (unpacks ? 2 : 1))
      return userError("a jvp with arguments that are not understood");
    if (makes) {
      auto primal = lookup(scope, *first), tangent = lookup(scope, *second);
      if (!primal || !tangent)
        return llvm::joinErrors(primal.takeError(), tangent.takeError());
      give(primals, *primal);
      give(tangents, *tangent);
      body->inputs.push_back(node.outputs[0]);
    } else if (unpacks) {
      if (llvm::Error error = result(*to, node.inputs[0].arg, resultOf(node, 1).value_or("")))
        return error;
      unpacked.insert(*to);
      unpacked.insert(resultOf(node, 1).value_or(""));
    } else if (unpacked.contains(*first)) {
      aliases.push_back({*to, *first});
    } else if (llvm::Error error = result(*to, node.inputs[0].arg, "")) {
      return error;
    }
  }
  if (primals.empty() || jvp.outs.empty())
    return userError("a jvp of nothing");
  if (llvm::Error error = captureOthers(scope, *body, namesOf(nodes),
                                        [&](AliasTracker::Id id) { give(fixed, id); }))
    return error;
  jvp.attrs = {b.getNamedAttr("primals", b.getArrayAttr(primals)),
               b.getNamedAttr("tangents", b.getArrayAttr(tangents)),
               b.getNamedAttr("pos_args", b.getArrayAttr(fixed))};
  jvp.graphs.emplace_back("f", std::move(body));
  graph::NodeOp op = create(jvp);
  if (llvm::Error error = importRegions(scope, jvp, op))
    return error;
  if (llvm::Error error = defineResults(scope, jvp, op))
    return error;
  for (auto [name, from] : aliases) {
    auto id = lookup(scope, from);
    if (!id)
      return id.takeError();
    if (llvm::Error error = define(scope, name, *id))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
