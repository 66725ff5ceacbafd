//===- Inference.cpp - Types of nodes by ONNX's own inference ------------===//
//
// ONNX's schemas come with inference functions. They are run node by node with the constants at
// hand, because a shape operand that is known gives a static result. The functions trust their
// input; whatever they would take for granted is checked before they are called, since some
// assert.
//
//===----------------------------------------------------------------------===//
#include "Inference.h"
#include "Types.h"
#include "onnx/defs/tensor_proto_util.h"
#include "onnx/shape_inference/implementation.h"
#include <deque>

using namespace tcc;
using namespace tcc::onnximport;
using onnx::AttributeProto;
using onnx::TensorProto;
using onnx::TensorShapeProto;
using onnx::TypeProto;

namespace {

/// Longer vectors are no shapes.
constexpr int64_t kMaxElements = 1024;

/// Ends an inference function when a subgraph failed to import.
struct SubgraphFailed : std::exception {};

class SubgraphInferencer : public onnx::GraphInferencer {
public:
  SubgraphInferencer(std::string name, InferSubgraph infer, llvm::Error &failure)
      : name(std::move(name)), infer(infer), failure(failure) {}

  std::vector<const TypeProto *> doInferencing(const std::vector<const TypeProto *> &inputs,
                                               const std::vector<const TensorProto *> &) override {
    std::vector<TypeProto> arguments;
    for (const TypeProto *type : inputs)
      arguments.push_back(type ? *type : TypeProto());
    auto types = infer(name, arguments);
    if (!types) {
      failure = llvm::joinErrors(std::move(failure), types.takeError());
      throw SubgraphFailed();
    }
    outputs.push_back(std::move(*types));
    std::vector<const TypeProto *> result;
    for (const TypeProto &type : outputs.back())
      result.push_back(&type);
    return result;
  }

private:
  std::string name;
  InferSubgraph infer;
  llvm::Error &failure;
  std::deque<std::vector<TypeProto>> outputs;
};

/// The integers of a small constant vector or scalar as dims.
std::optional<TensorShapeProto> elementsOf(const TensorProto &constant) {
  if (constant.dims_size() > 1)
    return std::nullopt;
  TensorShapeProto result;
  auto fill = [&](const auto &values) {
    for (auto value : values)
      result.add_dim()->set_dim_value(value);
  };
  if (constant.data_type() == TensorProto::INT64)
    fill(onnx::ParseData<int64_t>(&constant));
  else if (constant.data_type() == TensorProto::INT32)
    fill(onnx::ParseData<int32_t>(&constant));
  else
    return std::nullopt;
  return result;
}

class NodeInference : public onnx::InferenceContext {
public:
  NodeInference(const NodeView &node, InferSubgraph infer, llvm::Error &failure)
      : node(node), infer(infer), failure(failure), results(node.proto.output_size()) {}

  const AttributeProto *getAttribute(const std::string &name) const override {
    return node.attribute(name);
  }
  size_t getNumInputs() const override { return node.inputs.size(); }
  bool hasInput(size_t i) const override { return node.hasInput(i); }
  const TypeProto *getInputType(size_t i) const override {
    return hasInput(i) && isSet(node.inputs[i]->type) ? &node.inputs[i]->type : nullptr;
  }
  const TensorProto *getInputData(size_t i) const override {
    return hasInput(i) ? node.inputs[i]->constant.get() : nullptr;
  }
  const onnx::SparseTensorProto *getInputSparseData(size_t) const override { return nullptr; }
  const TensorShapeProto *getSymbolicInput(size_t i) const override {
    return hasInput(i) && !node.inputs[i]->constant && node.inputs[i]->elements
               ? &*node.inputs[i]->elements
               : nullptr;
  }
  size_t getNumOutputs() const override { return results.size(); }
  TypeProto *getOutputType(size_t i) override {
    if (i >= results.size())
      throw onnx::InferenceError("no output " + std::to_string(i));
    return &results[i];
  }
  bool hasOutput(size_t i) override {
    return i < results.size() && !node.proto.output(static_cast<int>(i)).empty();
  }
  onnx::GraphInferencer *getGraphAttributeInferencer(const std::string &name) override {
    auto &entry = subgraphs[name];
    if (!entry)
      entry = std::make_unique<SubgraphInferencer>(name, infer, failure);
    return entry.get();
  }

  std::vector<TypeProto> takeResults() { return std::move(results); }

private:
  const NodeView &node;
  InferSubgraph infer;
  llvm::Error &failure;
  std::vector<TypeProto> results;
  std::map<std::string, std::unique_ptr<SubgraphInferencer>> subgraphs;
};

class Propagation : public onnx::DataPropagationContext {
public:
  Propagation(const NodeView &node, llvm::ArrayRef<TypeProto> types)
      : elements(node.proto.output_size()), node(node), types(types) {}

