//===- Rules.h - How a source operator becomes primitives --------*- C++ -*-===//
//
// A rule gives one operator of ONNX or ATen its meaning in prim. Rules stand in
// tables by family (lib/Decompose/Onnx/*.cpp, lib/Decompose/Aten/*.cpp), each
// with one `populate...Rules(RuleSet &)`, listed in lib/Decompose/AllRules.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"
#include "tcc/Dialect/Graph/Graph.h"
#include <functional>

namespace tcc {
class WeightTable;
struct Lowered;

/// What a source value became: a tensor, a sequence, or nothing (absent optional).
struct Lowered {
  enum class Kind { None, Tensor, Sequence } kind = Kind::None;
  mlir::Value value;             ///< Tensor
  std::vector<Lowered> elements; ///< Sequence of statically known length
  mlir::Type elementType;        ///< Sequence: element type when it is empty

  static Lowered tensor(mlir::Value v) {
    Lowered l;
    l.kind = Kind::Tensor;
    l.value = v;
    return l;
  }
  static Lowered sequence(std::vector<Lowered> e) {
    Lowered l;
    l.kind = Kind::Sequence;
    l.elements = std::move(e);
    return l;
  }
  explicit operator bool() const { return kind != Kind::None; }
};

/// How a rule has the subgraphs of its node decomposed.
class SubgraphBuilder {
public:
  virtual ~SubgraphBuilder() = default;
  /// Decomposes `body` at the builder's insertion point with `arguments` for its
  /// block arguments; gives what it yields. What cannot be decomposed is reported.
  virtual mlir::FailureOr<std::vector<Lowered>> inlineBody(mlir::Region &body,
                                                           llvm::ArrayRef<Lowered> arguments) = 0;
  /// As inlineBody into a new block, for a path that a run may never take: what
  /// cannot be decomposed is left out of the report, and `why` says it.
  virtual mlir::FailureOr<std::vector<Lowered>> attemptBody(mlir::Region &body,
                                                            std::string &why) = 0;
};

/// One node while its rule runs: operands and attributes in, results out.
class NodeContext {
public:
  NodeContext(graph::NodeOp node, PrimBuilder &b, llvm::ArrayRef<Lowered> operands,
              WeightTable &weights, SubgraphBuilder &subgraphs);

  mutable graph::NodeOp node;
  PrimBuilder &b;

  //===-- Operands ----------------------------------------------------------===//
  size_t numInputs() const { return operands.size(); }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  mlir::Value in(size_t i) const; ///< the tensor; a fault of the model when it is none
  mlir::Value inOr(size_t i, mlir::Value otherwise) const { return has(i) ? in(i) : otherwise; }
  Lowered lowered(size_t i) const { return i < operands.size() ? operands[i] : Lowered(); }

  //===-- ONNX attributes ---------------------------------------------------===//
  int64_t version() const { return node.getVersion(); }
  bool hasAttr(llvm::StringRef name) const { return bool(attr(name)); }
  mlir::Attribute attr(llvm::StringRef name) const { return node.attr(name); }
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  std::string stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name) const;
  /// A tensor attribute, as a value.
  mlir::Value tensorAttr(llvm::StringRef name);
  /// Integers given as an attribute in old opsets and as operand `i` since:
  /// constants, or nullopt when absent; fails when not constant.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> intsFrom(llvm::StringRef name,
                                                                      size_t i);

  //===-- FX arguments ------------------------------------------------------===//
  /// The tensor that the argument `name` refers to, or null (absent, None, a number).
  mlir::Value arg(llvm::StringRef name) const;

  //===-- Results -----------------------------------------------------------===//
  size_t numResults() const { return node.getNumResults(); }
  /// Whether result i exists and is used or named.
  bool wants(size_t i) const { return i < numResults() && !node.getResult(i).use_empty(); }
  mlir::LogicalResult give(size_t i, Lowered value) {
    results[i] = std::move(value);
    return mlir::success();
  }
  mlir::LogicalResult give(mlir::Value value) { return give(0, Lowered::tensor(value)); }
  mlir::LogicalResult give(size_t i, mlir::Value value) { return give(i, Lowered::tensor(value)); }
  /// The node cannot be decomposed: says why, for the report.
  mlir::LogicalResult fail(const llvm::Twine &reason) {
    why = reason.str();
    return mlir::failure();
  }

  //===-- Subgraphs -----------------------------------------------------------===//
  mlir::FailureOr<std::vector<Lowered>> inlineBody(mlir::Region &body,
                                                   llvm::ArrayRef<Lowered> arguments) {
    return subgraphs.inlineBody(body, arguments);
  }
  mlir::FailureOr<std::vector<Lowered>> attemptBody(mlir::Region &body, std::string &reason) {
    return subgraphs.attemptBody(body, reason);
  }
  /// The node's subgraphs give values that have no common type. What follows the
  /// node is to become part of each (lib/Decompose/TailDuplication.h).
  mlir::LogicalResult disagree(const llvm::Twine &reason) {
    disagrees = true;
    return fail(reason);
  }
  WeightTable &weightTable() { return weights; }

  std::vector<Lowered> results;
  std::string why;
  bool disagrees = false;
  bool tailFits = true; ///< whether `disagree` leads anywhere

private:
  llvm::ArrayRef<Lowered> operands;
  WeightTable &weights;
  SubgraphBuilder &subgraphs;
};

using Rule = std::function<mlir::LogicalResult(NodeContext &)>;

/// Rules by (domain, operator); the one with the highest `since` that is not
/// above the node's version applies.
class RuleSet {
public:
  void add(llvm::StringRef domain, llvm::StringRef op, Rule rule, int64_t since = 0);
  const Rule *lookup(llvm::StringRef domain, llvm::StringRef op, int64_t version) const;
  /// Calls `f` for every rule, in the order of domain, operator and version.
  void forEach(
      llvm::function_ref<void(llvm::StringRef domain, llvm::StringRef op, int64_t since)> f) const;

private:
  std::map<std::pair<std::string, std::string>, std::map<int64_t, Rule>> rules;
};

/// Every rule there is, made once.
const RuleSet &allRules();

} // namespace tcc
