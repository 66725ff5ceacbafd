//===- GraphValue.h - A named value while a graph is imported ---*- C++ -*-===//
#pragma once
#include "mlir/IR/Value.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tcc::onnximport {

/// What is known of a value of the source graph.
struct GraphValue {
  mlir::Value value;    ///< null: an optional input that the caller left out
  onnx::TypeProto type; ///< VALUE_NOT_SET when unknown
  std::shared_ptr<const onnx::TensorProto> constant; ///< small constants
  std::optional<onnx::TensorShapeProto> elements;    ///< integers known symbolically
  bool annotated = false; ///< the type is partly what an annotation claims, here or upstream
};

/// Domain → opset; "onnx" stands for ONNX's own domain.
using OpsetMap = std::map<std::string, int64_t, std::less<>>;

struct Scope;

/// An attribute and the names that its subgraph sees, if it is one.
struct BoundAttribute {
  const onnx::AttributeProto *proto;
  Scope *scope;
};
using AttributeMap = std::map<std::string, BoundAttribute, std::less<>>;

/// The names that a graph or function body sees.
struct Scope {
  Scope *parent = nullptr; ///< of a subgraph: the graph around it
  const OpsetMap *opsets = nullptr;
  const AttributeMap *arguments = nullptr; ///< attributes of the function call
  std::string prefix;                      ///< names of the calls around, each with a '/'
  llvm::StringMap<GraphValue> values;
  llvm::StringMap<const onnx::TypeProto *> declared;

  const GraphValue *lookup(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto it = scope->values.find(name); it != scope->values.end())
        return &it->second;
    return nullptr;
  }
};

/// A node with the attributes of its enclosing function filled in.
struct NodeView {
  const onnx::NodeProto &proto;
  std::string domain; ///< "onnx" for ONNX's own
  int64_t version;
  AttributeMap attributes;
  llvm::SmallVector<const GraphValue *> inputs; ///< null where missing

  const onnx::AttributeProto *attribute(const std::string &name) const {
    auto it = attributes.find(name);
    return it == attributes.end() ? nullptr : it->second.proto;
  }
  bool hasInput(size_t i) const { return i < inputs.size() && inputs[i]; }
};

} // namespace tcc::onnximport
