//===- GraphImporter.cpp - Walks graphs and nodes -------------------------===//
//
// One pass over the nodes in order, with a table of names for each graph. What
// is known of a value - its type, the elements of small constants and shape
// vectors - stands in the table, so inference runs with each node and calls of
// functions are imported in place, in a scope of their own, with no copy or
// renaming of the body.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "Inference.h"
#include "NodeCheck.h"
#include "NodeOrder.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

std::string onnximport::domainName(StringRef domain) {
  return domain.empty() || domain == "ai.onnx" ? "onnx" : domain.str();
}

Expected<OpsetMap> onnximport::readOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports) {
  OpsetMap opsets;
  for (const onnx::OperatorSetIdProto &import : imports) {
    std::string domain = domainName(import.domain());
    auto newest = newestOpset(domain);
    if (import.version() < 1 || import.version() > INT32_MAX)
      return userError("opset_import of domain '" + printable(domain) + "' has version " +
                       Twine(import.version()));
    if (newest && import.version() > *newest)
      return userError("opset " + Twine(import.version()) + " of domain '" + printable(domain) +
                       "' is newer than " + Twine(*newest) +
                       ", the newest that is known; export with an older opset");
    auto known = opsets.try_emplace(domain, import.version());
    if (!known.second && known.first->second != import.version())
      return userError("opset_import names domain '" + printable(domain) +
                       "' twice, with different versions");
  }
  return opsets;
}

GraphImporter::GraphImporter(const ModelFile &file, const ImportOptions &options,
                             const DimFacts &dims, WeightTable &weights, OpBuilder &builder,
                             Block &entry)
    : file(file), options(options), dims(dims), builder(builder), entry(entry),
      external(file.path(), options.fileRead), reader(file, external),
      constants(file, reader, weights, builder),
      fileName(builder.getStringAttr(cleanName(llvm::sys::path::filename(file.path())))) {}

onnx::TypeProto GraphImporter::declaredType(const onnx::TypeProto &type) const {
  return normalized(type, dims.bindings, dims.shapesChanged);
}

Error GraphImporter::define(Scope &scope, StringRef name, GraphValue value) {
  if (name.empty())
    return file.error("a value has no name");
  if (!scope.values.try_emplace(name, std::move(value)).second)
    return file.error("the name '" + printable(name) + "' is defined twice");
  return Error::success();
}

Error GraphImporter::importInitializers(const onnx::GraphProto &graph, Scope &scope) {
  auto add = [&](const auto &proto, StringRef name) -> Error {
    auto known = scope.values.find(name);
    if (known != scope.values.end() && isa_and_nonnull<BlockArgument>(known->second.value))
      return Error::success(); // a default that the user replaces by an input
    auto tensor = reader.read(proto, "initializer '" + printable(name) + "'");
    if (!tensor)
      return tensor.takeError();
    tensor->weight.role = WeightRole::Parameter;
    Location loc =
        NameLoc::get(builder.getStringAttr(cleanName(name)), FileLineColLoc::get(fileName, 0, 0));
    auto value = constants.value(std::move(*tensor), scope.prefix + name.str(), loc);
    return value ? define(scope, name, std::move(*value)) : value.takeError();
  };
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (Error error = add(tensor, tensor.name()))
      return error;
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    if (Error error = add(tensor, tensor.values().name()))
      return error;
  return Error::success();
}

Error GraphImporter::importBody(const onnx::GraphProto &graph, Scope &scope) {
  for (const onnx::ValueInfoProto &info : graph.value_info())
    scope.declared[info.name()] = &info.type();
  for (const onnx::ValueInfoProto &info : graph.output())
    scope.declared[info.name()] = &info.type();
  if (Error error = importInitializers(graph, scope))
    return error;
  return importNodes(graph.node(), scope);
}

Expected<GraphValue> GraphImporter::outputValue(const onnx::GraphProto &graph, StringRef name,
                                                Scope &scope) {
  const GraphValue *value = scope.lookup(name);
  if (!value || !value->value)
    return file.error("output '" + printable(name) + "' of graph '" + printable(graph.name()) +
                      "' is made by no node");
  return *value;
}

Error GraphImporter::importNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
                                 Scope &scope) {
  std::vector<int> cycle;
  std::vector<int> order = orderNodes(nodes, captures, cycle);
  if (!cycle.empty()) {
    constexpr size_t kNamed = 5;
    std::string names;
    for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i)
      names += (i ? " -> " : "") + describe(nodes[cycle[i]]);
    return file.error(Twine(cycle.size()) + " nodes depend on each other in a cycle: " + names +
                      (cycle.size() > kNamed ? " -> ..." : ""));
  }
  for (int index : order)
    if (Error error = importNode(nodes[index], index, scope))
      return error;
  return Error::success();
}