  const AttributeProto *getAttribute(const std::string &name) const override {
    return node.attribute(name);
  }
  size_t getNumInputs() const override { return node.inputs.size(); }
  const TypeProto *getInputType(size_t i) const override {
    return node.hasInput(i) && isSet(node.inputs[i]->type) ? &node.inputs[i]->type : nullptr;
  }
  size_t getNumOutputs() const override { return types.size(); }
  const TypeProto *getOutputType(size_t i) const override {
    return i < types.size() ? &types[i] : nullptr;
  }
  const TensorShapeProto *getInputData(size_t i) override {
    if (!node.hasInput(i))
      return nullptr;
    const GraphValue &input = *node.inputs[i];
    if (input.elements)
      return &*input.elements;
    if (input.constant) {
      auto known = elementsOf(*input.constant);
      return known ? &made.emplace_back(std::move(*known)) : nullptr;
    }
    // A vector of known length: that many unknown elements.
    const auto &shape = input.type.tensor_type().shape();
    if (!isTensor(input.type) || shape.dim_size() != 1 || !shape.dim(0).has_dim_value() ||
        shape.dim(0).dim_value() > kMaxElements)
      return nullptr;
    TensorShapeProto unknown;
    for (int64_t k = 0; k < shape.dim(0).dim_value(); ++k)
      unknown.add_dim();
    return &made.emplace_back(std::move(unknown));
  }
  void addOutputData(size_t i, TensorShapeProto &&data) override {
    if (i < elements.size() && data.dim_size() <= kMaxElements)
      elements[i] = std::move(data);
  }

  std::vector<std::optional<TensorShapeProto>> elements;

private:
  const NodeView &node;
  llvm::ArrayRef<TypeProto> types;
  std::deque<TensorShapeProto> made;
};

class BodyContext : public onnx::FunctionBodyBuildContext {
public:
  explicit BodyContext(const NodeView &node) : node(node) {}
  const AttributeProto *getAttribute(const std::string &name) const override {
    return node.attribute(name);
  }
  bool hasInput(int i) const override { return i >= 0 && node.hasInput(i); }
  bool hasOutput(int i) const override {
    return i >= 0 && i < node.proto.output_size() && !node.proto.output(i).empty();
  }
  const TypeProto *getInputType(int i) const override {
    return hasInput(i) && isSet(node.inputs[i]->type) ? &node.inputs[i]->type : nullptr;
  }

private:
  const NodeView &node;
};

/// ONNX's functions dereference the types of required inputs.
bool inputTypesKnown(const NodeView &node) {
  return llvm::all_of(node.inputs,
                      [](const GraphValue *input) { return !input || isSet(input->type); });
}

} // namespace

llvm::Expected<std::vector<TypeProto>> onnximport::inferTypes(const NodeView &node,
                                                              const onnx::OpSchema &schema,
                                                              InferSubgraph inferSubgraph,
                                                              std::string &complaint) {
  std::vector<TypeProto> unknown(node.proto.output_size());
  if (!inputTypesKnown(node))
    return unknown;
  llvm::Error failure = llvm::Error::success();
  NodeInference context(node, inferSubgraph, failure);
  try {
    if (schema.has_type_and_shape_inference_function())
      schema.GetTypeAndShapeInferenceFunction()(context);
    else if (const onnx::FunctionProto *body = schema.GetFunction(static_cast<int>(node.version)))
      onnx::shape_inference::InferShapeForFunctionNode(*body, schemaRegistry(), context);
  } catch (const SubgraphFailed &) {
  } catch (const std::exception &e) {
    complaint = e.what();
    if (!failure)
      return unknown;
  }
  if (failure)
    return std::move(failure);
  return context.takeResults();
}

std::vector<std::optional<TensorShapeProto>>
onnximport::propagateElements(const NodeView &node, const onnx::OpSchema &schema,
                              llvm::ArrayRef<TypeProto> resultTypes) {
  Propagation context(node, resultTypes);
  if (!schema.has_data_propagation_function() || !inputTypesKnown(node))
    return std::move(context.elements);
  try {
    schema.GetDataPropagationFunction()(context);
  } catch (const std::exception &) {
    return std::vector<std::optional<TensorShapeProto>>(resultTypes.size());
  }
  return std::move(context.elements);
}

/// ONNX's builder of SequenceMap takes both for granted, with assertions: that the types of
/// the inputs are known, and this.
static bool subgraphsGiveTensors(const onnx::NodeProto &node) {
  return llvm::all_of(node.attribute(), [](const onnx::AttributeProto &attribute) {
    return llvm::all_of(attribute.g().output(), [](const onnx::ValueInfoProto &output) {
      return output.type().has_tensor_type();
    });
  });
}

std::optional<onnx::FunctionProto> onnximport::functionBody(const NodeView &node,
                                                            const onnx::OpSchema &schema) {
  auto version = static_cast<int>(node.version);
  try {
    if (const onnx::FunctionProto *body = schema.GetFunction(version))
      return *body;
    if (!schema.HasContextDependentFunction() || !inputTypesKnown(node) ||
        !subgraphsGiveTensors(node.proto))
      return std::nullopt;
    onnx::FunctionProto body;
    if (schema.BuildContextDependentFunction(BodyContext(node), body, version))
      return body;
  } catch (const std::exception &) {
    // No builder for this opset, or types that the builder does not take.
  }
  return std::nullopt;
}
