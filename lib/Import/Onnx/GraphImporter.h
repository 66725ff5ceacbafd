//===- GraphImporter.h - Graphs, nodes and calls → IR -----------*- C++ -*-===//
#pragma once
#include "Constants.h"
#include "ExternalData.h"
#include "GraphValue.h"
#include "ModelFile.h"
#include "NodeOrder.h"
#include "Tensors.h"
#include "Types.h"
#include "mlir/IR/Builders.h"
#include "onnx/defs/schema.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Import/ImportOptions.h"
#include "llvm/ADT/StringMap.h"

namespace tcc::onnximport {

/// What the user's options say about types: values of dim names, and whether
/// the file's annotations still hold.
struct DimFacts {
  llvm::StringMap<int64_t> bindings;
  bool shapesChanged = false; ///< static extents were replaced: annotations are stale
};

class GraphImporter {
public:
  GraphImporter(const ModelFile &file, const ImportOptions &options, const DimFacts &dims,
                WeightTable &weights, mlir::OpBuilder &builder, mlir::Block &entry);

  /// Initializers and nodes of `graph`, appended at the builder's place. `scope`
  /// already has the arguments; initializers that are among them are skipped.
  llvm::Error importBody(const onnx::GraphProto &graph, Scope &scope);
  /// The value called `name` that `graph` yields.
  llvm::Expected<GraphValue> outputValue(const onnx::GraphProto &graph, llvm::StringRef name,
                                         Scope &scope);
  llvm::Error define(Scope &scope, llvm::StringRef name, GraphValue value);
  onnx::TypeProto declaredType(const onnx::TypeProto &type) const;
  /// Reads what the model's functions are called and import; before any body.
  llvm::Error readFunctions();

private:
  struct Subgraph {
    std::unique_ptr<mlir::Region> region;
    std::vector<onnx::TypeProto> outputs;
  };
  using Subgraphs = std::map<std::string, Subgraph>;

  // GraphImporter.cpp
  llvm::Error importInitializers(const onnx::GraphProto &graph, Scope &scope);
  llvm::Error importNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
                          Scope &scope);
  llvm::Error importNode(const onnx::NodeProto &proto, int index, Scope &scope);
  llvm::Expected<NodeView> viewNode(const onnx::NodeProto &proto, Scope &scope);
  llvm::Error importConstant(const NodeView &node, Scope &scope, mlir::Location loc);
  mlir::Location locationOf(const onnx::NodeProto &proto, int index, const Scope &scope);

  // NodeBuilder.cpp
  llvm::Error buildNode(const NodeView &node, const onnx::OpSchema *schema, Scope &scope,
                        mlir::Location loc);
  llvm::Expected<std::vector<GraphValue>> inferResults(const NodeView &node,
                                                       const onnx::OpSchema *schema, Scope &scope,
                                                       Subgraphs &subgraphs, std::string &fault);
  llvm::Error importSubgraphs(const NodeView &node, Subgraphs &subgraphs);
  llvm::Expected<Subgraph> importSubgraph(const NodeView &node, const onnx::GraphProto &graph,
                                          llvm::ArrayRef<onnx::TypeProto> arguments, Scope &outer);
  llvm::Expected<graph::NodeOp> createNode(const NodeView &node, mlir::TypeRange types,
                                           Subgraphs &subgraphs, mlir::Location loc);
  mlir::Value none();

  // FunctionCalls.cpp
  const onnx::FunctionProto *localFunction(const NodeView &node) const;
  llvm::Error call(const onnx::FunctionProto &function, const onnx::OpSchema *schema,
                   const NodeView &node, Scope &scope);
  AttributeMap bindAttributes(const onnx::FunctionProto &function, const onnx::OpSchema *schema,
                              const NodeView &node, Scope &body) const;

  const ModelFile &file;
  const ImportOptions &options;
  const DimFacts &dims;
  mlir::OpBuilder &builder;
  mlir::Block &entry;
  ExternalData external;
  TensorReader reader;
  ConstantBuilder constants;
  Captures captures;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::DenseMap<const onnx::FunctionProto *, OpsetMap> functionOpsets;
  std::vector<const onnx::FunctionProto *> calls; ///< being imported, outermost first
  mlir::StringAttr fileName;
  mlir::Value noneValue;
  uint64_t nodeCount = 0;
};

/// "onnx" for ONNX's own domain, which files write as "" or "ai.onnx".
std::string domainName(llvm::StringRef domain);
/// The opsets that a model or function imports; an error says what is wrong with them.
llvm::Expected<OpsetMap>
readOpsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports);

} // namespace tcc::onnximport
