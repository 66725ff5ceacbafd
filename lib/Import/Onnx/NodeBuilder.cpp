//===- NodeBuilder.cpp - One graph.node with its subgraphs ----------------===//
//
// Subgraphs are imported while their node's types are inferred: If, Loop and
// Scan derive the types of a body's arguments from their operands and their own
// results from what the body yields, and ONNX's inference functions do both by
// asking for the body's inference. That request builds the region.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "Inference.h"
#include "NodeCheck.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;
using onnx::AttributeProto;
using onnx::TypeProto;

Value GraphImporter::none() {
  if (!noneValue) {
    OpBuilder atStart(&entry, entry.begin());
    noneValue = graph::NoneOp::create(atStart, builder.getUnknownLoc(), builder.getNoneType());
  }
  return noneValue;
}

Expected<GraphImporter::Subgraph> GraphImporter::importSubgraph(const NodeView &node,
                                                                const onnx::GraphProto &graph,
                                                                ArrayRef<TypeProto> arguments,
                                                                Scope &outer) {
  Subgraph result{std::make_unique<Region>(), {}};
  Block &block = result.region->emplaceBlock();
  Scope scope;
  scope.parent = &outer;
  scope.opsets = outer.opsets;
  scope.arguments = outer.arguments;
  scope.prefix = outer.prefix;

  llvm::StringSet<> initialized;
  for (const auto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  size_t count = 0;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (initialized.contains(input.name()))
      continue;
    TypeProto type = count < arguments.size() ? arguments[count] : TypeProto();
    mergeDeclared(type, declaredType(input.type()));
    auto irType = convertType(builder.getContext(), type);
    if (!irType)
      return file.error(node.proto, "subgraph input '" + printable(input.name()) + "' " +
                                        llvm::toString(irType.takeError()));
    Value argument = block.addArgument(*irType, builder.getUnknownLoc());
    if (Error error = define(scope, input.name(),
                             {argument, std::move(type), nullptr, {}, /*annotated=*/true}))
      return error;
    ++count;
  }
  if (!arguments.empty() && arguments.size() != count)
    return file.error(node.proto, "gives " + Twine(arguments.size()) +
                                      " values to a subgraph that takes " + Twine(count));

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  if (Error error = importBody(graph, scope))
    return error;
  SmallVector<Value> values;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    auto value = outputValue(graph, output.name(), scope);
    if (!value)
      return value.takeError();
    values.push_back(value->value);
    result.outputs.push_back(value->type);
  }
  graph::YieldOp::create(builder, builder.getUnknownLoc(), values);
  return result;
}

/// The results without their IR values. `fault` is what ONNX's inference finds
/// wrong with the node, if only annotations can be the reason.
Expected<std::vector<GraphValue>> GraphImporter::inferResults(const NodeView &node,
                                                              const onnx::OpSchema *schema,
                                                              Scope &scope, Subgraphs &subgraphs,
                                                              std::string &fault) {
  std::vector<TypeProto> types(node.proto.output_size());
  bool annotated =
      llvm::any_of(node.inputs, [](const GraphValue *input) { return input && input->annotated; });
  if (schema) {
    auto inferSubgraph = [&](const std::string &name,
                             ArrayRef<TypeProto> arguments) -> Expected<std::vector<TypeProto>> {
      auto known = subgraphs.find(name);
      if (known != subgraphs.end())
        return known->second.outputs;
      auto attribute = node.attributes.find(name);
      if (attribute == node.attributes.end() || !attribute->second.proto->has_g())
        return std::vector<TypeProto>();
      auto subgraph =
          importSubgraph(node, attribute->second.proto->g(), arguments, *attribute->second.scope);
      if (!subgraph)
        return subgraph.takeError();
      return subgraphs.emplace(name, std::move(*subgraph)).first->second.outputs;
    };
    auto inferred = inferTypes(node, *schema, inferSubgraph, fault);
    if (!inferred)
      return inferred.takeError();
    if (!fault.empty() && !annotated && subgraphs.empty())
      return file.error(node.proto, printable(fault, 500));
    types = std::move(*inferred);
  }
  std::vector<GraphValue> results(types.size());
  for (auto [i, result] : llvm::enumerate(results)) {
    result.type = normalized(types[i], dims.bindings);
    result.annotated = annotated || !subgraphs.empty();
    auto declared = scope.declared.find(node.proto.output(static_cast<int>(i)));
    if (declared != scope.declared.end())
      result.annotated |= mergeDeclared(result.type, declaredType(*declared->second));
  }
  return results;
}

