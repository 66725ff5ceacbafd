//===- GraphImporter.cpp - FX nodes as graph.node ------------------------===//
//
// A node of the file becomes one graph.node with its named arguments. FX graphs write to tensors
// and their views; the IR has values only. So the importer follows which names share storage
// (AliasTracker), and a write becomes a new value of everything that sees it. Subgraphs that only
// wrap nodes are imported in place, because they write to what they are given.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "Import/TorchExport/OpSchemas.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::torchexport {

Attribute GraphImporter::Draft::attr(StringRef name) const {
  for (NamedAttribute a : attrs)
    if (a.getName() == name)
      return a.getValue();
  return {};
}

std::optional<unsigned> GraphImporter::Draft::operand(StringRef name) const {
  auto ref = dyn_cast_or_null<graph::OperandAttr>(attr(name));
  return ref ? std::optional(ref.getIndex()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

llvm::Expected<AliasTracker::Id> GraphImporter::lookup(Scope &scope, StringRef name) {
  auto it = scope.names.find(name);
  if (it != scope.names.end())
    return it->second;
  if (scope.onDemand) {
    auto value = scope.onDemand(name);
    if (!value)
      return value.takeError();
    if (*value)
      return scope.names[name] = scope.aliases.define(*value);
  }
  return userError("it uses '" + printable(name) + "', which nothing before it defines");
}

llvm::Expected<Value> GraphImporter::read(Scope &scope, StringRef name) {
  auto id = lookup(scope, name);
  if (!id)
    return id.takeError();
  return scope.aliases.read(b, *id);
}

llvm::Error GraphImporter::define(Scope &scope, StringRef name, AliasTracker::Id id) {
  if (!name.empty() && (scope.isParameter(name) || !scope.names.try_emplace(name, id).second))
    return userError("'" + printable(name) + "' is defined twice");
  return llvm::Error::success();
}

llvm::Expected<RankedTensorType> GraphImporter::typeOf(Scope &scope, StringRef name) {
  auto meta = scope.graph.tensors.find(name);
  if (meta == scope.graph.tensors.end())
    return userError("no metadata for the tensor '" + printable(name) + "'");
  return shapes.type(meta->second);
}

//===----------------------------------------------------------------------===//
// Where a node comes from
//===----------------------------------------------------------------------===//

namespace {

struct SourceLine {
  StringRef file;
  unsigned line = 0;
};

/// The innermost frame of a stack trace that is not torch's own, else the
/// innermost one. Frames read: File "path", line 12, in name.
SourceLine userLine(StringRef trace) {
  SourceLine best;
  while (!trace.empty()) {
    StringRef row;
    std::tie(row, trace) = trace.split('\n');
    SourceLine frame;
    row = row.trim();
    if (!row.consume_front("File \""))
      continue;
    std::tie(frame.file, row) = row.split('"');
    if (!row.consume_front(", line ") || row.consumeInteger(10, frame.line))
      continue;
    bool ours = frame.file.contains("/torch/") || frame.file.starts_with("torch/");
    if (best.file.empty() || !ours)
      best = frame;
  }
  return best;
}

StringRef nameOf(const Node &node) {
  if (!node.name.empty() || node.outputs.empty())
    return node.name;
  return referredName(*node.outputs[0].value).value_or("");
}

/// "torch.ops.aten.add.Tensor" is ("aten", "add.Tensor"); "_operator.add" is
/// ("_operator", "add").
std::pair<StringRef, StringRef> splitTarget(StringRef target) {
  target.consume_front("torch.ops.");
  target.consume_front("#");
  return target.split(target.contains('.') ? '.' : ':');
}

bool isEmptyObject(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  return object && object->empty();
}

bool isInlined(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"wrap_with_set_grad_enabled", "wrap_with_autocast", "wrap", "hints_wrapper"}, true)
      .Cases({"tag_activation_checkpoint", "invoke_subgraph", "strict_mode"}, true)
      .Default(false);
}

} // namespace

