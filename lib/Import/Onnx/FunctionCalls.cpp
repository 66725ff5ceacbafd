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
#include "llvm/ADT/StringSet.h"

using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::Twine;

/// Functions that call functions; torch's exporter stays below ten.
static constexpr size_t kMaxCallDepth = 64;
/// Names of calls within calls grow no further.
static constexpr size_t kMaxPrefix = 1000;

/// Functions are found by domain, name and overload.
static std::string functionKey(const std::string &domain, const std::string &name,
                               const std::string &overload) {
  return domainName(domain) + '\0' + name + '\0' + overload;
}

static std::string titleOf(const onnx::FunctionProto &function) {
  return "function '" + printable(function.domain()) + "." + printable(function.name()) + "'";
}

/// The first of `names` that is there twice.
template <typename Names> static const std::string *repeated(const Names &names) {
  llvm::StringSet<> seen;
  for (const std::string &name : names)
    if (!seen.insert(name).second)
      return &name;
  return nullptr;
}

Error GraphImporter::readFunctions() {
  for (const onnx::FunctionProto &function : file.model().functions()) {
    std::string key = functionKey(function.domain(), function.name(), function.overload());
    if (!functions.try_emplace(key, &function).second)
      return file.error(titleOf(function) + " is defined twice");
    for (const auto *names : {&function.input(), &function.output(), &function.attribute()})
      if (const std::string *name = repeated(*names))
        return file.error(titleOf(function) + " names '" + printable(*name) + "' twice");
    auto opsets = readOpsets(function.opset_import());
    if (!opsets)
      return file.error(titleOf(function) + ": " + llvm::toString(opsets.takeError()));
    functionOpsets[&function] = std::move(*opsets);
  }
  return Error::success();
}

const onnx::FunctionProto *GraphImporter::localFunction(const NodeView &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(functionKey(node.domain, node.proto.op_type(), node.proto.overload()));
}

/// An attribute that the function of the model does not take; null when there is none.
static const std::string *foreignAttribute(const onnx::FunctionProto &function,
                                           const NodeView &node) {
  for (const auto &[name, attribute] : node.attributes)
    if (!llvm::StringRef(name).starts_with("__") &&
        !llvm::is_contained(function.attribute(), name) &&
        llvm::none_of(function.attribute_proto(),
                      [&](const onnx::AttributeProto &known) { return known.name() == name; }))
      return &name;
  return nullptr;
}

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
  if (const std::string *name = schema ? nullptr : foreignAttribute(function, node))
    return file.error(node.proto,
                      "there is no attribute '" + printable(*name) + "' in " + titleOf(function));
  Scope scope;
  AttributeMap arguments = bindAttributes(function, schema, node, scope);
  // A function of the model says all that it needs; the body of a schema's does not.
  OpsetMap opsets;
  if (schema) {
    auto own = readOpsets(function.opset_import());
    if (!own)
      return file.error(node.proto, llvm::toString(own.takeError()));
    opsets = std::move(*own);
    for (const auto &[domain, version] : *caller.opsets)
      opsets.try_emplace(domain, version);
  } else {
    opsets = functionOpsets.lookup(&function);
  }
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
