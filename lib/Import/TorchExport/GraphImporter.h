//===- GraphImporter.h - FX nodes → graph.node -------------------*- C++ -*-===//
//
// Imports the nodes of one FX graph, and of the subgraphs of its higher-order
// operators, at the builder's insertion point.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Import/TorchExport/Aliases.h"
#include "Import/TorchExport/OpSemantics.h"
#include "Import/TorchExport/Schema.h"
#include "Import/TorchExport/Shapes.h"
#include "llvm/ADT/StringSet.h"

namespace tcc::torchexport {

/// The names of one graph and what they stand for.
struct Scope {
  const Graph &graph;
  AliasTracker &aliases;
  llvm::StringMap<AliasTracker::Id> names = {};
  /// Makes a name that is not there yet (a parameter); null means unknown.
  llvm::function_ref<llvm::Expected<mlir::Value>(llvm::StringRef)> onDemand = nullptr;
  bool autocast = false; ///< the nodes stand in a region under autocast
  /// Names that `onDemand` makes, which no node may define.
  const llvm::StringMap<const InputSpec *> *parameters = nullptr;

  bool isParameter(llvm::StringRef name) const { return parameters && parameters->contains(name); }
};

class GraphImporter {
public:
  GraphImporter(mlir::OpBuilder &builder, Shapes &shapes) : b(builder), shapes(shapes) {}

  llvm::Error importNodes(Scope &scope);

  llvm::Expected<AliasTracker::Id> lookup(Scope &scope, llvm::StringRef name);
  llvm::Expected<mlir::Value> read(Scope &scope, llvm::StringRef name);
  llvm::Error define(Scope &scope, llvm::StringRef name, AliasTracker::Id id);
  /// The value an output argument refers to; null for None.
  llvm::Expected<mlir::Value> outputValue(Scope &scope, const Argument &argument);
  llvm::Expected<mlir::RankedTensorType> typeOf(Scope &scope, llvm::StringRef name);

private:
  /// What becomes of a node while it is imported.
  struct Draft {
    std::string domain, target;
    mlir::Location loc;
    llvm::SmallVector<mlir::Value> operands = {};
    llvm::SmallVector<AliasTracker::Id> operandIds = {};
    llvm::SmallVector<mlir::NamedAttribute> attrs = {};
    std::vector<std::pair<std::string, std::unique_ptr<Graph>>> graphs = {};
    llvm::SmallVector<mlir::Type> types = {};
    llvm::SmallVector<std::string> outs = {}; ///< empty for a result without a name

    mlir::Attribute attr(llvm::StringRef name) const;
    /// The operand that the argument `name` is, if it is one.
    std::optional<unsigned> operand(llvm::StringRef name) const;
  };

  llvm::Error importNode(Scope &scope, const Node &node);
  /// InPlace.cpp
  llvm::Error importInPlace(Scope &scope, Draft &draft, const InPlaceSemantics &semantics);
  llvm::Error importNorm(Scope &scope, Draft &draft);
  llvm::Error importInlined(Scope &scope, const Node &node);
  /// Transforms.cpp: the nodes from one that opens a vmap or jvp to the one that closes it, `count`
  /// in all.
  llvm::Error importTransform(Scope &scope, llvm::ArrayRef<Node> nodes, size_t &count);
  llvm::Error importVmap(Scope &scope, llvm::ArrayRef<Node> nodes);
  llvm::Error importJvp(Scope &scope, llvm::ArrayRef<Node> nodes);
  llvm::Error captureOthers(Scope &scope, Graph &body, llvm::StringSet<> own,
                            llvm::function_ref<void(AliasTracker::Id)> give);
  AliasTracker::Id moveAxis(Scope &scope, mlir::Location loc, AliasTracker::Id id, int64_t from,
                            int64_t to);
  /// ForEach.cpp
  static bool isOfLists(llvm::StringRef op, const Node &node);
  llvm::Error importForEach(Scope &scope, const Node &node);
  llvm::Expected<AliasTracker::Id> elementOf(Scope &scope, mlir::Location loc,
                                             llvm::StringRef vector, int64_t i);
  static llvm::SmallVector<AliasTracker::Id> argumentsOf(const Draft &draft);
  /// Autocast.cpp
  void castOperands(Draft &draft);
  llvm::Error importEffect(Scope &scope, const Node &node);
  llvm::Error importGetItem(Scope &scope, const Node &node);
  llvm::Error importRegions(Scope &scope, Draft &draft, graph::NodeOp op);
  llvm::Error importRegion(mlir::Region &region, const Graph &graph,
                           llvm::ArrayRef<mlir::Value> captured, bool autocast);
  llvm::Error defineResults(Scope &scope, const Draft &draft, graph::NodeOp op);
  std::optional<unsigned> viewedOperand(Scope &scope, const Draft &draft);
  graph::NodeOp create(const Draft &draft);

  llvm::Error readArguments(Scope &scope, const Node &node, Draft &draft);
  llvm::Expected<mlir::Attribute> convert(Scope &scope, const Argument &argument, Draft &draft);
  llvm::Expected<mlir::Attribute> convertList(Scope &scope, const Argument &argument, Draft &draft);
  llvm::Expected<mlir::Attribute> operandRef(Scope &scope, llvm::StringRef name, Draft &draft);
  mlir::Value literal(const Argument &argument);
  llvm::Error readOutputs(Scope &scope, const Node &node, Draft &draft);
  llvm::Error addOutput(Scope &scope, const Argument &output, Draft &draft);

  mlir::OpBuilder &b;
  Shapes &shapes;
};

/// Whether the node opens a vmap or jvp, or only prepares PyTorch for a vmap.
bool isTransform(const Node &node);
bool isVmapSetup(const Node &node);

/// The name of a tensor argument ({"name": ...}), of a symbolic one
/// ({"as_name": ...}), or nothing.
std::optional<llvm::StringRef> referredName(const llvm::json::Value &value);

/// A node's name over the line of the user's Python that made it.
mlir::Location sourceLocation(mlir::MLIRContext *context, const Node &node);
/// " (aten.add.Tensor, model.py:12)", for errors.
std::string describe(const Node &node);

} // namespace tcc::torchexport