Location sourceLocation(MLIRContext *context, const Node &node) {
  SourceLine source = userLine(node.stackTrace);
  Location line = source.file.empty() ? Location(UnknownLoc::get(context))
                                      : FileLineColLoc::get(context, source.file, source.line, 0);
  StringRef name = nameOf(node);
  return name.empty() ? line : NameLoc::get(StringAttr::get(context, name), line);
}

std::string describe(const Node &node) {
  StringRef target = node.target;
  target.consume_front("torch.ops.");
  SourceLine source = userLine(node.stackTrace);
  std::string text = "node '" + printable(nameOf(node)) + "' (" + printable(target);
  if (!source.file.empty())
    text += ", " + printable(source.file) + ":" + std::to_string(source.line);
  return text + ")";
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The argument that says whether a norm writes its running statistics, or "".
static StringRef trainingFlag(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Cases({"batch_norm", "native_batch_norm", "_native_batch_norm_legit"}, "training")
      .Case("instance_norm", "use_input_stats")
      .Default("");
}

llvm::Error GraphImporter::importNodes(Scope &scope) {
  ArrayRef<Node> left = scope.graph.nodes;
  for (size_t count = 1; !left.empty(); left = left.drop_front(std::exchange(count, 1))) {
    const Node &node = left.front();
    llvm::Error error =
        isTransform(node) ? importTransform(scope, left, count) : importNode(scope, node);
    if (error) {
      std::string cause = toString(std::move(error));
      // An error from inside a subgraph names its own node already.
      return userError(StringRef(cause).starts_with("node '") ? cause
                                                              : describe(node) + ": " + cause);
    }
  }
  return llvm::Error::success();
}

/// as_strided and resize read the storage of their operand; here that has its elements row by row
/// from the first.
static llvm::Error checkStorage(Shapes &shapes, const Scope &scope, const Node &node) {
  const TensorMeta *meta = nullptr;
  bool saysOffset = false;
  for (const NamedArgument &input : node.inputs) {
    auto name = input.arg.kind == "as_tensor" ? referredName(*input.arg.value) : std::nullopt;
    auto known = name && (input.name == "self" || input.name == "a")
                     ? scope.graph.tensors.find(*name)
                     : scope.graph.tensors.end();
    if (known != scope.graph.tensors.end())
      meta = &known->getValue();
    saysOffset |= input.name == "storage_offset" && input.arg.kind != "as_none";
  }
  if (!meta)
    return llvm::Error::success();
  if (!shapes.isContiguous(*meta))
    return userError("reads the storage of a tensor whose elements do not lie row by row: call "
                     ".contiguous() on it first");
  if (saysOffset && meta->offset.value != 0)
    return userError("reads the storage of a tensor that is part of another one: call .clone() on "
                     "it first");
  return llvm::Error::success();
}

llvm::Error GraphImporter::importNode(Scope &scope, const Node &node) {
  auto [domain, target] = splitTarget(node.target);
  StringRef op = target.split('.').first;
  if (domain == "aten" && isAnnotation(op))
    return llvm::Error::success();
  if (domain == "higher_order" && isInlined(op))
    return importInlined(scope, node);
  if (domain == "higher_order" && op == "with_effects")
    return importEffect(scope, node);
  if (domain == "_operator" && op == "getitem")
    return importGetItem(scope, node);
  if (isVmapSetup(node))
    return llvm::Error::success();
  if (domain == "torch" && target.starts_with("_functorch."))
    return userError("torch.func is not supported so; save program.run_decompositions()");
  if (std::string why = checkArguments(domain, target, node); !why.empty())
    return userError(why);
  if (domain == "aten" && isOfLists(op, node))
    return importForEach(scope, node);
  Draft draft{domain.str(), target.str(), sourceLocation(b.getContext(), node)};
  if (llvm::Error error = readArguments(scope, node, draft))
    return error;
  if (llvm::Error error = readOutputs(scope, node, draft))
    return error;
  if (scope.autocast && domain == "aten")
    castOperands(draft);
  if (op.starts_with("as_strided") || op.starts_with("resize"))
    if (llvm::Error error = checkStorage(shapes, scope, node))
      return error;
  if (domain == "aten" && op == "_batch_norm_with_update")
    return importNorm(scope, draft);
  if (StringRef flag = domain == "aten" ? trainingFlag(op) : ""; !flag.empty()) {
    auto training = dyn_cast_or_null<BoolAttr>(draft.attr(flag));
    if (training && training.getValue() && draft.operand("running_mean"))
      return importNorm(scope, draft);
  }
  if (auto inPlace = domain == "aten" ? inPlaceSemantics(target) : std::nullopt)
    return importInPlace(scope, draft, *inPlace);
  graph::NodeOp created = create(draft);
  if (llvm::Error error = importRegions(scope, draft, created))
    return error;
  return defineResults(scope, draft, created);
}

graph::NodeOp GraphImporter::create(const Draft &draft) {
  SmallVector<Attribute> outs, regions;
  for (const std::string &name : draft.outs)
    outs.push_back(b.getStringAttr(name));
  for (const auto &[name, graph] : draft.graphs)
    regions.push_back(b.getStringAttr(name));
  return graph::NodeOp::create(
      b, draft.loc, draft.types, draft.domain, draft.target, draft.operands,
      /*version=*/uint64_t(0), b.getDictionaryAttr(draft.attrs), b.getArrayAttr(outs),
      regions.empty() ? ArrayAttr() : b.getArrayAttr(regions), draft.graphs.size());
}

/// The operand whose storage the results share, if they share one.
std::optional<unsigned> GraphImporter::viewedOperand(Scope &scope, const Draft &draft) {
  StringRef op = StringRef(draft.target).split('.').first;
  auto semantics = draft.domain == "aten" ? viewSemantics(op) : std::nullopt;
  if (!semantics)
    return std::nullopt;
  auto operand = draft.operand("self");
  if (!operand)
    operand = draft.operand("input");
  if (!operand || draft.outs.empty())
    return std::nullopt;
  auto truth = [&](StringRef name) {
    auto value = dyn_cast_or_null<BoolAttr>(draft.attr(name));
    return value && value.getValue();
  };
  auto dense = [&] {
    // The metadata is kept by name; any name of the operand will do.
    for (const auto &entry : scope.names)
      if (entry.getValue() == draft.operandIds[*operand])
        if (auto meta = scope.graph.tensors.find(entry.getKey()); meta != scope.graph.tensors.end())
          return shapes.isContiguous(meta->second);
    return true;
  };
  auto resultMeta = scope.graph.tensors.find(draft.outs[0]);
  bool shares = true;
  switch (semantics->when) {
  case AliasWhen::Always:
    break;
  case AliasWhen::OperandContiguous:
    shares = dense();
    break;
  case AliasWhen::NoCopy:
    // What was copied is dense; what is not dense was not copied.
    shares = dense() ||
             (resultMeta != scope.graph.tensors.end() && !shapes.isContiguous(resultMeta->second));
    break;
  case AliasWhen::SameDType:
    shares = !truth("copy") && getElementTypeOrSelf(draft.operands[*operand].getType()) ==
                                   getElementTypeOrSelf(draft.types[0]);
    break;
  case AliasWhen::Evaluating:
    shares = !truth("train");
    break;
  }
  return shares ? operand : std::nullopt;
}

llvm::Error GraphImporter::defineResults(Scope &scope, const Draft &draft, graph::NodeOp op) {
  auto viewed = viewedOperand(scope, draft);
  for (auto [i, name] : llvm::enumerate(draft.outs)) {
    if (name.empty())
      continue;
    AliasTracker::Id id = viewed
                              ? scope.aliases.defineView(draft.operandIds[*viewed], op, *viewed, i)
                              : scope.aliases.define(op.getResult(i));
    if (llvm::Error error = define(scope, name, id))
      return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Subgraphs
//===----------------------------------------------------------------------===//

llvm::Error GraphImporter::importGetItem(Scope &scope, const Node &node) {
  const llvm::json::Value *list = nullptr, *index = nullptr;
  for (const NamedArgument &input : node.inputs)
    (input.arg.kind == "as_int" ? index : list) = input.arg.value;
  const llvm::json::Array *elements = list ? list->getAsArray() : nullptr;
  auto at = index ? index->getAsInteger() : std::nullopt;
  if (!elements || !at || *at < 0 || *at >= static_cast<int64_t>(elements->size()) ||
      node.outputs.size() != 1)
    return userError("an element that is not there");
  auto from = referredName((*elements)[*at]), to = referredName(*node.outputs[0].value);
  if (!from || !to)
    return userError("an element that is no tensor");
  auto id = lookup(scope, *from);
  return id ? define(scope, *to, *id) : id.takeError();
}

/// An operator that is called for what it does: the arguments are a token, the
/// operator and its own ones. Tokens, which the results begin with, only keep such
/// calls in order, as the nodes are already.
llvm::Error GraphImporter::importEffect(Scope &scope, const Node &node) {
  auto target = node.inputs.size() < 2 || node.inputs[1].arg.kind != "as_operator"
                    ? std::nullopt
                    : node.inputs[1].arg.value->getAsString();
  if (!target)
    return userError("names no operator");
  auto [domain, op] = splitTarget(*target);
  if (domain == "aten" && isAnnotation(op.split('.').first))
    return llvm::Error::success();
  if (domain != "aten" || op != "_linalg_check_errors.default")
    return userError("the effects of '" + printable(*target) + "' are not supported");
  Node inner = node;
  inner.inputs.erase(inner.inputs.begin(), inner.inputs.begin() + 2);
  Draft draft{domain.str(), op.str(), sourceLocation(b.getContext(), node)};
  if (llvm::Error error = readArguments(scope, inner, draft))
    return error;
  create(draft);
  return llvm::Error::success();
}

/// What a wrapped subgraph is given, in order; one value may be given twice.
SmallVector<AliasTracker::Id> GraphImporter::argumentsOf(const Draft &draft) {
  SmallVector<AliasTracker::Id> given;
  auto add = [&](Attribute value) {
    if (auto ref = dyn_cast<graph::OperandAttr>(value))
      given.push_back(draft.operandIds[ref.getIndex()]);
  };
  for (NamedAttribute a : draft.attrs)
    if (auto list = dyn_cast<ArrayAttr>(a.getValue()))
      llvm::for_each(list, add);
    else
      add(a.getValue());
  return given;
}

/// hints_wrapper is given keyword arguments, none so far, and hints, which are for other compilers.
static llvm::Expected<Node> withoutDictionaries(const Node &node) {
  Node result = node;
  llvm::erase_if(result.inputs, [](const NamedArgument &input) {
    return input.arg.kind == "as_string_to_argument" &&
           (input.name == "hints" || isEmptyObject(*input.arg.value));
  });
  for (const NamedArgument &input : result.inputs)
    if (input.arg.kind == "as_string_to_argument")
      return userError("keyword arguments of a subgraph are not supported: pass them by position");
  return result;
}

/// Operators that only wrap a subgraph: its nodes are imported in their place,
/// with the same aliases, since they may write to what they are given.
llvm::Error GraphImporter::importInlined(Scope &scope, const Node &node) {
  Draft draft{"higher_order", "", sourceLocation(b.getContext(), node)};
  auto tensors = withoutDictionaries(node);
  if (!tensors)
    return tensors.takeError();
  if (llvm::Error error = readArguments(scope, *tensors, draft))
    return error;
  if (draft.graphs.size() != 1)
    return userError("expected one subgraph");
  const Graph &graph = *draft.graphs[0].second;
  Scope inner{graph, scope.aliases};
  inner.autocast = scope.autocast;
  if (StringRef(node.target).ends_with("wrap_with_autocast")) {
    auto enabled = dyn_cast_or_null<BoolAttr>(draft.attr("arg2"));
    inner.autocast = enabled && enabled.getValue();
  }
  SmallVector<AliasTracker::Id> given = argumentsOf(draft);
  size_t next = 0;
  for (const Argument &input : graph.inputs) {
    auto name = referredName(*input.value);
    if (!name)
      continue;
    if (next == given.size())
      return userError("the subgraph has more inputs than it is given");
    if (llvm::Error error = define(inner, *name, given[next++]))
      return error;
  }
  if (llvm::Error error = importNodes(inner))
    return error;
  if (llvm::Error error = readOutputs(scope, node, draft))
    return error;
  if (draft.outs.size() != graph.outputs.size())
    return userError("the subgraph has another number of outputs");
  for (auto [name, output] : llvm::zip(draft.outs, graph.outputs)) {
    auto from = referredName(*output.value);
    if (!from || name.empty())
      continue;
    auto id = lookup(inner, *from);
    if (!id)
      return id.takeError();
    if (llvm::Error error = define(scope, name, *id))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error GraphImporter::importRegions(Scope &scope, Draft &draft, graph::NodeOp op) {
  SmallVector<Value> captured;
  bool isCond = draft.domain == "higher_order" && draft.target == "cond";
  auto list = isCond ? dyn_cast_or_null<ArrayAttr>(draft.attr("operands")) : ArrayAttr();
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto ref = dyn_cast<graph::OperandAttr>(element);
    captured.push_back(ref ? draft.operands[ref.getIndex()] : Value()); // else a number
  }
  for (auto [region, graph] : llvm::zip(op.getBodies(), draft.graphs))
    if (llvm::Error error = importRegion(region, *graph.second, captured, scope.autocast))
      return error;
  return llvm::Error::success();
}

/// Inputs are the `captured` values first, then block arguments.
llvm::Error GraphImporter::importRegion(Region &region, const Graph &graph,
                                        ArrayRef<Value> captured, bool autocast) {
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&region);
  AliasTracker aliases;
  Scope scope{graph, aliases};
  scope.autocast = autocast;
  SmallVector<AliasTracker::Id> inputs;
  for (auto [i, input] : llvm::enumerate(graph.inputs)) {
    auto name = referredName(*input.value);
    if (!name)
      continue;
    Value value = i < captured.size() ? captured[i] : Value();
    if (!value) {
      Type type = RankedTensorType::get({}, b.getI64Type());
      if (input.kind == "as_tensor") {
        auto tensor = typeOf(scope, *name);
        if (!tensor)
          return tensor.takeError();
        type = *tensor;
      }
      value = block->addArgument(type, b.getUnknownLoc());
    }
    inputs.push_back(aliases.define(value));
    if (llvm::Error error = define(scope, *name, inputs.back()))
      return error;
  }
  if (llvm::Error error = importNodes(scope))
    return error;
  if (llvm::any_of(inputs, [&](AliasTracker::Id id) { return aliases.written(id); }))
    return userError("the subgraph writes to its inputs");
  SmallVector<Value> results;
  for (const Argument &output : graph.outputs) {
    auto value = outputValue(scope, output);
    if (!value)
      return value.takeError();
    if (!*value)
      *value = graph::NoneOp::create(b, b.getUnknownLoc(), b.getNoneType());
    results.push_back(*value);
  }
  graph::YieldOp::create(b, b.getUnknownLoc(), results);
  return llvm::Error::success();
}

} // namespace tcc::torchexport
