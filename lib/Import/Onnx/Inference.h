//===- Inference.h - Result types from ONNX's schemas -----------*- C++ -*-===//
//
// ONNX's inference functions ask an `InferenceContext` about one node. Here it
// answers from the importer's own table of values, node by node as the graph is
// built, so that types of function bodies and subgraphs need no second copy of
// the model, and constants stay in their files.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "GraphValue.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace tcc::onnximport {

/// The schema of an operator at an opset, or null.
const onnx::OpSchema *findSchema(const std::string &domain, const std::string &op, int64_t version);
/// All that findSchema gives, as ONNX's own inference asks for it.
const onnx::ISchemaRegistry *schemaRegistry();
/// The opset an operator came with; none if ONNX does not know it.
std::optional<int64_t> firstVersion(const std::string &domain, const std::string &op);
/// The newest opset of `domain` that the schemas describe; none if not theirs.
std::optional<int64_t> newestOpset(const std::string &domain);

/// Imports the subgraph `attribute` with arguments of these types (unset ones
/// unknown) and gives the types of its outputs. After an error inference stops.
using InferSubgraph = llvm::function_ref<llvm::Expected<std::vector<onnx::TypeProto>>(
    const std::string &attribute, llvm::ArrayRef<onnx::TypeProto> arguments)>;

/// The types of the node's results, unset where unknown. A node that ONNX's
/// function finds fault with has unknown types and the fault in `complaint`;
/// an error is only what `inferSubgraph` gave.
llvm::Expected<std::vector<onnx::TypeProto>> inferTypes(const NodeView &node,
                                                        const onnx::OpSchema &schema,
                                                        InferSubgraph inferSubgraph,
                                                        std::string &complaint);

/// What is known of the elements of the node's results: Shape, Gather, Concat...
std::vector<std::optional<onnx::TensorShapeProto>>
propagateElements(const NodeView &node, const onnx::OpSchema &schema,
                  llvm::ArrayRef<onnx::TypeProto> resultTypes);

/// The function body that the schema gives for this node; none if it has none.
std::optional<onnx::FunctionProto> functionBody(const NodeView &node, const onnx::OpSchema &schema);

} // namespace tcc::onnximport