Location GraphImporter::locationOf(const onnx::NodeProto &proto, int index, const Scope &scope) {
  StringRef name = proto.name();
  for (int i = 0; name.empty() && i < proto.output_size(); ++i)
    name = proto.output(i);
  auto place = FileLineColLoc::get(fileName, index + 1, 0);
  return NameLoc::get(builder.getStringAttr(cleanName(scope.prefix + name.str())), place);
}

Expected<NodeView> GraphImporter::viewNode(const onnx::NodeProto &proto, Scope &scope) {
  NodeView node{proto, domainName(proto.domain()), 0, {}, {}};
  if (proto.op_type().empty())
    return file.error(proto, "has no op_type");
  auto opset = scope.opsets->find(node.domain);
  if (opset == scope.opsets->end())
    return file.error(proto, "its domain '" + printable(node.domain) +
                                 "' is not among the opset imports of its " +
                                 (calls.empty() ? "model" : "function"));
  node.version = opset->second;
  for (const onnx::AttributeProto &attribute : proto.attribute()) {
    BoundAttribute bound{&attribute, &scope};
    if (!attribute.ref_attr_name().empty()) {
      if (!scope.arguments)
        return file.error(proto, "attribute '" + printable(attribute.name()) +
                                     "' refers to a function's attribute outside a function");
      auto argument = scope.arguments->find(attribute.ref_attr_name());
      if (argument == scope.arguments->end())
        continue; // left out by the caller: the operator's default holds
      bound = argument->second;
    }
    if (attribute.name().empty())
      return file.error(proto, "has an attribute without a name");
    if (!node.attributes.try_emplace(attribute.name(), bound).second)
      return file.error(proto, "has attribute '" + printable(attribute.name()) + "' twice");
  }
  for (const std::string &name : proto.input()) {
    const GraphValue *value = name.empty() ? nullptr : scope.lookup(name);
    if (!name.empty() && !value)
      return file.error(proto, "its input '" + printable(name) +
                                   "' is defined by no node, input or initializer");
    node.inputs.push_back(value && value->value ? value : nullptr);
  }
  return node;
}

Error GraphImporter::importConstant(const NodeView &node, Scope &scope, Location loc) {
  if (node.proto.output_size() != 1 || node.proto.input_size() != 0)
    return file.error(node.proto, "a constant has one output and no input");
  auto tensor = constants.constantNode(node);
  if (!tensor)
    return tensor.takeError();
  auto value = constants.value(std::move(*tensor), scope.prefix + node.proto.output(0), loc);
  if (!value)
    return value.takeError();
  return define(scope, node.proto.output(0), std::move(*value));
}

Error GraphImporter::importNode(const onnx::NodeProto &proto, int index, Scope &scope) {
  if (++nodeCount > kMaxNodes)
    return file.error("its functions expand to more than " + Twine(kMaxNodes) + " nodes");
  auto node = viewNode(proto, scope);
  if (!node)
    return node.takeError();
  Location loc = locationOf(proto, index, scope);
  if (const onnx::FunctionProto *function = localFunction(*node))
    return call(*function, nullptr, *node, scope);
  if (node->domain == "onnx" && proto.op_type() == "Constant")
    return importConstant(*node, scope, loc);
  const onnx::OpSchema *schema = findSchema(node->domain, proto.op_type(), node->version);
  if (!schema)
    if (auto since = firstVersion(node->domain, proto.op_type()))
      return file.error(proto, "opset " + Twine(node->version) +
                                   " has no such operator; it came with opset " + Twine(*since));
  if (schema && schema->deprecated()) {
    // What it was before it was given up says what it takes; inference no longer knows it.
    schema = findSchema(node->domain, proto.op_type(), schema->since_version() - 1);
    if (std::string why = schema ? checkNode(*node, *schema) : ""; !why.empty())
      return file.error(proto, why);
    schema = nullptr;
  }
  if (schema) {
    if (std::string why = checkNode(*node, *schema); !why.empty())
      return file.error(proto, why);
    if (options.hasRule && !options.hasRule(node->domain, proto.op_type(), node->version))
      if (auto body = functionBody(*node, *schema))
        return call(*body, schema, *node, scope);
  }
  return buildNode(*node, schema, scope, loc);
}
