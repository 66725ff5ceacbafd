//===- FunctionCalls.cpp - Functions of the model and of the schemas ------===//
//
// A call is imported as the nodes of its body in a scope of its own: formal
// inputs stand for the caller's values, `ref_attr_name` for the caller's
// attributes. The body of a schema's function may hold the nodes of a subgraph
// that the caller gave (SequenceMap), so its scope sees the caller's names.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "tcc/Support/Error.h"

using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::Twine;

/// Functions that call functions; torch's exporter stays below ten.
static constexpr size_t kMaxCallDepth = 64;
/// Names of calls within calls grow no further.
static constexpr size_t kMaxPrefix = 1000;

AttributeMap GraphImporter::bindAttributes(const onnx::FunctionProto &function,
                                           const onnx::OpSchema *schema, const NodeView &node,
                                           Scope &body) const {
  AttributeMap arguments;
  auto bind = [&](const std::string &name, const onnx::AttributeProto *otherwise) {
    auto given = node.attributes.find(name);
    if (given != node.attributes.end())
      arguments.insert_or_assign(name, given->second);
    else if (otherwise)
      arguments.insert_or_assign(name, BoundAttribute{otherwise, &body});
  };
  if (schema)
    for (const auto &[name, attribute] : schema->attributes())
      bind(name, attribute.default_value.has_name() ? &attribute.default_value : nullptr);
  for (const std::string &name : function.attribute())
    bind(name, nullptr);
  for (const onnx::AttributeProto &attribute : function.attribute_proto())
    bind(attribute.name(), &attribute);
  return arguments;
}

Error GraphImporter::call(const onnx::FunctionProto &function, const onnx::OpSchema *schema,
                          const NodeView &node, Scope &caller) {
  if (llvm::is_contained(calls, &function))
    return file.error(node.proto, "the function calls itself");
  if (calls.size() >= kMaxCallDepth)
    return file.error(node.proto,
                      "functions call each other more than " + Twine(kMaxCallDepth) + " deep");
  if (node.proto.input_size() > function.input_size() ||
      node.proto.output_size() > function.output_size())
    return file.error(node.proto, "has " + Twine(node.proto.input_size()) + " inputs and " +
                                      Twine(node.proto.output_size()) +
                                      " outputs, but the function takes " +
                                      Twine(function.input_size()) + " and gives " +
                                      Twine(function.output_size()));
  Scope scope;
  AttributeMap arguments = bindAttributes(function, schema, node, scope);
  OpsetMap opsets = opsetMap(function.opset_import());
  for (const auto &[domain, version] : *caller.opsets)
    opsets.try_emplace(domain, version);
  scope.parent = schema ? &caller : nullptr;
  scope.opsets = &opsets;
  scope.arguments = &arguments;
  const std::string &name = node.proto.name().empty() && node.proto.output_size()
                                ? node.proto.output(0)
                                : node.proto.name();
  scope.prefix =
      caller.prefix.size() < kMaxPrefix ? caller.prefix + cleanName(name) + "/" : caller.prefix;
  for (const onnx::ValueInfoProto &info : function.value_info())
    scope.declared[info.name()] = &info.type();
  for (int i = 0; i < function.input_size(); ++i)
    if (Error error =
            define(scope, function.input(i), node.hasInput(i) ? *node.inputs[i] : GraphValue()))
      return error;

  calls.push_back(&function);
  // The body of a schema's function is short-lived: its graphs must not be known
  // by their addresses later.
  Captures outer;
  if (schema)
    std::swap(outer, captures);
  Error error = importNodes(function.node(), scope);
  if (schema)
    std::swap(outer, captures);
  calls.pop_back();
  if (error)
    return error;
  for (int i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty())
      continue;
    const GraphValue *result = scope.lookup(function.output(i));
    if (!result)
      return file.error(node.proto, "output '" + printable(function.output(i)) +
                                        "' of its function is made by no node");
    if (Error error = define(caller, node.proto.output(i), *result))
      return error;
  }
  return Error::success();
}