/// The subgraphs that inference did not ask for.
Error GraphImporter::importSubgraphs(const NodeView &node, Subgraphs &subgraphs) {
  auto add = [&](const std::string &name, const onnx::GraphProto &graph, Scope &scope) -> Error {
    if (subgraphs.count(name))
      return Error::success();
    auto subgraph = importSubgraph(node, graph, {}, scope);
    if (!subgraph)
      return subgraph.takeError();
    subgraphs.emplace(name, std::move(*subgraph));
    return Error::success();
  };
  for (const auto &[name, attribute] : node.attributes) {
    const AttributeProto &proto = *attribute.proto;
    if (attributeType(proto) == AttributeProto::GRAPH)
      if (Error error = add(name, proto.g(), *attribute.scope))
        return error;
    if (attributeType(proto) == AttributeProto::GRAPHS)
      for (int i = 0; i < proto.graphs_size(); ++i)
        if (Error error = add(name + "." + std::to_string(i), proto.graphs(i), *attribute.scope))
          return error;
  }
  return Error::success();
}

Expected<graph::NodeOp> GraphImporter::createNode(const NodeView &node, TypeRange types,
                                                  Subgraphs &subgraphs, Location loc) {
  SmallVector<Value> operands;
  for (const GraphValue *input : node.inputs)
    operands.push_back(input ? input->value : none());
  while (!operands.empty() && operands.back() == noneValue)
    operands.pop_back();

  SmallVector<NamedAttribute> attributes;
  for (const auto &[name, attribute] : node.attributes) {
    AttributeProto::AttributeType type = attributeType(*attribute.proto);
    if (type == AttributeProto::GRAPH || type == AttributeProto::GRAPHS)
      continue;
    auto value = constants.attribute(node, name, *attribute.proto);
    if (!value)
      return value.takeError();
    attributes.push_back(builder.getNamedAttr(cleanName(name), *value));
  }
  SmallVector<Attribute> outs, regionNames;
  for (const std::string &name : node.proto.output())
    outs.push_back(builder.getStringAttr(cleanName(name)));
  for (const auto &[name, subgraph] : subgraphs)
    regionNames.push_back(builder.getStringAttr(cleanName(name)));

  auto op = graph::NodeOp::create(
      builder, loc, types, builder.getStringAttr(cleanName(node.domain)),
      builder.getStringAttr(cleanName(node.proto.op_type())), operands,
      builder.getI64IntegerAttr(node.version),
      attributes.empty() ? DictionaryAttr() : builder.getDictionaryAttr(attributes),
      builder.getArrayAttr(outs),
      regionNames.empty() ? ArrayAttr() : builder.getArrayAttr(regionNames), subgraphs.size());
  for (auto [region, subgraph] : llvm::zip(op.getBodies(), subgraphs))
    region.takeBody(*subgraph.second.region);
  return op;
}

Error GraphImporter::buildNode(const NodeView &node, const onnx::OpSchema *schema, Scope &scope,
                               Location loc) {
  Subgraphs subgraphs;
  std::string fault;
  auto results = inferResults(node, schema, scope, subgraphs, fault);
  if (!results)
    return results.takeError();
  if (Error error = importSubgraphs(node, subgraphs))
    return error;
  SmallVector<Type> irTypes;
  std::vector<TypeProto> types;
  for (auto [name, result] : llvm::zip(node.proto.output(), *results)) {
    auto irType = name.empty() ? Expected<Type>(builder.getNoneType())
                               : convertType(builder.getContext(), result.type);
    if (!irType)
      return file.error(node.proto, "its result '" + printable(name) + "' " +
                                        llvm::toString(irType.takeError()));
    irTypes.push_back(*irType);
    types.push_back(result.type);
  }
  auto op = createNode(node, irTypes, subgraphs, loc);
  if (!op)
    return op.takeError();
  if (!fault.empty())
    (*op)->setAttr(graph::kFaultAttr, builder.getStringAttr(printable(fault, 500)));
  std::vector<std::optional<onnx::TensorShapeProto>> elements(types.size());
  if (schema)
    elements = propagateElements(node, *schema, types);
  for (auto [i, result] : llvm::enumerate(*results)) {
    const std::string &name = node.proto.output(static_cast<int>(i));
    if (name.empty())
      continue;
    result.value = op->getResult(i);
    result.elements = std::move(elements[i]);
    if (Error error = define(scope, name, std::move(result)))
      return error;
  }
  return Error::success();
}
